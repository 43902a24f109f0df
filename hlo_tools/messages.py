"""What a compiler says when a program does not fit: the forms of XLA's out-of-memory messages, as numbers.

The early form has one sentence: `Ran out of memory on HBM, the total memory required for HLO temporaries (20.35G)
exceeds available HBM (15.75G)`, where "HLO temporaries" counts arguments and outputs too. The late form (`Ran out of
memory in memory space hbm. Used 1.19G of 1.17G hbm.`) can go on with a report of the largest allocations. Either may
carry a code and the module's name: `E1000: CompileTimeHbmOom: ... HLO module: jit_step.`

On GPUs the runtime's error is followed by a list of the same kind: `BufferAssignment OOM Debugging`, with sums by
kind of allocation and the largest buffers at the peak (`Buffer 1:`, then `Size: 8.00GiB` and the others, indented).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from .prefixes import without_prefixes

_SIZE = r"(\d{1,12}(?:\.\d{1,6})?[KMGTPE]?)i?B?"
_EARLY = re.compile(
    rf"Ran out of memory on (?P<space>\w{{1,20}}), the total memory required for [\w ]{{1,60}} \({_SIZE}\) "
    rf"exceeds available \w{{1,20}} \({_SIZE}\)"
)
_LATE = re.compile(
    rf"Ran out of memory in memory space (?P<space>\w{{1,20}})\. Used {_SIZE} of {_SIZE}(?: \w|(?<=[KMGTPE])\Z)"
)
_OVER = re.compile(rf"Exceeded \w{{1,20}} capacity by {_SIZE}")
_MODULE = re.compile(r"HLO module: ([\w.<>-]{1,200}?)\.?(?:\s|$)")
_SECTION = re.compile(
    rf"^[ \t]{{0,12}}(reserved|program|arguments|global|scoped|HLO temp|overlays) {{2,40}}{_SIZE}(?=\s|\Z)", re.M
)
_STATS = re.compile(
    rf"^[ \t]{{0,60}}(parameter|constant|maybe_live_out|preallocated temp|total) allocation: {{1,40}}{_SIZE}(?=\s|\Z)",
    re.M,
)
_ENTRY = re.compile(rf"^[ \t]*(?:(\d{{1,4}})\. Size:(?:[ \t]+{_SIZE})?|Buffer (\d{{1,4}}):)[ \t]*$")
# A report that ends in a number without a unit ends inside of it: what is left of it would be taken for bytes.
_CUT = re.compile(r"(?<=[ :])\d{1,12}(?:\.\d{0,6})?\Z")
_LISTED = (
    r"\d{1,4}\. Size: |Buffer \d{1,4}:|(?:Operator|Shape|Unpadded size|XLA [Ll]abel|Allocation type): |"
    r"Total \w{1,20} usage >= |Program \w{1,20} requirement |BufferAssignment stats:"
)
_FIELD = re.compile(
    r"^[ \t]*(Operator|Shape|Size|Unpadded size|XLA [Ll]abel|Allocation type|Entry Parameter Subshape): *(.{1,4000})$"
)
_RULE = re.compile(r"^[ \t]*={8,}[ \t]*$")
_OP_NAME = re.compile(r'op_name="((?:[^"\\]|\\.){1,4000})"')
_SOURCE = re.compile(r'source_file="([^"]{1,1000})"(?: source_line=(\d{1,9}))?')
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50, "E": 1 << 60}

Form = Literal["early", "late"]


@dataclass(frozen=True, slots=True)
class ReportedAllocation:
    """One entry of a list. Sizes in bytes, as exact as three digits are.

    A pasted report may be cut: `size_bytes` is None where the line with it is missing, and an entry without the rule
    that ends it is not `closed`.
    """

    size_bytes: int | None
    shape: str = ""
    op_name: str = ""
    unpadded_bytes: int | None = None
    label: str = ""
    kind: str = ""
    number: int | None = None
    source: str = ""
    closed: bool = False


@dataclass(frozen=True, slots=True)
class OutOfMemory:
    """One message. Bytes are per device and rounded as the compiler printed them.

    `needed_bytes` is what the program wants of the memory space, `available_bytes` what there is.
    """

    form: Form
    space: str
    needed_bytes: int
    available_bytes: int
    module: str | None = None
    exceeded_bytes: int | None = None
    sections: tuple[tuple[str, int], ...] = ()
    allocations: tuple[ReportedAllocation, ...] = ()


def out_of_memory(text: str) -> OutOfMemory | None:
    """The out-of-memory message in a text, the most telling one where there are several; None where there is none."""
    late, early = _LATE.search(text), _EARLY.search(text)
    match = late or early
    if match is None:
        return None
    over, module = _OVER.search(text, match.end()), _MODULE.search(text)
    return OutOfMemory(
        form="late" if late else "early",
        space=match["space"].lower(),
        needed_bytes=parse_size(match[2]),
        available_bytes=parse_size(match[3]),
        module=module[1] if module else None,
        exceeded_bytes=parse_size(over[1]) if over else None,
        sections=tuple((name, parse_size(size)) for name, size in _SECTION.findall(without_prefixes(text, _LISTED))),
        allocations=tuple(reported_allocations(text)),
    )


def assigned(text: str) -> tuple[tuple[str, int], ...]:
    """The sums of `BufferAssignment stats`, by kind of allocation; empty where there are none."""
    return tuple((name, parse_size(size)) for name, size in _STATS.findall(without_prefixes(text, _LISTED)))


def parse_size(text: str) -> int:
    """`15.75G` in bytes, by powers of 1024. Raises ValueError for anything else."""
    unit = text[-1:] if text[-1:] in _UNITS and text[-1:] else ""
    return round(float(text.removesuffix(unit)) * _UNITS[unit])


def reported_allocations(text: str) -> list[ReportedAllocation]:
    """The entries of a report, or of a part of one; what a logger prints before each line is left out."""
    found: list[ReportedAllocation] = []
    fields: dict[str, str] = {}

    def close(whole: bool = False) -> None:
        if fields.keys() - {"Allocation type", "Size"}:
            found.append(_allocation(fields, whole))
        fields.clear()

    for line in without_prefixes(_CUT.sub("", text), _LISTED).splitlines():
        if (match := _ENTRY.match(line)) is not None:
            close()
            fields["number"] = match[1] or match[3]
            if match[2]:
                fields["Size"] = match[2]
        elif (match := _FIELD.match(line)) is not None:
            name = match[1].replace("XLA Label", "XLA label")
            if name in fields:
                close()
            fields[name] = match[2].strip()
        elif _RULE.match(line):
            close(whole=True)
    close()
    return found


def _allocation(fields: dict[str, str], whole: bool) -> ReportedAllocation:
    operator, label = fields.get("Operator", ""), fields.get("XLA label", "")
    op_name = _OP_NAME.search(operator) or _OP_NAME.search(label)
    source = _SOURCE.search(operator) or _SOURCE.search(label)
    argument = fields.get("Entry Parameter Subshape", "")
    return ReportedAllocation(
        size_bytes=_optional(fields.get("Size", "")),
        shape=fields.get("Shape", argument),
        op_name=op_name[1] if op_name else "",
        unpadded_bytes=_optional(fields.get("Unpadded size", "")),
        label=label,
        kind=fields.get("Allocation type", "argument" if argument else ""),
        number=int(fields["number"]) if "number" in fields else None,
        source=f"{source[1]}:{source[2]}" if source and source[2] else source[1] if source else "",
        closed=whole,
    )


def _optional(text: str) -> int | None:
    match = re.match(_SIZE, text)
    return parse_size(match[1]) if match else None
