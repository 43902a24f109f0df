"""The examples' contracts on real accelerator programs, and a budget that only a full compile decides."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_lint.contracts.load import load_contract
from contract_lint.plugins.pipeline.init import first_contract
from contract_lint.plugins.pipeline.verify import verify
from contract_lint.runtime.targets.readiness import readiness

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "dense_fsdp"
STEPS = ROOT / "tests" / "runtime"
TIMEOUT = 1800


def needs(platform: str) -> None:
    found = readiness(platform)
    if not found.ready:
        pytest.skip(f"{found.missing}; {found.help}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "target", "padding"),
    [
        ("tpu.contract.yaml", "tpu:v5e:2x4", True),
        ("cuda.contract.yaml", "cuda:h100:1x8", False),
        ("proof_1b_accelerators.contract.yaml", "tpu:v5e:16x16", True),
        ("proof_1b_accelerators.contract.yaml", "cuda:h100:32x8", False),
    ],
)
def test_the_example_keeps_its_contract(name: str, target: str, padding: bool) -> None:
    """State bytes are exact in closed form; where there are tiles, the tiles explain what is on top of it."""
    needs(target.partition(":")[0])
    report = verify(EXAMPLE / name, targets=[target], timeout=TIMEOUT)
    assert report.exit_code == 0 and not report.findings, [finding.message for finding in report.findings]
    memory = report.tables[0].memory
    assert memory is not None and memory.state_bytes is not None and memory.state_stored_bytes is not None
    assert memory.state_bytes == memory.state_plan_bytes
    assert (memory.state_stored_bytes > memory.state_bytes) == padding
    assert {row.verdict for row in report.tables[0].collectives} <= {"ok", "allowed", "rewritten"}
    assert report.captures[0]["effort"] == "fast"


@pytest.mark.slow
def test_near_a_budget_the_verdict_is_that_of_a_full_compile(tmp_path: Path) -> None:
    needs("tpu")
    contract = tmp_path / "near.contract.yaml"
    contract.write_text(
        "contract: 1\nname: near\n"
        f'step: {{ train: {{ entry: "accelerator_steps:too_large", path: ["{STEPS}"], args: {{ rows: 40960 }} }} }}\n'
        'targets: ["tpu:v5e:2x2"]\nmesh: { axes: { data: 4 } }\nmemory: { hbm: 15GiB }\n'
    )
    lines: list[str] = []
    report = verify(contract, timeout=TIMEOUT, say=lines.append)
    assert any("compiled again at full effort" in line for line in lines)
    assert [capture["effort"] for capture in report.captures] == ["full"]
    memory = [finding for finding in report.findings if finding.code.startswith("MEM")]
    assert all(finding.confidence == "certain" for finding in memory)


@pytest.mark.slow
def test_what_init_writes_of_a_tpu_step_passes_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its budget is of the program at full effort, by which `verify` judges it; nothing is accepted in advance."""
    needs("tpu")
    monkeypatch.chdir(tmp_path)
    out, lines = tmp_path / "small.contract.yaml", list[str]()
    entry, mesh = "accelerator_steps:too_large", {"data": 4}
    report = first_contract(
        entry, out, target="tpu:v5e:2x2", mesh=mesh, args={"rows": 8192}, path=[str(STEPS)], say=lines.append
    )
    assert report.exit_code == 0 and report.contracts and any("full effort" in line for line in lines)
    contract = load_contract(out).contract
    assert contract is not None and contract.deviations == []
    verified = verify(out, timeout=TIMEOUT, say=lines.append)
    assert {finding.severity for finding in verified.findings} <= {"info"}, "only what a person is to review"
    assert [capture["effort"] for capture in verified.captures] == ["full"]
    assert any("unchanged since the last capture" in line for line in lines), "compiled at full effort once"


@pytest.mark.slow
@pytest.mark.parametrize(("target", "code"), [("tpu:v5e:2x2", "MEM206"), ("cuda:h100:1x4", "MEM207")])
def test_init_writes_nothing_of_a_step_that_does_not_fit(tmp_path: Path, target: str, code: str) -> None:
    needs(target.partition(":")[0])
    out = tmp_path / "large.contract.yaml"
    report = first_contract("accelerator_steps:too_large", out, target=target, mesh={"data": 4}, path=[str(STEPS)])
    assert [finding.code for finding in report.findings] == [code] and report.exit_code == 1
    assert report.contracts == () and not out.exists()
