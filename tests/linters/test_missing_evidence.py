"""Promises whose evidence is missing, or that of another program: findings; none where a capture has it all."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.finding import Finding
from contract_lint.contracts.load import load_contract
from contract_lint.contracts.made_from import made_from
from contract_lint.hlo_tools.capture import read_capture
from contract_lint.linters.judge import judge

HLO = """HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }, num_partitions=8

ENTRY main (w: f32[4,8], x: s32[2,4]) -> (f32[4,8]) {
  %w = f32[4,8]{1,0} parameter(0)
  %x = s32[2,4]{1,0} parameter(1)
  ROOT %y = (f32[4,8]{1,0}) tuple(%w)
}
"""
CONTRACT = """\
contract: 1
name: small
step:
  train: { entry: "m:build", args: { layers: 2 }, donate: [state], signatures: { x: [[16, 4]] } }
targets: [cpu:8]
mesh: { axes: { data: 2, fsdp: 4 } }
batch: { size: 16, axes: [data, fsdp] }
optimizer: { name: sgd }
parameters:
  logical_axes: { embed: data, mlp: null }
  rules:
    - { match: "w", axes: [embed, mlp] }
collectives: { expect: [] }
memory: { hbm: 1MiB }
"""


def leaf(argument: str, path: str, shape: list[int], dtype: str, spec: list[list[str]], **more: Any) -> dict[str, Any]:
    return {"argument": argument, "path": path, "shape": shape, "dtype": dtype, "spec": spec} | more


def facts(**changes: Any) -> dict[str, Any]:
    split = [["data"], []]
    state = leaf("state", "params/w", [8, 8], "float32", split, local_shape=[4, 8], bytes=128, parameter=0)
    batch = leaf("batch", "x", [16, 4], "int32", [["data", "fsdp"], []], local_shape=[2, 4], bytes=32, parameter=1)
    sums = {"argument_bytes": 160, "output_bytes": 136, "alias_bytes": 128, "temp_bytes": 64, "code_bytes": 0}
    return {
        "step": "train",
        "entry": "m:build",
        "made_from": made_from("m:build", {"layers": 2}, {}, None),
        "argument_names": ["state", "batch"],
        "donate": ["state"],
        "carry": {"0": "state"},
        "arguments": [state | {"donated": True, "aliased": True}, batch],
        "outputs": [leaf("", "0/params/w", [8, 8], "float32", split, local_shape=[4, 8], bytes=128)],
        "signatures": [{"shapes": {"x": [16, 4]}, "program": "a"}],
        "jaxpr": {"equations": 12},
        "memory": sums,
    } | changes


def found(
    folder: Path, contract: str = CONTRACT, without: str = "", run: bool = False, hlo: str = HLO, **changes: Any
) -> list[Finding]:
    """Findings on a capture of one step; `changes` are keys of its facts, `without` is a file it lacks."""
    program = gzip.compress(hlo.encode())
    content = {
        "train/facts.json": json.dumps(facts(**changes)).encode(),
        "train/partitioned.hlo.txt.gz": program,
        "train/optimized.hlo.txt.gz": program,
    }
    content.pop(without, None)
    for name, data in content.items():
        (folder / "c" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "c" / name).write_bytes(data)
    manifest = {
        "schema_version": 1,
        "provenance": {"tool": "0.1.0", "python": "3.11", "contract_digest": "d", "target": "cpu:8"},
        "devices": 8,
        "device_kind": "cpu",
        "mesh": {"axes": {"data": 2, "fsdp": 4}, "device_ids": list(range(8))},
        "steps": ["train"],
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in content.items()},
    }
    (folder / "c" / "manifest.json").write_text(json.dumps(manifest))
    (folder / "train.contract.yaml").write_text(contract)
    loaded = load_contract(folder / "train.contract.yaml", folder)
    assert loaded.contract is not None, loaded.findings
    return judge(loaded, [read_capture(folder / "c")], run)


def roots(findings: list[Finding]) -> list[tuple[str, str | None]]:
    return [(finding.code, finding.key) for finding in findings if finding.is_root]


def test_a_capture_that_holds_all_evidence_gives_no_finding(tmp_path: Path) -> None:
    assert found(tmp_path) == []


def test_collectives_without_a_partitioned_program(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, without="train/partitioned.hlo.txt.gz")
    assert (finding.code, finding.key) == ("JIT210", "collectives")
    assert finding.message == "`collectives` could not be judged: the capture holds no partitioned program"
    assert finding.location is not None and finding.location.line == 13


def test_memory_without_any_figure(tmp_path: Path) -> None:
    assert roots(found(tmp_path, memory=None)) == [("JIT210", "memory")]


def test_a_class_that_sums_do_not_tell(tmp_path: Path) -> None:
    contract = CONTRACT.replace("{ hbm: 1MiB }", "{ hbm: 1MiB, classes: { parameter: 1KiB } }")
    assert roots(found(tmp_path, contract)) == [("JIT210", "memory.classes")]


def test_a_budget_is_held_against_the_sums_where_there_is_no_assignment(tmp_path: Path) -> None:
    assert roots(found(tmp_path, CONTRACT.replace("1MiB", "100B"))) == [("MEM202", "memory.hbm")]


def test_signatures_that_were_not_traced(tmp_path: Path) -> None:
    assert roots(found(tmp_path, signatures=[])) == [("JIT210", "step.train.signatures")]


def test_a_pattern_that_no_parameter_matches(tmp_path: Path) -> None:
    contract = CONTRACT.replace("  rules:\n", '  rules:\n    - { match: "query", axes: [embed] }\n')
    assert roots(found(tmp_path, contract)) == [("JIT210", "parameters.rules[0]")]


def test_another_mesh_is_the_cause_of_all_else(tmp_path: Path) -> None:
    contract = CONTRACT.replace("data: 2, fsdp: 4", "data: 4, fsdp: 2").replace("embed: data", "embed: fsdp")
    findings = found(tmp_path, contract)
    assert roots(findings) == [("SHD214", "mesh.axes")]
    assert "runs on data=2 x fsdp=4, the contract promises data=4 x fsdp=2" in findings[0].message
    assert {finding.code for finding in findings} == {"SHD214", "SHD202"}


PARTITIONED = "train/partitioned.hlo.txt.gz"


def test_a_step_that_places_nothing_runs_on_one_device(tmp_path: Path) -> None:
    """JAX compiles for one device then, whatever mesh `build` was given; of such a program nothing is partitioned."""
    alone = HLO.replace(", num_partitions=8", "")
    first, *others = found(tmp_path / "bad", hlo=alone, without=PARTITIONED)
    assert (first.code, first.found, first.expected) == ("SHD214", "one device", "data=2 x fsdp=4")
    assert first.evidence == ("state/params/w: placed nowhere", "batch/x: placed nowhere")
    assert "NamedSharding(mesh" in (first.help or "") and all(not other.is_root for other in others)
    assert "SHD214" not in {finding.code for finding in found(tmp_path / "good")}


@pytest.mark.parametrize("mesh", ["{ fsdp: 4, data: 2 }", "{ data: 8 }"])
def test_a_mesh_in_another_order_or_shape_is_another(tmp_path: Path, mesh: str) -> None:
    contract = CONTRACT.replace("{ data: 2, fsdp: 4 }", mesh).replace("[data, fsdp]", "data")
    assert ("SHD214", "mesh.axes") in roots(found(tmp_path, contract))


def test_an_axis_of_size_one_makes_no_other_mesh(tmp_path: Path) -> None:
    assert found(tmp_path, CONTRACT.replace("fsdp: 4 } }", "fsdp: 4, model: 1 } }")) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [("layers: 2", "layers: 4"), ("m:build", "m:other"), ("targets", "accumulation: { arg: n }\ntargets")],
)
def test_another_build_is_the_cause_of_all_else(tmp_path: Path, old: str, new: str) -> None:
    contract = CONTRACT.replace(old, new).replace("donate: [state]", "donate: [batch]")
    findings = found(tmp_path, contract)
    assert roots(findings) == [("JIT209", "step.train")]
    assert {finding.code for finding in findings} == {"JIT209", "MEM204"}


def test_tighter_promises_are_judged_on_an_older_capture(tmp_path: Path) -> None:
    findings = found(tmp_path, CONTRACT.replace("donate: [state]", "donate: [batch]"))
    assert roots(findings) == [("MEM204", "step.train.donate")]
    assert '`donate=("batch",)` in what `build` returns' in (findings[0].help or "")


def test_a_capture_that_does_not_tell_how_it_was_built_is_judged(tmp_path: Path) -> None:
    assert found(tmp_path, CONTRACT.replace("layers: 2", "layers: 4"), made_from=None) == []


def test_a_step_that_did_not_run_although_it_should(tmp_path: Path) -> None:
    assert roots(found(tmp_path, run=True)) == [("JIT304", "step.train")]


def test_facts_of_another_program_are_refused_whatever_is_promised(tmp_path: Path) -> None:
    contract = CONTRACT.replace("collectives: { expect: [] }\nmemory: { hbm: 1MiB }\n", "")
    only = facts()["arguments"][1]
    with pytest.raises(ContractLintError, match="explain 1 of them"):
        found(tmp_path, contract, arguments=[only], donate=[])
