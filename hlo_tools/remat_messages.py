"""What XLA's partitioner says when it replicates a tensor to move it: every wording so far, as numbers.

    [spmd] Involuntary full rematerialization. The compiler was not able to go from sharding {A} to {B} without doing a
    full rematerialization of the tensor[ for HLO operation: %pad = f64[96]{0} pad(...)].           (2023 to 2025)
    [SPMD] Involuntary full rematerialization. The compiler cannot go from sharding {A} to {B} efficiently for HLO
    operation %add.2 = f32[8,16,4]{2,1,0} add(...), metadata={...}.                                  (since 2026)

The line number in front of it and its severity change from release to release and mean nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod

from ..contracts.errors import ContractLintError
from .shape import Shape, parse_shape

SAID = "Involuntary full rematerialization"
# The text of one message; the longest seen hold a tuple of some hundred shapes.
_LONGEST = 16_384
_PLACEMENTS = re.compile(r"go from sharding\s+(?=\{)")
_TO = re.compile(r"\s+to\s+(?=\{)")
_OPERATION = re.compile(
    r"for HLO operation:?\s+%?(?P<name>[\w.\-]{1,400})\s+=\s+(?P<shape>[a-z]\w{0,20}\[[^\]\s]{0,400}\])"
    r"(?:\{[^}\s]{0,400}\})?\s+(?P<opcode>[a-z][\w\-]{0,60})\("
)
_OP_NAME = re.compile(r'op_name="((?:[^"\\]|\\.){1,4000}+)"')
_SOURCE = re.compile(r'source_file="([^"]{1,1000})"(?: source_line=(\d{1,9}))?')
_TILES = re.compile(r"\{?devices=\[(\d{1,9}(?:,\d{1,9}){0,63})\]")
_SUBGROUPS = re.compile(r"last_tile_dims=\{([^}]*)\}")


@dataclass(frozen=True, slots=True)
class RematMessage:
    """One message. `before` and `after` are placements as printed, braces included; empty what was cut off.

    `shape` is the array as the operation prints it: the part on one device, for a tensor of one device the whole.
    """

    line: int
    before: str
    after: str
    name: str = ""
    opcode: str = ""
    shape: Shape | None = None
    op_name: str = ""
    source: str = ""
    source_line: int | None = None

    @property
    def bytes(self) -> int | None:
        """The bytes of the array as printed."""
        return self.shape.bytes if self.shape is not None else None

    @property
    def whole_bytes(self) -> int | None:
        """The bytes of the whole tensor, which every device holds for a while; None where that cannot be told."""
        parts = self._parts(self.before)
        return None if self.shape is None or parts is None else self.shape.bytes * parts

    @property
    def kept_bytes(self) -> int | None:
        """The bytes of the part that a device keeps afterwards; None where that cannot be told."""
        whole, parts = self.whole_bytes, self._parts(self.after)
        return None if whole is None or parts is None else whole // parts

    def _parts(self, placement: str) -> int | None:
        """Into how many parts a placement cuts the tensor; None for one of another rank, which a reshape handed on."""
        if is_whole(placement):
            return 1
        tiles = tiles_of(placement)
        return prod(tiles) if tiles is not None and self.shape and len(tiles) == len(self.shape.dims) else None


def tiles_of(placement: str) -> tuple[int, ...] | None:
    """Into how many parts each dimension is cut; None for a placement that is spelled otherwise or cut off."""
    match = _TILES.match(placement)
    if match is None:
        return None
    sizes = tuple(int(size) for size in match[1].split(","))
    subgroups = _SUBGROUPS.search(placement)
    extra = len(subgroups[1].split(",")) if subgroups else int("last_tile_dim_replicate" in placement)
    return sizes[: len(sizes) - extra]


def is_whole(placement: str) -> bool:
    """Whether one device, or every one, holds the whole tensor."""
    return placement.startswith(("{maximal", "{replicated"))


def remat_messages(text: str) -> tuple[RematMessage, ...]:
    """Every such message of a log, in order. Text after a message is cut where the next begins."""
    found: list[RematMessage] = []
    start = text.find(SAID)
    line = 1
    counted = 0
    while start >= 0:
        following = text.find(SAID, start + len(SAID))
        end = min(following if following >= 0 else len(text), start + _LONGEST)
        line += text.count("\n", counted, start)
        counted = start
        found.append(remat_message(text[start:end], line))
        start = following
    return tuple(found)


def remat_message(text: str, line: int = 1) -> RematMessage:
    """One message, from its first words on, whole or cut."""
    begins = _PLACEMENTS.search(text)
    if begins is None:
        return RematMessage(line, "", "")
    before, end = _braced(text, begins.end())
    to = _TO.match(text, end)
    after, end = _braced(text, to.end()) if to else ("", end)
    operation = _OPERATION.search(text, end)
    if operation is None:
        return RematMessage(line, before, after)
    stop = text.find("\n", operation.end())
    rest = text[operation.end() : stop if stop >= 0 else len(text)]
    op_name, source = _OP_NAME.search(rest), _SOURCE.search(rest)
    return RematMessage(
        line,
        before,
        after,
        operation["name"],
        operation["opcode"],
        _shape(operation["shape"]),
        op_name[1] if op_name else "",
        source[1] if source else "",
        int(source[2]) if source and source[2] else None,
    )


def _braced(text: str, start: int) -> tuple[str, int]:
    """What stands in braces from `start` on, and where it ends; to the end of the text where it is cut."""
    depth = 0
    for at in range(start, len(text)):
        if text[at] == "{":
            depth += 1
        elif text[at] == "}":
            depth -= 1
            if not depth:
                return text[start : at + 1], at + 1
    return text[start:], len(text)


def _shape(text: str) -> Shape | None:
    try:
        return parse_shape(text)
    except ContractLintError:
        return None
