"""The matrix slot x parameter: each state of a cell, and names that are folded over layers."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_lint.contracts.load import load_contract
from contract_lint.linters.checkpoint.coverage import over_layers
from contract_lint.linters.checkpoint.evidence import CheckpointEvidence
from contract_lint.linters.checkpoint.facts import Checkpoint, Item, Leaf, Step
from contract_lint.linters.checkpoint.judge import judge_checkpoint

CONTRACT = """\
contract: 1
name: small
step: { train: { entry: "m:build" } }
model: { kind: listed, parameters: { a: [4], b: [4], c: [4], d: [4], e: [4], gone: [4] } }
optimizer: { name: adamw }
checkpoint: { frozen: [d], slots: { mu: parameters, row: any, nu: parameters } }
"""


def test_every_state(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(CONTRACT)
    leaves = {f"params/{name}": Leaf(f"params/{name}", "array", (4,), "float32") for name in "abcde"}
    slots = {"mu/a": (4,), "mu/b": (5,), "mu/gone": (4,), "row/a": (1,), "mu/e": None}
    leaves |= {f"opt/{name}": Leaf(f"opt/{name}", "array", shape, "float32") for name, shape in slots.items()}
    leaves["opt/mu/c"] = Leaf("opt/mu/c", "empty")
    checkpoint = Checkpoint("run", Step("1", 1, "committed"), (Item("", "zarr", leaves),), (), {})
    evidence = CheckpointEvidence(checkpoint, load_contract(path).readable())
    found = evidence.coverage
    assert [row.name for row in found.slots] == ["mu", "row", "nu"]
    assert found.parameters.of("missing") == ["gone"] and len(found.parameters.of("covered")) == 5
    mu, row, nu = found.slots
    assert {path: cell.state for path, cell in mu.cells.items()} == {
        **{"a": "covered", "b": "other shape", "c": "masked", "d": "frozen", "e": "not stored", "gone": "covered"}
    }
    assert (mu.cells["b"].path, mu.cells["b"].shape, mu.cells["d"].path) == ("opt/mu/b", (5,), None)
    assert (row.of("covered"), row.of("missing")) == (["a"], ["b", "c", "e", "gone"])
    assert nu.of("missing") == ["a", "b", "c", "e", "gone"] and nu.of("frozen") == ["d"]
    # The rule is of the same matrix; a parameter that is not saved is told once, by another.
    judged = {each.details["slot"]: each.details for each in judge_checkpoint(evidence) if each.code == "CKP607"}
    assert {name: details["missing"] for name, details in judged.items()} == {
        **{"mu": [], "row": ["b", "c", "e"], "nu": ["a", "b", "c", "e"]}
    }
    assert judged["mu"]["other_shape"] == ["b"]


@pytest.mark.parametrize(
    ("paths", "folded"),
    [
        (["layers/0/w", "layers/1/w", "embed"], [("layers/*/w", 2), ("embed", 1)]),
        (["layers_0/w", "layers_11/w", "layers_0/b"], [("layers_*/w", 2), ("layers_0/b", 1)]),
        (["w0", "w1"], [("w0", 1), ("w1", 1)]),
        (["0/conv1x1/3", "1/conv1x1/4"], [("*/conv1x1/*", 2)]),
        ([], []),
    ],
)
def test_names_are_folded_over_layers(paths: list[str], folded: list[tuple[str, int]]) -> None:
    assert over_layers(paths) == folded
