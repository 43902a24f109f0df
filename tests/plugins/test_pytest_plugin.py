"""The pytest plugin: found by its entry point, free until used, and a failing test where a promise is broken."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

CONFTEST = """
import json, sys
from pathlib import Path

def pytest_sessionfinish(session):
    Path("modules.json").write_text(json.dumps(sorted(sys.modules)))
"""

PASSING = """
def test_nothing():
    assert True
"""

BROKEN = """
from contract_lint.plugins.pytest_plugin import assert_contract

def test_fixture(contract_verify):
    contract_verify("broken.contract.yaml", target="cpu:8")

def test_function():
    assert_contract("tests/broken.contract.yaml")
"""

CONTRACT = """\
contract: 1
name: small
step: { train: { entry: "a:b" } }
targets: [cpu:8]
mesh: { axes: { data: eight } }
"""


def run_pytest(folder: Path, test: str) -> subprocess.CompletedProcess[str]:
    """pytest in a fresh process with only our plugin, in a project of its own."""
    (folder / "tests").mkdir()
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "tests/test_it.py").write_text(test)
    (folder / "tests/broken.contract.yaml").write_text(CONTRACT)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "contract_lint.plugins.pytest_plugin"],
        cwd=folder,
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_declared_as_an_entry_point() -> None:
    points = {point.name: point.value for point in entry_points(group="pytest11")}
    assert points.get("contract_lint") == "contract_lint.plugins.pytest_plugin"


def test_costs_nothing_until_used(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, PASSING)
    assert done.returncode == 0, done.stdout
    modules = set(json.loads((tmp_path / "modules.json").read_text()))
    assert "contract_lint.plugins.pytest_plugin" in modules
    assert {name for name in modules if name.startswith("contract_lint")} == {
        "contract_lint",
        "contract_lint.plugins",
        "contract_lint.plugins.pytest_plugin",
    }
    assert modules.isdisjoint({"jax", "numpy", "pydantic", "rich", "ruamel.yaml", "click"})


def test_a_broken_promise_fails_the_test_with_the_report(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, BROKEN)
    assert done.returncode == 1 and "2 failed" in done.stdout
    assert done.stdout.count("FAIL ") >= 2 and "broken.contract.yaml:5:" in done.stdout
    assert "Traceback" not in done.stdout and "verify.py" not in done.stdout
