"""A half-precision value is widened to be sent, and rounded again on the other side.

## What it does
Finds collectives in f32 or wider whose operand was just converted from 16 bits or fewer, and whose every use converts
it back to no more than it had before.

## Why is this bad?
Twice the bytes. A gather, an exchange or a permute changes no value, so nothing is gained. A sum is rounded once less
on its way; that may be meant, so it is advice. Programs for CPU are widened by their compiler and say nothing about
an accelerator.

## Example
```python
y = lax.all_gather(x.astype(jnp.float32), "data").astype(jnp.bfloat16)     # x is bfloat16
```

## Use instead
```python
y = lax.all_gather(x, "data")
```

## What stays clean
A value that is computed in f32, a result that any use reads in f32.

## References
- https://github.com/openxla/xla/blob/main/xla/hlo/transforms/simplifiers/convert_mover.h
- https://docs.jax.dev/en/latest/jep/9407-type-promotion.html
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

from ....contracts.finding import Finding
from ....contracts.model import format_bytes
from ....hlo_tools.canonical.combined import part_number, parts_of
from ....hlo_tools.collectives import Collective
from ....hlo_tools.flow import Flow, Value
from ....hlo_tools.shape import Shape
from ....hlo_tools.taken import results
from ...cut import shown
from ...rule import Rule
from ..evidence import DumpEvidence
from ..wording import alike, cost, details, line_of, names, over, place_of, subject_of, together

_MOVES = frozenset(("copy", "bitcast", "reshape", "transpose", "copy-start"))
_CUTS = frozenset(("slice", "dynamic-slice"))
_SUMS = frozenset(("all-reduce", "reduce-scatter"))
_MAX_STEPS = 64
HALF = 16


@dataclass(frozen=True, slots=True)
class _Wide:
    row: Collective
    before: Shape
    bits: int
    """Of an element as it is sent."""

    @property
    def needless_bytes(self) -> int:
        return self.row.ring_bytes - self.row.ring_bytes * self.before.element_bits // self.bits


def check(evidence: DumpEvidence) -> Iterable[Finding]:
    for found in together(_wide(evidence), lambda each: _key(each, evidence)):
        rows = [each.row for each in found]
        first, narrow = rows[0], found[0].before
        sent = sum(row.ring_bytes for row in rows)
        ours = evidence.backend != "cpu"
        sums = first.kind in _SUMS
        needless = sum(each.needless_bytes for each in found)
        yield RULE.finding(
            f"{over(first) if ours else 'collectives'} in {first.dtype} of a value that is {narrow.dtype} before and "
            f"after ({names(rows)}): {cost(rows)}, {format_bytes(needless)} of it for nothing",
            subject=f"{narrow.dtype}:{subject_of(first) if ours else 'cpu'}",
            severity="warning" if ours and not sums else "info",
            confidence="certain" if ours and not sums else "likely",
            location=place_of(first),
            instruction=first.name,
            expected=f"{narrow.dtype}: {format_bytes(sent - needless)}",
            found=f"{first.dtype}: {format_bytes(sent)}",
            evidence=shown(f"%{row.name}: {row.dtype}, {cost([row])}, {line_of(row)}" for row in rows),
            help=_help(ours, sums),
            details=details(rows) | {"dtype": first.dtype, "narrow": narrow.dtype},
        )


def _help(ours: bool, sums: bool) -> str:
    if not ours:
        return "the CPU compiler widens what it moves; look at the program that an accelerator runs"
    if sums:
        return "sum in half precision if its rounding is acceptable; keep f32 if the sum is meant to be exact"
    return "convert after the collective"


def _key(wide: _Wide, evidence: DumpEvidence) -> Hashable:
    return alike(wide.row) if evidence.backend != "cpu" else None


def _wide(evidence: DumpEvidence) -> Iterator[_Wide]:
    flow = evidence.flow
    for row in evidence.rows:
        made = row.instruction
        if (
            made is None
            or row.kind == "send-recv"
            or row.promoted
            or not made.operands
            or len(row.parts) != len(made.operands)
        ):
            continue
        for part in parts_of(row):
            number = part_number(part)
            operand = made.operands[number or 0]
            if operand.shape.is_tuple or operand.shape.element_bits <= HALF or operand.shape.dtype[:1] not in "fb":
                continue
            before = _before(flow, Value(operand, flow.at(made).around))
            if before is not None and all(
                _narrowed(flow, flow.at(result), before.element_bits) for result in results(made, number)
            ):
                yield _Wide(part, before, operand.shape.element_bits)


def _before(flow: Flow, value: Value) -> Shape | None:
    """The half-precision value that was widened into this one; None where it was not."""
    for _ in range(_MAX_STEPS):
        value = flow.maker(value)
        made = value.instruction
        if made.opcode == "convert" and made.operands:
            shape = made.operands[0].shape
            return shape if shape.element_bits <= HALF and shape.dtype[:1] in "fb" else None
        if made.opcode not in _MOVES or not made.operands:
            return None
        value = Value(made.operands[0], value.around)
    return None


def _narrowed(flow: Flow, value: Value, bits: int) -> bool:
    """Whether every use converts it to floating-point numbers of no more bits."""
    pending, seen = [value], {value}
    found = False
    while pending:
        for reader in flow.readers(pending.pop()):
            user = reader.user
            if user is None or len(seen) > _MAX_STEPS:
                return False
            opcode, shape = user.instruction.opcode, user.instruction.shape
            if opcode == "convert":
                if shape.element_bits > bits or shape.dtype[:1] not in "fb":
                    return False
                found = True
            elif opcode in _MOVES or (opcode in _CUTS and user.instruction.operands[0] is reader.seen):
                if user not in seen:
                    seen.add(user)
                    pending.append(user)
            else:
                return False
    return found


RULE = Rule(code="NUM501", name="wide-collective", severity="warning", evidence="dump", doc=__doc__ or "", check=check)
