"""Matrix products run in another dtype than promised.

## What it does
Compares the operand dtypes of every matrix product in the traced program with `dtypes.compute`.

## Why is this bad?
One float32 operand makes a whole product float32: half the speed, twice the activation bytes, and everything behind
it stays wide. The reverse, bfloat16 where float32 was meant, loses digits without a word.

## Example
```python
x = x * np.sqrt(64)          # a numpy scalar: bfloat16 becomes float32
y = x @ w
```

## Use instead
```python
x = x * 8.0                  # a Python scalar keeps bfloat16
```

## References
- https://docs.jax.dev/en/latest/type_promotion.html
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ....contracts.finding import Finding
from ....contracts.manifest import DotFact
from ...evidence import StepEvidence, frame_location
from ...rule import Rule

KEY = "dtypes.compute"


def check(evidence: StepEvidence) -> Iterable[Finding]:
    section, jaxpr = evidence.contract.dtypes, evidence.facts.jaxpr
    if section is None or jaxpr is None:
        return
    floats = [dot for dot in jaxpr.dots if is_float(dot.lhs) and is_float(dot.rhs)]
    if floats and not any(section.compute in (dot.lhs, dot.rhs) for dot in floats):
        yield _none_of(evidence, floats, section.compute)
        return
    for dot in floats:
        operands = {dot.lhs, dot.rhs}
        # The transpose of a product with a wide result has one wide operand; only a product without any narrow one
        # was made wide by a promotion.
        if section.compute in operands:
            continue
        frame = dot.frames[0] if dot.frames else None
        yield RULE.finding(
            f"{dot.count} matrix product{'s' * (dot.count != 1)} of {dot.lhs} x {dot.rhs}, promised {section.compute}",
            subject=f"{dot.lhs}x{dot.rhs}",
            location=frame_location(dot.frames) or evidence.place(KEY),
            key=KEY,
            expected=section.compute,
            found=f"{dot.lhs} x {dot.rhs}",
            evidence=(f"first in {frame.path}:{frame.line}",) if frame else (),
            help="cast the operands at this line, or correct the contract",
        )


def _none_of(evidence: StepEvidence, dots: Sequence[DotFact], promised: str) -> Finding:
    """No product at all runs as promised: that is one fault, of the contract or of the step's configuration."""
    pairs = {f"{dot.lhs} x {dot.rhs}": dot for dot in reversed(dots)}
    return RULE.finding(
        f"none of {sum(dot.count for dot in dots)} matrix products runs in {promised}: {', '.join(sorted(pairs))}",
        subject=KEY,
        location=evidence.place(KEY),
        key=KEY,
        expected=promised,
        found=", ".join(sorted(pairs)),
        evidence=tuple(
            f"{pair} first in {dot.frames[0].path}:{dot.frames[0].line}" for pair, dot in pairs.items() if dot.frames
        ),
        help="correct the contract, or the configuration that sets the step's compute dtype",
    )


def is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


RULE = Rule(code="NUM201", name="compute-dtype", severity="error", evidence="trace", doc=__doc__ or "", check=check)
