"""Rules on the values of an executed loop, each with what it reports and a twin it passes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from contract_lint.contracts.finding import Finding, Location
from contract_lint.contracts.manifest import NotCompared, RunFacts
from contract_lint.linters.evidence import StepEvidence
from contract_lint.linters.run.rules import loss_not_finite, nothing_compared

STATE = NotCompared(what="parameters and other floating state (1 array)", reason="a normalised update")
GRADIENTS = NotCompared(what="gradients", reason="the step has no loss_and_grads")


def findings(rule: Any, **facts: Any) -> list[Finding]:
    evidence = SimpleNamespace(
        run=RunFacts(steps=3, **facts),
        name="train",
        step_key="step.train",
        place=lambda key: Location("train.contract.yaml", 5, 3),
        contract=SimpleNamespace(accumulation=None),
        section=None,
    )
    return list(rule.check(cast(StepEvidence, evidence)))


def test_a_loss_that_is_not_finite() -> None:
    (finding,) = findings(loss_not_finite, losses=[1.5], not_finite=[1, 2])
    assert finding.message == "the loss is not finite in 2 of 3 steps, first in step 1"
    assert finding.severity == "warning" and finding.key == "step.train"
    assert findings(loss_not_finite, losses=[1.5, 1.4, 1.3]) == []


def test_a_step_that_returns_only_its_state_is_told_what_is_missing() -> None:
    (finding,) = findings(nothing_compared, not_compared=[STATE, GRADIENTS])
    assert "neither a loss, nor a metric, nor gradients" in finding.message
    assert finding.help is not None and "loss_and_grads" in finding.help


def test_a_twin_that_failed_is_the_reason() -> None:
    failed = NotCompared(what=nothing_compared.WHOLE, reason="the run on one device failed: no such dtype")
    (finding,) = findings(nothing_compared, not_compared=[STATE, failed])
    assert finding.message.endswith("no such dtype")
    assert finding.help is not None and "build arguments of the twin" in finding.help
