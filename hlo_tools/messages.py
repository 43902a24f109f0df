"""What a compiler says when a program does not fit: the forms of XLA's out-of-memory messages, as numbers.

The early form has one sentence: `Ran out of memory on HBM, the total memory required for HLO temporaries (20.35G)
exceeds available HBM (15.75G)`, where "HLO temporaries" counts arguments and outputs too. The late form (`Ran out of
memory in memory space hbm. Used 1.19G of 1.17G hbm.`) can go on with a report of the largest allocations. Either may
carry a code and the module's name: `E1000: CompileTimeHbmOom: ... HLO module: jit_step.`
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_SIZE = r"(\d{1,12}(?:\.\d{1,6})?[KMGT]?)i?B?"
_EARLY = re.compile(
    rf"Ran out of memory on (?P<space>\w{{1,20}}), the total memory required for [\w ]{{1,60}} \({_SIZE}\) "
    rf"exceeds available \w{{1,20}} \({_SIZE}\)"
)
_LATE = re.compile(rf"Ran out of memory in memory space (?P<space>\w{{1,20}})\. Used {_SIZE} of {_SIZE} \w{{1,20}}")
_OVER = re.compile(rf"Exceeded \w{{1,20}} capacity by {_SIZE}")
_MODULE = re.compile(r"HLO module: ([\w.<>-]{1,200}?)\.?(?:\s|$)")
_SECTION = re.compile(rf"^ {{2,8}}(reserved|program|arguments|global|scoped|HLO temp|overlays) +{_SIZE}(?= |$)", re.M)
_ENTRY = re.compile(rf"^ {{1,8}}\d{{1,4}}\. Size: {_SIZE} *$", re.M)
_FIELD = re.compile(r"^ {2,12}(Operator|Shape|Unpadded size|XLA label|Allocation type): *(.{1,2000})$", re.M)
_OP_NAME = re.compile(r'op_name="([^"]{1,1000})"')
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

Form = Literal["early", "late"]


@dataclass(frozen=True, slots=True)
class ReportedAllocation:
    """One entry of the late report's list. Sizes in bytes, as exact as three digits are."""

    size_bytes: int
    shape: str = ""
    op_name: str = ""
    unpadded_bytes: int | None = None
    label: str = ""
    kind: str = ""


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
        sections=tuple((name, parse_size(size)) for name, size in _SECTION.findall(text)),
        allocations=tuple(_allocations(text)),
    )


def parse_size(text: str) -> int:
    """`15.75G` in bytes, by powers of 1024. Raises ValueError for anything else."""
    unit = text[-1:] if text[-1:] in _UNITS and text[-1:] else ""
    return round(float(text.removesuffix(unit)) * _UNITS[unit])


def _allocations(text: str) -> list[ReportedAllocation]:
    starts = list(_ENTRY.finditer(text))
    found: list[ReportedAllocation] = []
    for number, start in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        fields = {name: value.strip() for name, value in _FIELD.findall(text, start.end(), end)}
        op_name = _OP_NAME.search(fields.get("Operator", ""))
        found.append(
            ReportedAllocation(
                size_bytes=parse_size(start[1]),
                shape=fields.get("Shape", ""),
                op_name=op_name[1] if op_name else "",
                unpadded_bytes=_optional(fields.get("Unpadded size", "")),
                label=fields.get("XLA label", ""),
                kind=fields.get("Allocation type", ""),
            )
        )
    return found


def _optional(text: str) -> int | None:
    match = re.match(_SIZE, text)
    return parse_size(match[1]) if match else None
