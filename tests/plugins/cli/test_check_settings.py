"""`check` and its settings: files, options, colours, and mistakes in them."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from .conftest import Run, found


def test_settings_of_the_project_and_of_its_folders(cli: Run, put: Any) -> None:
    put("a.py")
    put("sub/b.py")
    put("sub/test_c.py")
    put("old/d.py")
    put("pyproject.toml", "[tool.contract-lint]\nexclude = ['old']\nper-file-ignores = { 'test_*' = ['JIT103'] }\n")
    put("sub/pyproject.toml", "[tool.contract-lint]\nignore = ['tracer-branch']\n")
    assert found(cli("check", "--format", "json")) == [("tracer-branch", "a.py", 7)]
    assert found(cli("check", "--format", "json", "old")) == []
    put("sub/pyproject.toml", "[tool.contract-lint]\nroot = true\n")
    assert [path for _, path, _ in found(cli("check", "--format", "json"))] == ["a.py", "sub/b.py", "sub/test_c.py"]
    put("pyproject.toml", "[tool.contract-lint]\nper-file-ignores = { 'a.py' = ['tracer-brunch'] }\n")
    assert "did you mean `tracer-branch`?" in cli("check").stderr


def test_a_name_in_the_settings_that_is_no_function_is_said_each_time(cli: Run, put: Any) -> None:
    put("pyproject.toml", '[tool.contract-lint]\ntraced = [\n  "pkg.a:F", "pkg.a:f"]\n')
    put("pkg/__init__.py", "")
    put("pkg/a.py")
    for _ in range(2):
        done = cli("check")
        assert done.stderr == (
            "contract-lint: pyproject.toml:3: `traced` names 'pkg.a:F', which is no function here; "
            "did you mean `pkg.a:f`?\n"
        )


@pytest.mark.parametrize(
    ("options", "env", "coloured"),
    [
        ((), {}, False),
        ((), {"FORCE_COLOR": "1"}, True),
        ((), {"FORCE_COLOR": "0"}, False),
        ((), {"FORCE_COLOR": ""}, False),
        ((), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ((), {"FORCE_COLOR": "1", "NO_COLOR": ""}, True),
        ((), {"FORCE_COLOR": "1", "TERM": "dumb"}, True),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False),
        (("--color", "auto"), {"FORCE_COLOR": "1"}, True),
        (("--color", "always", "--output", "report.txt"), {}, False),
        (("--color", "always", "--format", "json"), {}, False),
    ],
)
def test_colours(options: tuple[str, ...], env: dict[str, str], coloured: bool, cli: Run, put: Any) -> None:
    path = put("a.py")
    text = cli("check", *options, env=env).stdout
    report = path.with_name("report.txt")
    assert ("\x1b[" in (text or report.read_text())) is coloured
    assert "tracer-branch" in (text or report.read_text())


def test_every_verb_takes_colour(cli: Run) -> None:
    for verb in (("rules",), ("explain", "JIT103")):
        assert "\x1b[" in cli(*verb, "--color", "always").stdout and "\x1b[" not in cli(*verb).stdout
    for verb in (("hlo", "lint"), ("hlo", "memory"), ("batch", "check"), ("verify",), ("train",), ("diff",)):
        assert "--color" in cli(*verb, "--help").stdout


def test_exclude_and_config(cli: Run, put: Any) -> None:
    put("a.py")
    put("old/b.py")
    put("lint.toml", "[tool.contract-lint]\nexclude = ['a.py']\n")
    put("pyproject.toml", "[tool.contract-lint]\nignore = ['no-such-rule']\n")
    assert cli("check").returncode == 2
    listed = ("--config", "lint.toml", "--format", "json")
    assert found(cli("check", *listed)) == [("tracer-branch", "old/b.py", 7)]
    assert found(cli("check", *listed, "--exclude", "./old/")) == []
    done = cli("check", "--config", "pyproject.toml")
    assert (
        done.returncode == 2 and "pyproject.toml:2: no rule has the code, prefix or name 'no-such-rule'" in done.stderr
    )


def test_the_settings_that_hold(cli: Run, put: Any) -> None:
    put(
        "pyproject.toml",
        """
[project]
dependencies = ["jax>=0.6", "flax"]
[tool.contract-lint]
ignore = ["SEM"]
per-file-ignores = { "./tests/*" = ["key-reuse"] }
""",
    )
    put("pkg/pyproject.toml", "[tool.contract-lint]\nselect = ['JIT']\nbaseline = 'base.jsonl'\n")
    put("pkg/a.py")
    said = cli("check", "pkg/a.py", "--show-settings", "--ignore", "MEM", "--exclude", "old").stdout
    assert said.startswith("# pkg/a.py: from pkg/pyproject.toml and pyproject.toml\n")
    table = tomllib.loads(said)["tool"]["contract-lint"]
    assert (table["select"], table["ignore"], table["exclude"]) == (["JIT"], ["SEM", "MEM"], ["old"])
    assert table["baseline"] == "pkg/base.jsonl" and table["per-file-ignores"] == {"./tests/*": ["key-reuse"]}
    assert "# the project requires" not in said
    two = cli("check", ".", "pkg", "--show-settings").stdout
    assert two.count("[tool.contract-lint]") == 2 and "# the project requires flax, jax >=0.6\n" in two
    put("lint.toml", "[tool.contract-lint]\n")
    assert "# pkg: from lint.toml\n" in cli("check", "pkg", "--show-settings", "--config", "lint.toml").stdout


def test_a_mistake_in_a_folders_settings_names_its_file(cli: Run, put: Any) -> None:
    put("pkg/a.py")
    put("pkg/pyproject.toml", "[tool.contract-lint]\nselekt = ['JIT']\n")
    assert "pkg/pyproject.toml:2: unknown key `selekt`" in cli("check").stderr
