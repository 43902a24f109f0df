"""`check --baseline`: what is new, what is stale, and what a run over part of a project may say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .conftest import BRANCH, CLEAN, Run, found


def test_baseline(cli: Run, put: Any) -> None:
    path = put("a.py")
    put("b.py", CLEAN)
    done = cli("check", "--baseline", "lint.jsonl", "--update-baseline")
    assert done.returncode == 0 and done.stdout == "PASS 2 Python files: no finding, 1 baseline.\n"
    path.write_text("# a line more\n" + BRANCH)
    assert cli("check", "--baseline", "lint.jsonl").returncode == 0
    put("pyproject.toml", "[tool.contract-lint]\nbaseline = 'lint.jsonl'\n")
    assert cli("check").returncode == 0
    put("b.py", BRANCH)
    assert found(cli("check", "--format", "json"))[0] == ("tracer-branch", "a.py", 8)
    assert cli("check").returncode == 1
    put("b.py", CLEAN)
    path.write_text(CLEAN)
    done = cli("check", "--format", "json")
    assert found(done) == [("stale-baseline-entry", "lint.jsonl", 2)]
    # What was not looked at is not called stale.
    assert found(cli("check", "--format", "json", "b.py")) == []
    assert found(cli("check", "--format", "json", "--select", "SEM")) == []
    path.unlink()
    assert [name for name, _, _ in found(cli("check", "--format", "json"))] == ["stale-baseline-entry"]
    assert cli("check", "--update-baseline").returncode == 0 and Path(path.parent / "lint.jsonl").read_text() == ""


def test_sarif_marks_what_is_set_aside(cli: Run, put: Any) -> None:
    put("a.py")
    put("b.py", BRANCH.replace("> 0:", "> 0:  # contract-lint: ignore[tracer-branch] never traced here"))
    cli("check", "--baseline", "lint.jsonl", "--update-baseline", "a.py")
    (run,) = json.loads(cli("check", "--baseline", "lint.jsonl", "--format", "sarif").stdout)["runs"]
    assert [(r["ruleId"], r["suppressions"][0]["kind"]) for r in run["results"]] == [
        ("JIT103", "external"),
        ("JIT103", "inSource"),
    ]
    assert cli("check", "--baseline", "lint.jsonl", "--format", "gitlab").stdout == "[]\n"


def test_part_of_a_project_never_shrinks_the_baseline(cli: Run, put: Any) -> None:
    """What a finding hangs on may be in another file: who reads less than the baseline is about drops nothing."""
    loss = put("pkg/loss.py", BRANCH.replace("@jax.jit\n", ""))
    put("pkg/__init__.py", "")
    put("train.py", "import jax\nfrom pkg.loss import f\n\nfast = jax.jit(f)\n")
    first = cli("check", "--baseline", "lint.jsonl", "--update-baseline")
    listed = (loss.parent.parent / "lint.jsonl").read_text()
    count = len(listed.splitlines()) - 1
    assert count and f"lint.jsonl: {count} entr" in first.stderr and f"{count} added, 0 dropped" in first.stderr
    for paths in (("pkg/loss.py",), ("train.py",), ("train.py", "pkg/__init__.py")):
        done = cli("check", *paths, "--baseline", "lint.jsonl", "--format", "json")
        assert (done.returncode, found(done)) == (0, [])
        said = cli("check", *paths, "--baseline", "lint.jsonl", "--update-baseline").stderr
        assert "0 dropped" in said and (loss.parent.parent / "lint.jsonl").read_text() == listed


def test_a_folder_that_holds_all_of_a_baseline_but_not_what_it_hangs_on(cli: Run, put: Any) -> None:
    """The loss is traced by a script in another folder: a run without it has nothing to say about the loss."""
    put("pkg/loss.py", BRANCH.replace("@jax.jit\n", ""))
    put("pkg/__init__.py", "")
    script = put("scripts/train.py", "import jax\nfrom pkg.loss import f\n\nfast = jax.jit(f)\n")
    baseline = ("--baseline", "lint.jsonl", "--format", "json")
    cli("check", "pkg", "scripts", *baseline, "--update-baseline")
    assert '{"covers": ["pkg", "scripts"]}\n' in (script.parent.parent / "lint.jsonl").read_text()
    for part in (("pkg",), (".", "--exclude", "scripts"), ("pkg", "scripts", "--exclude", "train.py")):
        assert found(cli("check", *part, *baseline)) == []
    script.write_text("import jax\n")
    for whole in (("pkg", "scripts"), (".",)):
        assert [name for name, *_ in found(cli("check", *whole, *baseline))] == ["stale-baseline-entry"]
    script.unlink()
    script.parent.rmdir()
    assert [name for name, *_ in found(cli("check", "pkg", *baseline))] == ["stale-baseline-entry"]
