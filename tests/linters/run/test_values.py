"""Rules on the values of an executed loop, each with what it reports and a twin it passes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from contract_lint.contracts.finding import Finding, Location
from contract_lint.contracts.manifest import NOT_FINITE_EITHER, NotCompared, RunFacts
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
    assert finding.severity == "error" and finding.key == "step.train"
    assert findings(loss_not_finite, losses=[1.5, 1.4, 1.3]) == []


def test_a_loss_that_is_not_finite_on_one_device_either() -> None:
    alike = [NotCompared(what="loss loss", reason=NOT_FINITE_EITHER)]
    (finding,) = findings(loss_not_finite, not_finite=[0, 1, 2], not_compared=alike)
    assert finding.message.endswith("first in step 0; one device computes the same")
    assert finding.severity == "warning" and finding.evidence == (f"loss loss: {NOT_FINITE_EITHER}",)
    (alone,) = findings(loss_not_finite, losses=[1.0], not_finite=[1, 2], not_compared=alike)
    assert alone.severity == "error" and "one device" not in alone.message


def test_a_loss_that_nothing_was_compared_with() -> None:
    (finding,) = findings(loss_not_finite, not_finite=[0], losses=[1.0, 1.0])
    assert finding.severity == "error"


def test_gradients_that_are_not_finite_on_one_device_either() -> None:
    alike = [NotCompared(what=f"gradient w{i}", reason=NOT_FINITE_EITHER) for i in range(3)]
    (finding,) = findings(loss_not_finite, losses=[1.0], not_compared=[*alike, STATE])
    assert finding.message == "gradient w0 and 2 more are not finite in the first step; one device computes the same"
    assert finding.severity == "warning" and len(finding.evidence) == 3
    metric = NotCompared(what="metric accuracy", reason=NOT_FINITE_EITHER)
    assert findings(loss_not_finite, losses=[1.0], not_compared=[metric]) == []


def test_a_run_that_holds_no_comparison_at_all() -> None:
    (finding,) = findings(nothing_compared)
    assert finding.severity == "warning" and finding.expected == "loss, metrics or gradients of one device"


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("the run on one device failed: no such dtype", "the run on one device failed: no such dtype"),
        ("it failed: ValueError: bad sizes\n    m.py:3 in build\n    m.py:9 in f", "it failed: ValueError: bad sizes"),
        (
            'its process ended:\nTraceback (most recent call last):\n  File "m.py", line 3\nKeyError: 3\n',
            "its process ended: KeyError: 3",
        ),
        ("", "no reason is given"),
    ],
)
def test_a_reason_is_shown_as_one_sentence(reason: str, sentence: str) -> None:
    failed = NotCompared(what=nothing_compared.WHOLE, reason=reason)
    assert failed.sentence == sentence
    (finding,) = findings(nothing_compared, not_compared=[failed])
    assert finding.message == f"nothing was compared with one device: {sentence}"
    assert finding.evidence == (f"{failed.what}: {reason}",)


def test_a_step_that_returns_only_its_state_is_told_what_is_missing() -> None:
    (finding,) = findings(nothing_compared, not_compared=[STATE, GRADIENTS])
    assert "neither a loss, nor a metric, nor gradients" in finding.message
    assert finding.help is not None and "loss_and_grads" in finding.help


def test_a_twin_that_failed_is_the_reason() -> None:
    failed = NotCompared(what=nothing_compared.WHOLE, reason="the run on one device failed: no such dtype")
    (finding,) = findings(nothing_compared, not_compared=[STATE, failed])
    assert finding.message.endswith("no such dtype")
    assert finding.help is not None and "build arguments of the twin" in finding.help
