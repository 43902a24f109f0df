"""An array is rewritten in another order just before or after it is sent.

## What it does
Finds, in an optimised program, copies and transposes that change the order of an array in memory and stand right
before a collective or take all of its result, from 1 MiB moved in a step on.

## Why is this bad?
Each reads and writes the whole array once more, in memory and not on the wire, and nothing else runs on it meanwhile.
Mostly a collective gathers or splits a dimension that is not the outermost in memory.

## Example
```python
y = jax.lax.all_gather(x, "data", axis=1, tiled=True)       # dimension 1 of a row-major array
```

## Use instead
```python
y = jax.lax.all_gather(x.T, "data", axis=0, tiled=True)     # where x can be kept transposed
```

## What stays clean
Copies that keep the order (into another memory, for donation), transposes that are none in memory, conversions, and
those fused with arithmetic, which reads the array anyway.

## References
- https://docs.jax.dev/en/latest/notebooks/layout.html
- https://openxla.org/xla/shapes
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ....contracts.finding import Finding
from ....contracts.model import format_bytes
from ....hlo_tools.collectives import Collective
from ....hlo_tools.instruction import Instruction
from ....hlo_tools.shape import Shape
from ....hlo_tools.taken import results
from ....hlo_tools.text.attributes import integer
from ...cut import shown
from ...rule import Rule
from ..evidence import DumpEvidence
from ..wording import alike, details, names, over, place_of, subject_of, together

LEAST = 1 << 20
_PLAIN = frozenset(("parameter", "copy", "transpose", "bitcast", "reshape"))
_MAX_FUSED = 8


@dataclass(frozen=True, slots=True)
class _Rewrite:
    row: Collective
    made: Instruction
    side: str
    bytes: int
    """Read and written in a step."""


def check(evidence: DumpEvidence) -> Iterable[Finding]:
    if not evidence.is_final:
        return
    for found in together(_rewrites(evidence), lambda each: (alike(each.row), each.side)):
        moved = sum(each.bytes for each in found)
        if moved < LEAST:
            continue
        rows = [each.row for each in found]
        runs = sum(row.count for row in rows)
        yield RULE.finding(
            f"{over(rows[0])} has its {_SIDES[found[0].side]} in another order in memory "
            f"({names([each.made for each in found])}): {runs:,} execution{'s' * (runs != 1)}, "
            f"{format_bytes(moved)} read and written",
            subject=f"{found[0].side}:{subject_of(rows[0])}",
            location=place_of(rows[0]),
            instruction=found[0].made.name,
            expected="one order on both sides",
            found=_change(found[0].made),
            evidence=shown(
                f"%{each.made.name} {each.made.shape.text}, %{each.row.name}: {format_bytes(each.bytes)}"
                for each in found
            ),
            help="let the dimension that is gathered or split be the outermost in memory",
            details=details(rows) | {"copied_bytes": moved},
        )


_SIDES = {"before": "operand rewritten", "after": "result rewritten"}


def _rewrites(evidence: DumpEvidence) -> Iterator[_Rewrite]:
    for row in evidence.rows:
        made = row.instruction
        if made is None or evidence.flow.at(made).around:
            continue
        for operand in made.operands:
            if _is_rewrite(operand) and len(operand.users) == 1:
                yield _Rewrite(row, operand, "before", 2 * operand.shape.bytes * row.count)
        count = len(row.parts)
        for number in range(count) if count > 1 else (None,):
            for result in results(made, number):
                after = [user for each in _done(result) for user in each.users]
                if after and not any(each.is_root for each in _done(result)) and all(map(_is_rewrite, after)):
                    for user in after:
                        yield _Rewrite(row, user, "after", 2 * user.shape.bytes * row.count)


def _done(result: Instruction) -> list[Instruction]:
    if not result.opcode.endswith("-start"):
        return [result]
    return [user for user in result.users if user.opcode.endswith("-done")]


def _is_rewrite(made: Instruction) -> bool:
    """Whether an instruction does nothing but change the order of an array in memory."""
    if made.opcode == "fusion" and len(made.operands) == 1 and made.called:
        fused = made.called[0]
        opcodes = fused.opcodes()
        return (
            len(opcodes) <= _MAX_FUSED
            and _PLAIN.issuperset(opcodes)
            and any(_changes_order(each) for each in fused.instructions)
        )
    return _changes_order(made)


def _changes_order(made: Instruction) -> bool:
    if made.opcode not in ("copy", "transpose") or not made.operands or made.shape.is_tuple:
        return False
    before, after = _orders(made)
    if len(before) != len(after) or len(made.operands[0].shape.dims) != len(made.shape.dims):
        return False
    sizes = made.operands[0].shape.dims
    return [dim for dim in before if sizes[dim] > 1] != [dim for dim in after if sizes[dim] > 1]


def _change(made: Instruction) -> str:
    """`dimensions 3,1,0,2 to 3,2,1,0, innermost first`: the same dimensions on both sides of a transpose."""
    inner = next((each for each in made.called[0].instructions if _changes_order(each)), made) if made.called else made
    before, after = _orders(inner)
    return f"dimensions {','.join(map(str, before))} to {','.join(map(str, after))}, innermost first"


def _orders(made: Instruction) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Dimensions of the operand of a copy or transpose, from the innermost in memory outwards, before and after."""
    before, after = _order(made.operands[0].shape) or (), _order(made.shape) or ()
    if made.opcode == "transpose":
        source = [integer(n) for n in made.attributes.get("dimensions", "").strip("{}").split(",") if n.strip()]
        if sorted(source) != list(range(len(made.shape.dims))):
            return (), ()
        after = tuple(source[dim] for dim in after)
    return before, after


def _order(shape: Shape) -> tuple[int, ...] | None:
    """Dimensions from the innermost in memory outwards."""
    if shape.is_tuple:
        return None
    layout = shape.layout
    order = layout.minor_to_major if layout is not None else ()
    return order if len(order) == len(shape.dims) else tuple(reversed(range(len(shape.dims))))


RULE = Rule(code="SHD507", name="relaid-collective", severity="info", evidence="dump", doc=__doc__ or "", check=check)
