"""Why memory ran out: a pasted report or message read as numbers, and what each of its buffers tells.

Sizes of a report are rounded to three digits; where it names a shape with its layout, bytes are worked out from that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .messages import OutOfMemory, ReportedAllocation, assigned, out_of_memory, reported_allocations
from .refusals import Refusal, refusal
from .remat_limit import RematLimit, remat_limit
from .scope import is_backward, is_forward, is_recomputed, scope_of
from .shape import optional_shape
from .usage_report import Place, SpaceUsage, usage_report
from .wrapping import unpacked

SCHEMA_VERSION = 1
WIDE_PADDING = 1.25
"""From here on padding is worth mending: a buffer of so many times its elements."""

_OPERAND = re.compile(r"(\w{1,16}\[[\d,]{0,200}\]\{[^{}]{0,200}\}) %")
_REMAT = re.compile(r"\.remat(\d{1,4})\b")
_MOST_OPERANDS = 16
TEMPORARIES = "preallocated temp"
_EXACT = 100
"""Sizes are printed with three digits or so: closer than a hundredth of them is the same."""
_WORTH_IT = 1 << 20
"""Bytes of padding that are too few to speak of."""


@dataclass(frozen=True, slots=True)
class Padding:
    """An array and what its layout makes of it."""

    shape: str
    bytes: int
    unpadded_bytes: int

    @property
    def factor(self) -> float:
        return self.bytes / self.unpadded_bytes if self.unpadded_bytes else 1.0


@dataclass(frozen=True, slots=True)
class Reported:
    """One buffer of a report. `bytes` is None where neither its size nor its layout is in the paste.

    `operands` are arrays it is made from that are padded more than `WIDE_PADDING` times. `rematerialized` is how often
    the compiler had made it anew already to save memory.
    """

    number: int | None
    bytes: int | None
    unpadded_bytes: int | None
    shape: str
    dtype: str
    kind: str
    scope: str
    source: str
    label: str
    operands: tuple[Padding, ...]
    rematerialized: int
    closed: bool = False

    @property
    def is_complete(self) -> bool:
        return self.bytes is not None and (self.closed or bool(self.shape))

    def as_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "bytes": self.bytes,
            "unpadded_bytes": self.unpadded_bytes,
            "shape": self.shape,
            "kind": self.kind,
            "scope": self.scope,
            "source": self.source,
            "label": self.label,
            "rematerialized": self.rematerialized,
            "complete": self.is_complete,
            "padded_operands": [
                {"shape": each.shape, "bytes": each.bytes, "unpadded_bytes": each.unpadded_bytes}
                for each in self.operands
            ],
        }


@dataclass(frozen=True, slots=True)
class PostMortem:
    """A report: what was needed and there (None for a part of a report that does not say), and its buffers.

    `usage` holds the sums of a memory-usage-report, which says what the program takes and nothing of what there is.
    `refused` is an allocation that failed as the program ran, `limit` what the compiler could not get below; `sections`
    are the sums of a report by kind.
    """

    said: OutOfMemory | None
    buffers: tuple[Reported, ...]
    usage: tuple[SpaceUsage, ...] = ()
    refused: Refusal | None = None
    limit: RematLimit | None = None
    sections: tuple[tuple[str, int], ...] = ()

    @property
    def is_temporaries(self) -> bool:
        """Whether what was refused is all temporaries of the program: they are one allocation, and the same size."""
        temporaries = dict(self.sections).get(TEMPORARIES, 0)
        wanted = self.refused.wanted_bytes if self.refused else 0
        return wanted > 0 and abs(wanted - temporaries) * _EXACT < wanted

    @property
    def largest(self) -> Reported | None:
        """The buffer that takes most, operands that are padded included."""
        return max(self.buffers, key=_weight, default=None)

    def as_json(self) -> dict[str, Any]:
        said = self.said
        return {
            "schema_version": SCHEMA_VERSION,
            "space": said.space if said else None,
            "needed_bytes": said.needed_bytes if said else None,
            "available_bytes": said.available_bytes if said else None,
            "module": said.module if said else None,
            "sections": dict(self.sections),
            "refused": self.refused.as_json() if self.refused else None,
            "rematerialization": self.limit.as_json() if self.limit else None,
            "usage": [
                {"space": each.name, "color": each.color, "total_bytes": each.total_bytes} for each in self.usage
            ],
            "buffers": [buffer.as_json() for buffer in self.buffers],
        }


def post_mortem(text: str) -> PostMortem | None:
    """The report in a text: an out-of-memory message, a part of its list of buffers, or a memory-usage-report.

    None for a text that holds none of these, and for a program beside which the compiler only warned.
    """
    text = unpacked(text)
    said = out_of_memory(text)
    listed = said.allocations if said is not None else reported_allocations(text)
    refused = refusal(text) if said is None else None
    sections = said.sections if said is not None else assigned(text)
    if said is None and not listed and not refused and not sections:
        usage = of_usage(usage_report(text))
        limit = remat_limit(text)
        if usage is not None or limit is None or "HloModule " in text:
            return usage
        return PostMortem(None, (), limit=limit)
    buffers = tuple(_reported(each) for each in listed)
    return PostMortem(said, buffers, refused=refused, limit=remat_limit(text), sections=sections)


def of_usage(usage: tuple[SpaceUsage, ...]) -> PostMortem | None:
    """What a memory-usage-report says of the main memory; None where it has no space."""
    main = next((space for space in usage if space.color == 0), usage[0] if usage else None)
    return PostMortem(None, tuple(map(_used, main.places)), usage) if main is not None else None


@dataclass(frozen=True, slots=True)
class Advice:
    """What would shrink a buffer, and by how many bytes at most."""

    text: str
    frees: int


def advice(buffer: Reported) -> list[Advice]:
    """What would shrink a buffer, what frees most first; nothing for one of which too little is known."""
    found = [
        Advice(
            f"give {operand.shape}, which it is made from, a layout that pads less: {operand.factor:.3g} times its "
            "elements now",
            operand.bytes - operand.unpadded_bytes,
        )
        for operand in buffer.operands
    ]
    size, unpadded = buffer.bytes or 0, buffer.unpadded_bytes or 0
    if unpadded and size > WIDE_PADDING * unpadded:
        found.append(
            Advice(
                f"its layout pads it to {size / unpadded:.3g} times its elements: let the minor dimension be a "
                "multiple of 128 and the one before it of 8",
                size - unpadded,
            )
        )
    where = f"`{buffer.scope}`" if buffer.scope else "the function that makes it"
    if buffer.kind == "argument":
        found.append(Advice("shard it over another mesh axis, or donate it if the step returns its successor", size))
    elif buffer.kind == "activation of the forward pass":
        found.append(Advice(f"recompute it in the backward pass: jax.checkpoint around {where}", unpadded))
    if buffer.dtype == "f32" and buffer.kind not in ("argument", "output") and unpadded:
        found.append(Advice(f"make it in bfloat16: {where} computes in float32", unpadded // 2))
    return sorted(found, key=lambda each: -each.frees)


def _weight(buffer: Reported) -> int:
    return max([buffer.bytes or 0, *(operand.bytes for operand in buffer.operands)])


def _reported(listed: ReportedAllocation) -> Reported:
    shape = optional_shape(listed.shape)
    size, unpadded = listed.size_bytes, listed.unpadded_bytes
    # Where the layout is printed, the compiler's three digits say nothing that is not in it.
    if shape is not None and shape.layout is not None and not shape.is_tuple:
        size, unpadded = shape.padded_bytes, shape.bytes
    elif shape is not None and size is not None and abs(shape.bytes - size) * _EXACT < size:
        size = shape.bytes
    remat = max((int(number) for number in _REMAT.findall(listed.label.partition(" = ")[0])), default=0)
    return Reported(
        number=listed.number,
        bytes=size,
        unpadded_bytes=unpadded if unpadded is not None else size,
        shape=listed.shape,
        dtype=shape.dtype if shape is not None else "",
        kind=_kind(listed),
        scope=scope_of(listed.op_name),
        source=listed.source,
        label=listed.label,
        operands=tuple(_padded_operands(listed.label)),
        rematerialized=remat,
        closed=listed.closed,
    )


def _used(place: Place) -> Reported:
    """A place of a memory-usage-report; its values are told by their shapes alone."""
    shape = place.shape
    # Where the size as printed is no more than the shape's own, that one is exact.
    size = shape.bytes if shape is not None and abs(shape.bytes - place.bytes) * _EXACT < place.bytes else place.bytes
    return Reported(
        number=None,
        bytes=size,
        unpadded_bytes=min(shape.bytes, size) if shape is not None else size,
        shape=shape.text if shape is not None else "",
        dtype="",
        kind="one value" if place.values == 1 else f"{place.values:,} values in turn",
        scope="",
        source="",
        label=place.shapes,
        operands=(),
        rematerialized=0,
    )


def _kind(listed: ReportedAllocation) -> str:
    """`argument`, `output`, or of which pass: what the allocation type and JAX's name stack say."""
    if listed.label.startswith("Argument") or "arg" in listed.kind.lower():
        return "argument"
    if "output" in listed.kind.lower():
        return "output"
    if is_recomputed(listed.op_name):
        return "recomputed activation"
    if is_backward(listed.op_name):
        return "backward pass"
    if is_forward(listed.op_name):
        return "activation of the forward pass"
    return "temporary" if listed.kind else "temporary or output"


def _padded_operands(label: str) -> list[Padding]:
    _, _, call = label.partition(" = ")
    found = []
    for text in _OPERAND.findall(call)[:_MOST_OPERANDS]:
        shape = optional_shape(text)
        if shape is None or shape.is_tuple or shape.padded_bytes - shape.bytes < _WORTH_IT:
            continue
        if shape.padded_bytes > WIDE_PADDING * shape.bytes:
            found.append(Padding(text, shape.padded_bytes, shape.bytes))
    return found
