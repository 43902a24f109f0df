"""Saves and restores of a part of the state, by Orbax: what it does not give back is what a contract is told to miss.

`partial_restore=True` restores what there is and says nothing of the rest: missing leaves come back as the template's
abstract arrays, placeholders as `...`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from contract_lint.contracts.load import load_contract
from contract_lint.linters.checkpoint.evidence import CheckpointEvidence
from contract_lint.linters.checkpoint.judge import judge_checkpoint
from contract_lint.linters.checkpoint.read import read_checkpoint

SHAPES = {"embed": [32, 8], "layers/w": [64, 256], "layers/scale": [8], "blocks/0": [4], "blocks/1": [10]}
CONTRACT = """\
contract: 1
name: part
step: {{ train: {{ entry: "m:build" }} }}
model: {{ kind: listed, parameters: {parameters} }}
dtypes: {{ master: float32, moments: float32 }}
optimizer: {{ name: adamw }}
checkpoint: {{ level: {level}, state: {{ step: step }}, slots: {{ mu: any, nu: any }} }}
"""


def held(
    made: Path, name: str, tmp_path: Path, parameters: dict[str, list[int]] = SHAPES, level: str = "up-to-dtype"
) -> CheckpointEvidence:
    """A checkpoint and a contract."""
    path = tmp_path / "c.yaml"
    path.write_text(CONTRACT.format(parameters=json.dumps(parameters), level=level))
    return CheckpointEvidence(read_checkpoint(made / name), load_contract(path).readable())


def absent(evidence: CheckpointEvidence) -> set[str]:
    """Every parameter, slot and other state that is said to be missing, by its path in the state."""
    found: set[str] = set()
    for each in judge_checkpoint(evidence):
        if each.code == "CKP603":
            found |= {f"params/{path}" for path in each.details["leaves"]}
        if each.code == "CKP607":
            found |= {f"opt_state/1/0/{each.details['slot']}/{path}" for path in each.details["missing"]}
        if each.code == "CKP608":
            found.add(str(each.expected))
    return found


def not_given(made: Path, name: str) -> set[str]:
    """Leaves of which a restore gave no array. A contract says nothing of the optimizer's counter."""
    given = json.loads((made / "restored.json").read_text())[name]
    return {path for path, kind in given.items() if kind in ("ShapeDtypeStruct", "ellipsis")} - {"opt_state/1/0/count"}


@pytest.mark.parametrize(("name", "count"), [("weights", 11), ("placeholders", 2)])
def test_what_a_restore_leaves_open_is_missing(made: Path, tmp_path: Path, name: str, count: int) -> None:
    evidence = held(made, name, tmp_path)
    assert absent(evidence) == not_given(made, name)
    assert len(absent(evidence)) == count


def test_placeholders_alone_are_no_whole_state(made: Path, tmp_path: Path) -> None:
    """Without a contract too: the tree names them, and a restore into arrays fails."""
    checkpoint = held(made, "placeholders", tmp_path).checkpoint
    (found,) = judge_checkpoint(CheckpointEvidence(checkpoint))
    assert (found.code, found.details["leaves"]) == ("CKP609", ["params/layers/w", "step"])
    assert "saved as a placeholder" in found.message
    assert not checkpoint.has("step") and checkpoint.has("params/embed")


def test_weights_alone_are_whole_where_no_more_is_promised(made: Path, tmp_path: Path) -> None:
    assert judge_checkpoint(CheckpointEvidence(held(made, "weights", tmp_path).checkpoint)) == []


@pytest.mark.parametrize(
    ("level", "parameters", "expected"),
    [
        ("exact", SHAPES, {"CKP606"}),  # layers/scale and its moments are bfloat16
        ("up-to-dtype", SHAPES, set()),
        ("contains", SHAPES, {"CKP606"}),
        ("exact", {"embed": SHAPES["embed"]}, {"CKP604", "CKP606"}),
        ("up-to-dtype", {"embed": SHAPES["embed"]}, {"CKP604"}),
        ("contains", {"embed": SHAPES["embed"]}, {"CKP606"}),
        ("up-to-dtype", {**SHAPES, "head": [8]}, {"CKP603"}),
        ("contains", {**SHAPES, "head": [8]}, {"CKP603", "CKP606"}),
        ("up-to-dtype", {**SHAPES, "embed": [32, 9]}, {"CKP605"}),
    ],
)
def test_a_template_of_fewer_or_other_leaves(
    made: Path, tmp_path: Path, level: str, parameters: dict[str, list[int]], expected: set[str]
) -> None:
    """Orbax gives what is asked for and does not say that there was more: the level of the contract does."""
    given = json.loads((made / "restored.json").read_text())["zarr"]
    assert list(given) == ["params/embed"]
    assert {each.code for each in judge_checkpoint(held(made, "zarr", tmp_path, parameters, level))} == expected


def test_a_step_in_parts_counts_once_it_is_finalized(made: Path, tmp_path: Path) -> None:
    evidence = held(made, "parts", tmp_path)
    assert (evidence.checkpoint.step.folder, absent(evidence)) == ("100", set())
    (found,) = judge_checkpoint(evidence)
    assert found.code == "CKP601" and found.message.startswith("200.partial_save is newer than the latest committed")
    (alone,) = judge_checkpoint(CheckpointEvidence(read_checkpoint(made / "parts/200.partial_save")))[:1]
    assert (alone.code, alone.severity) == ("CKP601", "error") and "nobody has finalized it" in alone.message


def test_the_matrix_of_slots_has_what_orbax_masked_and_left_out(made: Path, tmp_path: Path) -> None:
    masked = CheckpointEvidence(read_checkpoint(made / "run")).coverage
    assert [(row.name, row.of("masked")) for row in masked.slots] == [
        (name, ["blocks/0", "blocks/1"]) for name in ("mu", "nu")
    ]
    cells = held(made, "placeholders", tmp_path).coverage
    assert cells.parameters.of("missing") == ["layers/w"] and cells.slots[0].cells["layers/w"].shape == (64, 256)
    assert cells.slots[0].cells["layers/w"].path == "opt_state/1/0/mu/layers/w"
