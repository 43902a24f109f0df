"""The compiler's log says that it replicated a whole tensor.

## What it does
Reads XLA's "involuntary full rematerialization" messages, in every wording since 2023, out of a log or a capture:
between which placements, of which operation, and how many bytes every device then holds.

## Why is this bad?
Between two placements that no single collective connects, the partitioner gathers the tensor on every device and cuts
it again. Memory peaks at the full size, and the step moves far more than the change needs.

## Example
```python
x = with_sharding_constraint(x, P("y", None, "x"))
x = with_sharding_constraint(x + 1, P(None, ("x", "y"), None))
```

## Use instead
```python
x = with_sharding_constraint(x, P("y", None, "x"))
x = with_sharding_constraint(x + 1, P("y", "x", None))        # shares axes with both
x = with_sharding_constraint(x, P(None, ("x", "y"), None))
```

## What stays clean
A log without the message.

## References
- https://github.com/jax-ml/jax/issues/21562
- https://github.com/openxla/xla/issues/15207
- https://github.com/EnzymeAD/Enzyme-JAX/issues/822
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding, Location
from ....contracts.model import format_bytes
from ....hlo_tools.remat_messages import RematMessage, is_whole
from ...cut import shown
from ...rule import Rule
from ..evidence import DumpEvidence
from ..wording import together


def check(evidence: DumpEvidence) -> Iterable[Finding]:
    for found in together(evidence.messages, lambda each: (each.before, each.after, each.opcode, each.op_name)):
        first = found[0]
        times = f", {len(found):,} times" if len(found) > 1 else ""
        yield RULE.finding(
            f"the partitioner replicated {_what(first)} to place it otherwise{times}{_size(first)}",
            subject=f"{first.opcode}:{first.op_name}:{first.before}:{first.after}",
            location=_place(first, evidence),
            instruction=first.name or None,
            expected="a change of placement by one collective",
            found=f"from {first.before} to {first.after}" if first.before and first.after else "a message that is cut",
            evidence=shown(_one(each) for each in found),
            help="put a placement between the two that shares mesh axes with both",
            details={"from": first.before, "to": first.after, "bytes": first.whole_bytes, "times": len(found)},
        )


def _what(message: RematMessage) -> str:
    if not message.name:
        return "a tensor that it does not name"
    return f"%{message.name} {message.shape.text if message.shape else ''}".rstrip()


def _size(message: RematMessage) -> str:
    """How many bytes that is, as far as shape and placements tell."""
    if message.bytes is None:
        return ""
    whole, kept = message.whole_bytes, message.kept_bytes
    if whole is None:
        return f": {format_bytes(message.bytes)} as printed"
    held = f": {format_bytes(whole)} on every device"
    if is_whole(message.before):
        held = f": {format_bytes(whole)}, whole on {'one device' if 'maximal' in message.before else 'every device'}"
    return held + (f", which keeps {format_bytes(kept)}" if kept is not None and kept < whole else "")


def _one(message: RematMessage) -> str:
    """A message in short."""
    where = f" {message.op_name}" if message.op_name else ""
    return f"line {message.line}: {_what(message)}{where}, {message.before or '?'} to {message.after or '?'}"


def _place(message: RematMessage, evidence: DumpEvidence) -> Location:
    if message.source:
        return Location(message.source, message.source_line)
    return Location(evidence.name, message.line)


RULE = Rule(
    code="SHD509",
    name="reported-rematerialization",
    severity="warning",
    evidence="dump",
    doc=__doc__ or "",
    check=check,
)
