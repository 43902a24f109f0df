"""The step, or its one-device reference, failed while it ran.

## What it does
Reports an exception of the executed loop at the innermost line of user code.

## Why is this bad?
A step that compiles and then fails cannot be judged, and will fail in the real run too.

## Example
A donated argument that is used again: "Array has been deleted".

## Use instead
Rebind the state to the step's result.

## References
- https://docs.jax.dev/en/latest/faq.html#buffer-donation
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...evidence import StepEvidence, frame_location
from ...rule import Rule


def check(evidence: StepEvidence) -> Iterable[Finding]:
    error = evidence.run.error if evidence.run else None
    if error is None:
        return
    summary = next(iter(error.message.strip().splitlines()), error.type)
    yield RULE.finding(
        f"{error.type} while the step ran: {summary}",
        subject=error.kind,
        location=frame_location(error.frames) or evidence.place(evidence.step_key),
        found=error.type,
        evidence=(error.message.strip(), *(f"{f.path}:{f.line} in {f.function}" for f in error.frames)),
        help="run the step on its own with the same arguments to see the whole error",
    )


RULE = Rule(code="JIT303", name="run-failed", severity="error", evidence="run", doc=__doc__ or "", check=check)
