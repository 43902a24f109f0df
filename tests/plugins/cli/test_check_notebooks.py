"""`check` on notebooks: places, fixes and diffs are those of cells."""

from __future__ import annotations

import json
from typing import Any

from .conftest import BRANCH, CLEAN, Run, notebook


def test_a_cell_is_shown_as_it_is_written(cli: Run, put: Any) -> None:
    put("n.ipynb", notebook("import jax", "%timeit -n 3 f(x)\ny = jax.tree_map(f, x)"))
    said = cli("check", "n.ipynb").stdout
    assert "1 | %timeit -n 3 f(x)" in said and "2 | y = jax.tree_map(f, x)" in said


def test_notebooks(cli: Run, put: Any) -> None:
    unused = "y = 1  # contract-lint: ignore[tracer-branch] gone\n"
    path = put("n.ipynb", notebook("%matplotlib inline\nimport jax\nimport jax.numpy as jnp", BRANCH[33:], unused))
    done = cli("check")
    assert "n.ipynb:cell 2:" in done.stdout and "if jnp.sum(x) > 0:" in done.stdout
    said = cli("check", "--format", "github").stdout
    assert "file=n.ipynb,title=JIT103" in said and "cell 2, line " in said
    (first, *_) = json.loads(cli("check", "--format", "gitlab").stdout)
    assert first["location"]["lines"] == {"begin": 1}
    (run,) = json.loads(cli("check", "--format", "sarif").stdout)["runs"]
    assert all("region" not in r["locations"][0]["physicalLocation"] for r in run["results"])
    assert cli("check", "--fix").stderr.endswith("1 fix applied\n")
    assert json.loads(path.read_text())["cells"][2]["source"] == ["y = 1\n"]
    assert "%matplotlib inline\\n" in path.read_text()


def test_the_diff_of_a_notebook_is_one_of_each_cell(cli: Run, put: Any) -> None:
    unused = "y = 1  # contract-lint: ignore[tracer-branch] gone"
    path = put("n.ipynb", notebook("%matplotlib inline", f"x = 1\n{unused}", "z = 1", unused))
    before = path.read_bytes()
    done = cli("check", "--diff")
    assert done.returncode == 1 and path.read_bytes() == before
    assert done.stdout == (
        f"--- a/n.ipynb:cell 2\n+++ b/n.ipynb:cell 2\n@@ -1,2 +1,2 @@\n x = 1\n-{unused}\n+y = 1\n"
        f"--- a/n.ipynb:cell 4\n+++ b/n.ipynb:cell 4\n@@ -1 +1 @@\n-{unused}\n+y = 1\n"
    )


def test_what_is_found_in_a_notebook_is_told_cell_by_cell(cli: Run, put: Any) -> None:
    put(
        "n.ipynb",
        notebook(
            "x = 1", "x = 1\ny = 2  # contract-lint: ignore[tracer-branch] a", "# contract-lint: ignore[key-reuse] b"
        ),
    )
    found = json.loads(cli("check", "--format", "json").stdout)["findings"]
    assert [(f["cell"], f["line"]) for f in found] == [(2, 2), (3, 1)]


def test_notebooks_are_counted_as_what_they_are(cli: Run, put: Any) -> None:
    put("n.ipynb", notebook("x = 1"))
    assert cli("check").stdout == "PASS 1 notebook: no finding.\n"
    put("m.ipynb", b"{}")
    put("a.py", CLEAN)
    assert cli("check").stdout.startswith("FAIL 1 Python file and 2 notebooks: 1 error.")
