"""Counts of an optimizer's state: those of optax's chains are missed, and of other forms nothing is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from contract_lint.contracts.load import load_contract
from contract_lint.linters.checkpoint.counts import uncounted
from contract_lint.linters.checkpoint.evidence import CheckpointEvidence
from contract_lint.linters.checkpoint.facts import Checkpoint, Item, Leaf, Step
from contract_lint.linters.checkpoint.judge import judge_checkpoint
from contract_lint.linters.checkpoint.read import read_checkpoint

ADAM = "{ name: adamw }"
SCHEDULED = "{ name: adam, schedule: true }"
MOMENTUM = "{ name: momentum, schedule: true }"
CHAIN = ("opt_state/1/0/mu/w", "opt_state/1/0/nu/w")
COUNT, SCHEDULE = "opt_state/1/0/count", "opt_state/1/2/count"


def evidence(folder: Path, checkpoint: Checkpoint, optimizer: str) -> CheckpointEvidence:
    path = folder / "c.contract.yaml"
    step = 'step: { train: { entry: "m:build" } }'
    path.write_text(f"contract: 1\nname: c\n{step}\noptimizer: {optimizer}\ncheckpoint: {{}}\n")
    return CheckpointEvidence(checkpoint, load_contract(path).readable())


def missed(folder: Path, optimizer: str, *paths: str) -> list[str]:
    leaves = {path: Leaf(path, "array", (4,), "float32") for path in ("params/w", *paths)}
    item = Item("state", "zarr", leaves)
    found = uncounted(evidence(folder, Checkpoint("run", Step("1", 1, "committed"), (item,), (), {}), optimizer))
    return [f"{each.whose} {each.place}" for each in found]


@pytest.mark.parametrize("end", ["", "/value"])
def test_a_chain_counts_for_adam_and_for_its_schedule(tmp_path: Path, end: str) -> None:
    chain, count, schedule = [path + end for path in CHAIN], COUNT + end, SCHEDULE + end
    assert missed(tmp_path, SCHEDULED, *chain, count, schedule) == []
    assert missed(tmp_path, SCHEDULED, *chain, schedule) == ["adam state/opt_state/1/0/count"]
    assert missed(tmp_path, SCHEDULED, *chain, count) == ["the schedule state/opt_state"]
    assert missed(tmp_path, SCHEDULED, *chain, count, "count") == ["the schedule state/opt_state"]
    assert len(missed(tmp_path, SCHEDULED, *chain)) == 2
    assert missed(tmp_path, ADAM, *chain, count) == []


def test_each_part_of_an_optimizer_counts(tmp_path: Path) -> None:
    both = [f"opt_state/inner/{name}/0/{slot}/w" for name in ("a", "b") for slot in ("mu", "nu")]
    counts = [f"opt_state/inner/{name}/0/count" for name in ("a", "b")]
    assert missed(tmp_path, ADAM, *both, *counts) == []
    assert missed(tmp_path, ADAM, *both, counts[0]) == ["adamw state/opt_state/inner/b/0/count"]
    # optax.inject_hyperparams counts outside of what it wraps.
    wrapped = ["opt_state/inner_state/0/mu/w", "opt_state/inner_state/0/nu/w", "opt_state/inner_state/0/count"]
    assert missed(tmp_path, SCHEDULED, *wrapped, "opt_state/count") == []
    assert missed(tmp_path, SCHEDULED, *wrapped) == ["the schedule state/opt_state"]


def test_momentum_has_no_count_of_its_own(tmp_path: Path) -> None:
    assert missed(tmp_path, MOMENTUM, "opt_state/0/trace/w", "opt_state/1/count") == []
    assert missed(tmp_path, MOMENTUM, "opt_state/0/trace/w") == ["the schedule state/opt_state"]
    assert missed(tmp_path, "{ name: momentum }", "opt_state/0/trace/w") == []
    assert missed(tmp_path, "{ name: sgd, schedule: true }") == []


@pytest.mark.parametrize(
    "paths",
    [
        ("opt_state/mu/w", "opt_state/nu/w"),  # of an optimizer's own
        ("optimizer/state/0/exp_avg/w", "optimizer/state/0/exp_avg_sq/w"),  # torch
        ("mu/w", "nu/w"),
        ("opt_state/0/mu/w", "opt_state/1/nu/w"),
        (),
    ],
)
def test_of_other_forms_nothing_is_missed(tmp_path: Path, paths: tuple[str, ...]) -> None:
    assert missed(tmp_path, SCHEDULED, *paths) == []


def test_what_optax_saves(made: Path, tmp_path: Path) -> None:
    """Two optimizers of their own, each with a count; the rates are constant."""
    whole = read_checkpoint(made / "run")
    assert uncounted(evidence(tmp_path, whole, ADAM)) == []
    assert [each.key for each in uncounted(evidence(tmp_path, whole, SCHEDULED))] == ["optimizer.schedule"]
    (data, state) = whole.items
    counts = [path for path in state.leaves if path.endswith("/count")]
    assert len(counts) == 2
    for gone in counts:
        less = replace(state, leaves={path: leaf for path, leaf in state.leaves.items() if path != gone})
        found = judge_checkpoint(evidence(tmp_path, replace(whole, items=(data, less)), ADAM))
        counted = [each.message for each in found if "count of" in each.message]
        assert counted == [f"the count of adamw is not in the checkpoint at state/{gone}"]
