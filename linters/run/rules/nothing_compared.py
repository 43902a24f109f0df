"""The step ran, but its one-device twin did not, so that no value was compared.

## What it does
Reports that neither loss nor metrics nor gradients could be compared with a run on one device.

## Why is this bad?
A verdict that compared nothing looks like one in which everything agreed.

## Example
```yaml
# the build function rejects it, so there is no twin
reference_args: { compute: float31 }
```

## Use instead
Give build arguments with which the same step can be built for one device.

## References
- https://docs.jax.dev/en/latest/notebooks/Distributed_arrays_and_automatic_parallelization.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.key import Key, format_key
from ...evidence import StepEvidence
from ...rule import Rule

WHOLE = "loss, metrics and gradients"
"""What `not_compared` calls everything together: there was no twin, and the reason says why."""
NO_LOSS = "the step gives neither a loss, nor a metric, nor gradients that could be"


def check(evidence: StepEvidence) -> Iterable[Finding]:
    run = evidence.run
    if run is None or run.error is not None or run.comparisons:
        return
    reasons = [f"{item.what}: {item.reason}" for item in run.not_compared]
    key = format_key(_key(evidence, " ".join(item.reason for item in run.not_compared)))
    failed = next((item for item in run.not_compared if item.what == WHOLE), None)
    reason = NO_LOSS if failed is None else failed.sentence
    yield RULE.finding(
        f"nothing was compared with one device: {reason}",
        subject=evidence.name,
        # A step that returns its state only promises no value; a twin that cannot be built breaks a promise.
        severity="warning" if failed is None else "error",
        location=evidence.place(key),
        key=key,
        expected="loss, metrics or gradients of one device",
        found="none",
        evidence=tuple(reasons),
        help="return the loss or a metric beside the new state, or give the step `loss_and_grads`"
        if failed is None
        else "correct the build arguments of the twin, or give the step an `example` that one device can hold",
    )


def _key(evidence: StepEvidence, reason: str) -> Key:
    """The build argument of the twin that the reason speaks of, else those arguments, else the step."""
    step: Key = ("step", evidence.name)
    accumulation, section = evidence.contract.accumulation, evidence.section
    words: dict[str, Key] = {}
    if accumulation is not None and accumulation.arg is not None:
        words[accumulation.arg] = ("accumulation", "arg")
    given = section.reference_args if section is not None else {}
    for name, value in given.items():
        words |= dict.fromkeys((name, str(value)), (*step, "reference_args", name))
    # Errors quote what they object to, and may list all that they know beside it.
    for spelling in (r"['`\"]{}['`\"]", r"\b{}\b"):
        at = {word: match.start() for word in words if (match := re.search(spelling.format(re.escape(word)), reason))}
        if at:
            return words[min(at, key=lambda word: at[word])]
    return (*step, "reference_args") if given else step


RULE = Rule(code="SEM304", name="nothing-compared", severity="error", evidence="run", doc=__doc__ or "", check=check)
