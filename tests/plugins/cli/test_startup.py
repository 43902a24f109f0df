"""What the cheap verbs load: never jax, and for `--version` nothing beyond click."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

LOADED = """
import json, sys
from contract_lint.plugins.cli.main import main
try:
    main({arguments!r})
except SystemExit as stop:
    code = stop.code
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""


def loaded(arguments: list[str], folder: Path) -> tuple[int, set[str]]:
    """Exit code and the modules in memory after a command, in a fresh interpreter without pytest."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(arguments=arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    code, modules = json.loads(done.stderr.splitlines()[-1])
    return code, set(modules)


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]])
def test_start_loads_nothing_beyond_click(arguments: list[str], tmp_path: Path) -> None:
    code, modules = loaded(arguments, tmp_path)
    assert code == 0
    heavy = {"jax", "numpy", "pydantic", "rich", "ruamel.yaml", "flax", "importlib.metadata", "asyncio"}
    assert modules.isdisjoint(heavy)
    own = {name for name in modules if name.startswith("contract_lint")}
    assert own == {"contract_lint", "contract_lint.plugins", "contract_lint.plugins.cli"} | {
        f"contract_lint.plugins.cli.{name}" for name in ("main", "boundary", "signals")
    }


SOURCE = "import jax\n\n\n@jax.jit\ndef f(x):\n    if x.sum() > 0:\n        return x\n    return -x\n"


@pytest.mark.parametrize("form", ["text", "github", "gitlab", "junit"])
def test_checking_source_loads_little(form: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SOURCE)
    code, modules = loaded(["check", "a.py", "--format", form], tmp_path)
    assert code == 1
    heavy = {"jax", "numpy", "pydantic", "rich", "ruamel.yaml", "libcst", "networkx", "pathspec", "asyncio"}
    assert modules.isdisjoint({*heavy, "importlib.metadata"})


@pytest.mark.parametrize("verb", ["check", "rules", "schema"])
def test_no_verb_without_user_code_imports_jax(verb: str, tmp_path: Path, contract_text: str) -> None:
    (tmp_path / "a.contract.yaml").write_text(contract_text)
    _, modules = loaded([verb], tmp_path)
    assert modules.isdisjoint({"jax", "jaxlib", "numpy", "flax", "my_pkg"})


def test_checking_a_contract_loads_no_rule_on_programs(tmp_path: Path, contract_text: str) -> None:
    (tmp_path / "a.contract.yaml").write_text(f"# `contract-lint verify` measures it.\n{contract_text}")
    _, modules = loaded(["check", "a.contract.yaml"], tmp_path)
    assert "contract_lint.linters.contract.rules" in modules
    heavy = {f"contract_lint.linters.{name}.rules" for name in ("source", "trace", "program", "run", "batch")}
    programs = {"contract_lint.linters.evidence", "contract_lint.hlo_tools.collectives"}
    assert modules.isdisjoint({*heavy, *programs, "contract_lint.hlo_tools.attribution", "networkx", "libcst"})
