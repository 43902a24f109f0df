"""An input with a dimension of zero or less, as a configuration that was not told its devices gives it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from contract_lint.contracts.finding import Finding, Location
from contract_lint.contracts.manifest import Leaf, StepFacts
from contract_lint.hlo_tools.tensors import tensors
from contract_lint.linters.judge import fold
from contract_lint.linters.registry import find_rule

RULE = find_rule("DAT203")


def found(*leaves: tuple[str, list[int]], batch: bool = True) -> list[Finding]:
    assert RULE is not None
    arguments = [
        Leaf(argument=argument, path=f"{argument}/x", shape=shape, dtype="int32" if argument == "data" else "float32")
        for argument, shape in leaves
    ]
    facts = StepFacts(step="train", entry="m:build", argument_names=["state", "data"], arguments=arguments)
    evidence: Any = SimpleNamespace(
        tensors=tensors(facts),
        contract=SimpleNamespace(batch=SimpleNamespace(size=8) if batch else None),
        place=lambda key: Location("c.contract.yaml", 1, 1),
        step_key="step.train",
    )
    return list(RULE.check(evidence))


@pytest.mark.parametrize("shape", [[-8, 256], [0, 256], [8, 0]])
def test_a_batch_of_nothing_or_less_is_an_error_at_its_size(shape: list[int]) -> None:
    (finding,) = found(("state", [4, 4]), ("data", shape))
    assert (finding.code, finding.severity, finding.key) == ("DAT203", "error", "batch.size")
    assert str(shape) in finding.message and finding.found == str(min(shape))


def test_without_a_promised_batch_it_stands_at_the_arguments_of_the_build() -> None:
    (finding,) = found(("state", [4, 4]), ("data", [-8, 256]), batch=False)
    assert finding.key == "step.train.args"


def test_whole_batches_scalars_and_empty_parameters_are_fine() -> None:
    assert found(("state", [0, 4]), ("state", []), ("data", [8, 256])) == []


def test_what_else_is_found_in_such_a_program_follows_from_it() -> None:
    (cause,) = found(("state", [4, 4]), ("data", [-8, 256]))
    other = Finding(code="DAT201", name="batch-shape", message="m", subject="batch.size", severity="error")
    root, consequence = fold([cause, other])
    assert root.is_root and consequence.caused_by == root.fingerprint
