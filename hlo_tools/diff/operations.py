"""Operations that one program does and the other does not: by line, with what they turned into."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass

from ..cost.matrix import OPCODES
from ..cost.opcodes import ELEMENTWISE, TRANSCENDENTAL
from ..instruction import Instruction
from .balance import surpluses
from .census import Census, Tally
from .change import Change, Kind, shown
from .lines import Lines
from .place import Place

# Compilers write and drop these freely: they say how a value is spelled, not what is done.
SPELLING = frozenset(("broadcast", "iota", "reshape", "bitcast-convert", "slice", "concatenate", "pad", "reverse"))
MOVES: dict[str, Kind] = {"copy": "copy", "copy-start": "copy", "transpose": "transpose", "convert": "convert"}
# What an operation costs is in these; all else is arithmetic that rides along in some kernel.
HEAVY = frozenset((*OPCODES, "custom-call", "sort", "scatter", "gather", "fft", "reduce-window", "cholesky"))
# Of these a recomputation is made that is worth naming; a library call may be anything.
COMPUTES = HEAVY - {"custom-call"}
# These only hand on what others make in a type.
HANDED_ON = frozenset(("dynamic-slice", "dynamic-update-slice", "gather", "select", "while", "parameter"))
# Types that nothing is computed in.
_NO_NUMBERS = frozenset(("pred", "token", "opaque"))
_ARITHMETIC = ELEMENTWISE | TRANSCENDENTAL | {"reduce"}
_NAMED_OPCODES = 4


@dataclass(frozen=True, slots=True)
class Row:
    """`count` more (B) or fewer (negative, A) executions of one meaning at one place, as A names it."""

    key: int
    place: Place
    count: int
    sample: Instruction

    @property
    def bytes(self) -> int:
        return abs(self.count) * self.sample.shape.bytes

    @property
    def opcode(self) -> str:
        return self.sample.opcode


def rows(a: Census, b: Census, lines: Lines) -> list[Row]:
    """Everything whose number of executions differs."""
    mine = {key: {place: tally.count for place, tally in found.items()} for key, found in a.operations.items()}
    theirs: dict[int, dict[Place, int]] = {}
    samples: dict[int, Instruction] = {}
    for key, found in b.operations.items():
        counts = theirs[key] = {}
        for place, tally in found.items():
            where = lines.in_a(place)
            counts[where] = counts.get(where, 0) + tally.count
        samples[key] = next(iter(found.values())).sample
    for key, found in a.operations.items():
        samples.setdefault(key, next(iter(found.values())).sample)
    return [Row(each.key, each.where, each.count, samples[each.key]) for each in surpluses(mine, theirs)]


def changes(found: list[Row], lines: Lines) -> Iterator[Change]:
    """The rows as changes: types first, then moves, then the rest by line."""
    retyped, rest = _retyped([row for row in found if row.opcode not in SPELLING], _at_line)
    elsewhere, rest = _retyped(rest, _in_scope)
    retyped += elsewhere
    yield from _types(retyped, lines)
    moved = [row for row in rest if row.opcode in MOVES]
    yield from _moves(moved, lines)
    yield from _others([row for row in rest if row.opcode not in MOVES], lines)


def _retyped(found: Iterable[Row], alike: Callable[[Row], Hashable]) -> tuple[list[tuple[Row, Row, int]], list[Row]]:
    """Pairs (before, after, executions) of rows that are alike but for their type; and what is left."""
    gone: dict[Hashable, list[Row]] = {}
    come: list[Row] = []
    left: list[Row] = []
    for row in found:
        if row.opcode in MOVES or row.opcode == "custom-call":
            left.append(row)
        elif row.count < 0:
            gone.setdefault(alike(row), []).append(row)
        else:
            come.append(row)
    remaining = {id(row): abs(row.count) for rows in (*gone.values(), come) for row in rows}
    pairs: list[tuple[Row, Row, int]] = []
    for row in come:
        for other in gone.get(alike(row), ()):
            count = min(remaining[id(row)], remaining[id(other)])
            if count and _is_retyped(other.sample, row.sample):
                remaining[id(row)] -= count
                remaining[id(other)] -= count
                pairs.append((other, row, count))
    for rows in (*gone.values(), come):
        for row in rows:
            if remaining[id(row)]:
                sign = 1 if row.count > 0 else -1
                left.append(Row(row.key, row.place, sign * remaining[id(row)], row.sample))
    return pairs, left


def _is_retyped(before: Instruction, after: Instruction) -> bool:
    """Whether the same work is done in another type. A mask instead of numbers is other work, and what only hands on
    values of another sort (a mask or positions, saved instead of activations) hands on other values."""
    old, new = computed_in(before), computed_in(after)
    sorts = _sorts(old), _sorts(new)
    if old == new or sorts[0] == sorts[1]:
        return old != new
    return after.opcode not in HANDED_ON and ("pred" in sorts[0]) == ("pred" in sorts[1])


def _sorts(types: str) -> frozenset[str]:
    """Whole numbers, masks or others, of types joined by `+`."""
    return frozenset(
        name if name in _NO_NUMBERS else "integer" if name.startswith(("s", "u")) else "real"
        for name in types.split("+")
    )


def _at_line(row: Row) -> Hashable:
    return row.opcode, row.place.source or row.place.scope, row.place.phase, row.sample.shape.dims


def _in_scope(row: Row) -> Hashable:
    """A cast may move what it casts to a line of its own; without a name around it nothing else tells it."""
    scope = row.place.scope or row.place.source
    return row.opcode, scope, row.place.phase, row.sample.shape.dims


def computed_in(instruction: Instruction) -> str:
    """The type an operation works in: of a product its operands', else its result's."""
    if instruction.opcode in OPCODES and instruction.operands:
        types = dict.fromkeys(operand.shape.dtype for operand in instruction.operands[:2])
        return "+".join((*types, *(() if instruction.shape.dtype in types else (instruction.shape.dtype,))))
    if instruction.shape.is_tuple:
        return "+".join(dict.fromkeys(leaf.dtype for _, leaf in instruction.shape.leaves()))
    return instruction.shape.dtype


def _types(pairs: list[tuple[Row, Row, int]], lines: Lines) -> Iterator[Change]:
    groups: dict[tuple[str | None, str, str], list[tuple[Row, Row, int]]] = {}
    for before, after, count in pairs:
        key = (after.place.source, computed_in(before.sample), computed_in(after.sample))
        groups.setdefault(key, []).append((before, after, count))
    for (source, old, new), found in groups.items():
        number = sum(count for _, _, count in found)
        scope = next((after.place.scope for _, after, _ in found if after.place.scope), "")
        forward = all(after.place.phase == "" for _, after, _ in found)
        opcodes = Counter[str]()
        for _, after, count in found:
            opcodes[after.opcode] += count
        verb = "works" if number == 1 else "work"
        made = [item for item in found if item[1].opcode not in HANDED_ON]
        theirs = lines.in_b(source)
        yield Change(
            kind="dtype",
            what=f"{_number(number, 'operation')} {verb} in {new}, not {old}{shown(theirs, scope)}",
            before=old,
            after=new,
            unit="dtype",
            source_a=source,
            source_b=theirs,
            scope=scope,
            phase="" if forward else found[0][1].place.phase,
            weight=sum(count * max(a.sample.shape.bytes, b.sample.shape.bytes) for a, b, count in made),
            root=bool(made),
            details=[_opcodes(opcodes)],
        )


def _moves(found: Iterable[Row], lines: Lines) -> Iterator[Change]:
    groups: dict[tuple[Kind, str | None, bool], list[Row]] = {}
    for row in found:
        groups.setdefault((MOVES[row.opcode], row.place.source, row.count > 0), []).append(row)
    for (kind, source, new), rows in groups.items():
        number = sum(abs(row.count) for row in rows)
        size = sum(row.bytes for row in rows)
        scope = next((row.place.scope for row in rows if row.place.scope), "")
        theirs = lines.in_b(source)
        noun = {"copy": "copy", "transpose": "transpose", "convert": "conversion"}[kind]
        yield Change(
            kind=kind,
            what=f"{_number(number, noun)} {'more' if new else 'fewer'}{shown(theirs if new else source, scope)}",
            before=0 if new else size,
            after=size if new else 0,
            unit="bytes",
            source_a=source,
            source_b=theirs,
            scope=scope,
            phase=rows[0].place.phase,
            weight=size,
            details=[_shape(row) for row in sorted(rows, key=lambda row: -row.bytes)[:_NAMED_OPCODES]],
        )


def _others(found: Iterable[Row], lines: Lines) -> Iterator[Change]:
    groups: dict[tuple[str | None, str], list[Row]] = {}
    for row in found:
        groups.setdefault((row.place.source, row.place.phase), []).append(row)
    for (source, phase), rows in groups.items():
        gone, come = Counter[str](), Counter[str]()
        for row in rows:
            (come if row.count > 0 else gone)[row.opcode] += abs(row.count)
        scope = next((row.place.scope for row in rows if row.place.scope), "")
        theirs = lines.in_b(source)
        words = [f"{_number(come.total(), 'operation')} more"] if come else []
        words += [f"{_number(gone.total(), 'operation')} fewer"] if gone else []
        heavy = sorted({*come, *gone} & HEAVY)
        computed = Counter[str]()
        for row in rows:
            if row.opcode in _ARITHMETIC:
                computed[row.opcode] += row.bytes
        words_for = heavy or [opcode for opcode, _ in computed.most_common(_NAMED_OPCODES)]
        named = f" ({', '.join(words_for)})" if words_for else ""
        yield Change(
            kind="operation",
            what=f"{', '.join(words)}{named}{shown(theirs if come else source, scope)}",
            before=gone.total(),
            after=come.total(),
            unit="operations",
            source_a=source,
            source_b=theirs,
            scope=scope,
            phase=phase,
            weight=sum(row.bytes for row in rows),
            root=bool(heavy),
            minor=not heavy,
            arithmetic=bool(computed),
            details=[
                f"{'+' if row.count > 0 else '-'}{abs(row.count):,} {row.opcode} {_shape(row)}"
                for row in sorted(rows, key=lambda row: (row.opcode not in HEAVY, -row.bytes))[:_NAMED_OPCODES]
            ],
        )


def _shape(row: Row) -> str:
    operands = row.sample.operands
    if row.opcode == "convert" and operands:
        return f"{operands[0].shape.dtype} to {row.sample.shape.text}"
    text = row.sample.shape.text
    return text if len(text) <= 80 else f"{text[:79]}…"


def _opcodes(found: Counter[str]) -> str:
    ranked = found.most_common()
    named = ", ".join(f"{count:,} {opcode}" for opcode, count in ranked[:_NAMED_OPCODES])
    more = len(ranked) - _NAMED_OPCODES
    return f"{named} and {more} more kinds" if more > 0 else named


def _number(count: int, noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count:,} {noun if count == 1 else plural}"


__all__ = ["COMPUTES", "HEAVY", "MOVES", "Row", "Tally", "changes", "computed_in", "rows"]
