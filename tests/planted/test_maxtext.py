"""MaxText held by a contract alone: the examples keep theirs, and each fault of a configuration is one root finding."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest
from contract_lint.contracts.load import load_contract
from contract_lint.plugins.pipeline.verify import verify
from ruamel.yaml import YAML

sys.path.insert(0, str(Path(__file__).parent))

from maxtext_faults import FAULTS, MaxTextFault

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "maxtext"
INSTALLED = importlib.util.find_spec("maxtext") is not None
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not INSTALLED, reason="MaxText is not installed: pip install 'jax-contract-lint[maxtext]'"),
]


def project(folder: Path) -> Path:
    target = folder / "maxtext"
    shutil.copytree(EXAMPLE, target, ignore=shutil.ignore_patterns(".contract-lint"))
    return target


def planted(folder: Path, fault: MaxTextFault) -> Path:
    """The FSDP x TP example for eight CPU devices with a fault in it."""
    target = project(folder)
    contract = target / "fsdp_tp.contract.yaml"
    yaml = YAML()
    data = yaml.load(contract.read_text())
    step = data["step"]["train"]
    if fault.overrides:
        step["args"]["overrides"] = {**step["args"].get("overrides", {}), **fault.overrides}
    if fault.source:
        (target / "wrapped.py").write_text(fault.source)
        step["entry"], step["path"] = "wrapped:build", ["."]
    with contract.open("w") as file:
        yaml.dump(data, file)
    return contract


def available(contract: Path) -> list[str]:
    """The targets of an example that can be compiled for here."""
    names = [entry.target for entry in load_contract(contract).readable().contract.targets]
    return [name for name in names if name.startswith("cpu:") or importlib.util.find_spec("libtpu") is not None]


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLE.glob("*.contract.yaml")))
def test_an_example_keeps_its_contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    contract = project(tmp_path) / name
    monkeypatch.chdir(contract.parent)
    targets = available(contract)
    if not targets:
        pytest.skip("no target of this example can be compiled for here: libtpu is not installed")
    report = verify(contract, targets=targets, run=targets == ["cpu:8"])
    assert [str(root.finding.message) for root in report.new_roots()] == []


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_is_one_root_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: MaxTextFault) -> None:
    contract = planted(tmp_path, fault)
    monkeypatch.chdir(contract.parent)
    report = verify(contract, targets=["cpu:8"])
    found = [root.finding for root in report.new_roots() if root.finding.severity != "info"]
    assert [f.code for f in found] == [fault.code], [f"{f.code} {f.key}: {f.message}" for f in found]
    assert (found[0].key or "").startswith(fault.keys)
    assert found[0].location is not None and found[0].location.path.endswith((".yaml", ".yml"))
