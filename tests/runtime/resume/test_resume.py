"""The smoke test of a resume on real runs: the trainer, a project's own with faults, a step without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.load import load_contract
from contract_lint.plugins.pipeline.report import Report
from contract_lint.plugins.pipeline.resume import Options, check_resume, resumed

HERE = Path(__file__).parent
OWN = """\
contract: 1
name: small
step: {{ train: {{ entry: "runs:build", path: [{here}], args: {args} }} }}
targets: [cpu:1]
"""
SIZES = (
    "{ layers: 1, d_model: 16, d_ff: 32, heads: 2, kv_heads: 1, vocab: 32, sequence: 16, microbatches: 1, warmup: 4 }"
)
TRAINER = f"""\
contract: 1
name: small
step: {{ train: {{ entry: "contract_lint.runtime.trainer:build", args: {SIZES} }} }}
targets: [cpu:8]
mesh: {{ axes: {{ data: 8, fsdp: 1 }} }}
optimizer: {{ name: adamw }}
checkpoint:
  state: {{ step: step, key: rng, tokens: tokens, schedule: schedule, cursor: data, versions: versions }}
"""


def tried(folder: Path, **args: object) -> Report:
    path = folder / "small.contract.yaml"
    path.write_text(OWN.format(here=json.dumps(str(HERE)), args=json.dumps(args)) + "mesh: { axes: { data: 1 } }\n")
    return check_resume(str(path), Options(steps=4))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        ("weights", "CKP708", "WARM START: behind the first resume, the parameters are those that were saved, but the"),
        ("frozen", "CKP702", "behind the first resume, step 3 is given the batch of step 2"),
        ("schedule", "CKP704", "step 2 has the learning rate"),
        ("anew", "CKP705", "begins anew; step 1 was committed"),
        ("late", "CKP706", "behind the first resume, opt_state/m of step 1 is not what it was (2 of 2 arrays)"),
        ("stale", "CKP709", "`state()` of the step's `resumable` holds 2 arrays, and none moved in 4 steps"),
        ("partial", "CKP709", "lacks 1 array that the step carries over: state/m"),
    ],
)
def test_a_fault_is_found_by_its_name(tmp_path: Path, fault: str, code: str, said: str) -> None:
    report = tried(tmp_path, fault=fault)
    roots = [root.finding for root in report.new_roots()]
    assert {each.code for each in roots} == {code} and any(said in each.message for each in roots), roots
    assert report.exit_code == (0 if fault == "weights" else 1)


@pytest.mark.slow
@pytest.mark.parametrize("own", [True, False])
def test_its_twin_and_a_step_without_a_run_of_its_own_are_clean(tmp_path: Path, own: bool) -> None:
    report = tried(tmp_path, own=own)
    assert report.findings == () and "equal to the bit" in (report.proof or ""), report.findings


@pytest.mark.slow
@pytest.mark.parametrize(
    ("saver", "said"),
    [
        (
            "bare",
            "killed at the first write of the save of step 2 (2/arrays.npz), and then its `restore()` fails: EOF",
        ),
        ("stuck", "and then its `save()` fails: FileExistsError: [Errno 17] File exists: '2'; step 1 was"),
        ("lenient", "and goes on from that torn step: "),
        ("halves", "killed before the last rename of the save of step 3 (m.npz), and goes on from that torn step: "),
    ],
)
def test_a_save_that_can_be_torn_is_found(tmp_path: Path, saver: str, said: str) -> None:
    roots = [root.finding for root in tried(tmp_path, saver=saver).new_roots()]
    assert {each.code for each in roots} == {"CKP705"} and said in roots[0].message, [each.message for each in roots]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("saver", "said"),
    [
        ("marked", "killed at its first write (step 2: 2/arrays.npz), before its last write (step 3: 3/DONE), at its"),
        ("pointed", "killed before the commit (step 2: latest), at its first write (step 3: 3/arrays.npz), before its"),
        (
            "both",
            "killed before the commit (step 2), before its last rename (step 3: latest), at its first write (step 3",
        ),
        (
            "tokens",
            "killed before the commit (step 2: 2048), at its first write (step 3: 3072.partial/arrays.npz), before",
        ),
        ("unheard", "killed nowhere, taken up 2 times"),
    ],
)
def test_a_save_that_cannot_be_torn_or_not_be_heard_is_clean_and_said_to_be(
    tmp_path: Path, saver: str, said: str
) -> None:
    report = tried(tmp_path, saver=saver)
    assert report.findings == () and said in (report.proof or ""), report.proof
    assert ("not killed within a save" in (report.proof or "")) == (saver == "unheard")


@pytest.mark.slow
def test_a_state_of_which_a_part_is_bound_to_no_device_resumes_on_every_mesh(tmp_path: Path) -> None:
    path = tmp_path / "small.contract.yaml"
    text = OWN.format(here=json.dumps(str(HERE)), args="{ own: false, loose: true }").replace("cpu:1", "cpu:2")
    path.write_text(f"{text}mesh: {{ axes: {{ data: 2, fsdp: 1 }} }}\n")
    report = check_resume(str(path), Options(steps=4))
    assert report.findings == () and "on data 1 x fsdp 2 equal to the bit" in (report.proof or ""), report.findings


@pytest.mark.slow
def test_the_trainer_resumes_on_every_mesh_and_after_every_kill(tmp_path: Path) -> None:
    path = tmp_path / "small.contract.yaml"
    path.write_text(TRAINER)
    loaded = load_contract(path)
    facts = resumed(loaded, Options(steps=4, meshes=[{"data": 4, "fsdp": 2}, {"data": 2, "fsdp": 4}]))
    assert [leg.killed for leg in facts.legs] == ["before the commit", "between items", "while it finalises", None]
    assert [leg.restored for leg in facts.legs][:3] == [0, 1, 2] and facts.legs[3].restored in (2, 3)
    assert [leg.mesh for leg in facts.meshes] == [{"data": 4, "fsdp": 2}, {"data": 2, "fsdp": 4}]
    assert all(leg.compared is not None and (leg.compared.ratio or 0) <= 1 for leg in facts.meshes)
    assert facts.missing == [] and facts.own and facts.notes == [] and facts.unbroken.lacking == []


@pytest.mark.slow
def test_a_mesh_that_was_asked_for_is_no_note(tmp_path: Path) -> None:
    path = tmp_path / "small.contract.yaml"
    text = OWN.format(here=json.dumps(str(HERE)), args='{ fault: "mesh" }').replace("cpu:1", "cpu:2")
    path.write_text(f"{text}mesh: {{ axes: {{ data: 2, fsdp: 1 }} }}\n")
    loaded = load_contract(path)
    (note,) = resumed(loaded, Options(steps=4)).notes
    assert note.startswith("not restored onto data 1 x fsdp 2: ") and "no batch is that large" in note
    with pytest.raises(ContractLintError, match="no batch is that large"):
        resumed(loaded, Options(steps=4, meshes=[{"data": 1, "fsdp": 2}]))


def test_a_mesh_of_other_devices_is_refused_before_anything_runs(tmp_path: Path) -> None:
    path = tmp_path / "small.contract.yaml"
    path.write_text(TRAINER)
    with pytest.raises(ContractLintError, match="the mesh data 3 x fsdp 2 needs 6 devices, and cpu:8 has 8"):
        resumed(load_contract(path), Options(meshes=[{"data": 3, "fsdp": 2}]), say=pytest.fail)


@pytest.mark.parametrize(
    ("contract", "said"),
    [
        (TRAINER, "has an axis tensor: .* has the axes data, fsdp"),
        (None, "has an axis tensor: the contract names no mesh"),
    ],
)
def test_a_mesh_of_other_axes_is_refused_before_anything_runs(tmp_path: Path, contract: str | None, said: str) -> None:
    path = tmp_path / "small.contract.yaml"
    path.write_text(contract or 'contract: 1\nname: small\nstep: { train: { entry: "m:build" } }\ntargets: [cpu:8]\n')
    with pytest.raises(ContractLintError, match=said):
        resumed(load_contract(path), Options(meshes=[{"tensor": 8}]), say=pytest.fail)
