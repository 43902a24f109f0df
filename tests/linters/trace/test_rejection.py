"""What JAX says about a step it rejects is said once: its first line is the message, the rest evidence."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from contract_lint.contracts.finding import Finding, Location
from contract_lint.contracts.manifest import Frame, StepError
from contract_lint.linters.registry import find_rule
from contract_lint.linters.trace.rejection import rejection

RULE = find_rule("JIT201")


def found(message: str) -> Finding:
    assert RULE is not None
    frame = Frame(path="train.py", line=21, function="step")
    error = StepError(kind="other", type="TypeError", message=message, phase="trace", frames=[frame])
    evidence: Any = SimpleNamespace(
        facts=SimpleNamespace(error=error), place=lambda key: Location("c.contract.yaml", 1, 1), step_key="step.train"
    )
    (finding,) = rejection(RULE, evidence, sharding=False)
    return finding


@pytest.mark.parametrize(
    ("message", "first", "rest"),
    [
        ("incompatible shapes", "incompatible shapes", ()),
        ("\nincompatible shapes\n\n  got (3,)\n", "incompatible shapes", ("  got (3,)",)),
        ("", "TypeError", ()),
    ],
)
def test_a_message_is_said_once(message: str, first: str, rest: tuple[str, ...]) -> None:
    finding = found(message)
    assert finding.message == f"TypeError during trace: {first}"
    assert finding.evidence == (*rest, "train.py:21 in step")
