"""Collectives that one program runs and the other does not: by kind, axes, type, size and line."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field

from ...contracts.model import format_bytes
from ..collectives import Collective, CollectiveLedger
from ..mesh_axes import Axes
from ..replica_groups import Groups
from .balance import surpluses
from .change import Change, Kind, shown
from .lines import Lines
from .place import Place, folded_scope, phase_of

_NAMED = 4


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a collective does: kind, who takes part, type, elements. Axes are only names for the groups."""

    kind: str
    groups: Groups
    dtype: str
    elements: int
    axes: Axes = field(compare=False)
    group_size: int = field(compare=False)

    @property
    def over(self) -> str:
        """`over fsdp`, `over data,fsdp`, `in groups of 4`."""
        if isinstance(self.axes, tuple) and self.axes:
            return f"over {','.join(self.axes)}"
        return f"in groups of {self.group_size}"


@dataclass(slots=True)
class _Change:
    meaning: Meaning
    place: Place
    count: int
    ring: int


def changes(a: CollectiveLedger, b: CollectiveLedger, lines: Lines, kind: Kind = "collective") -> list[Change]:
    """What the collectives of B do that those of A do not, and the other way round, joined by line."""
    mine, ring_a = _counted(a.rows, None)
    theirs, ring_b = _counted(b.rows, lines)
    rings = {**ring_a, **ring_b}
    found = [
        _Change(each.key, each.where, each.count, rings[each.key] * abs(each.count)) for each in surpluses(mine, theirs)
    ]
    pairs, left = _paired(found)
    joined, left = _joined(left)
    return [
        *_altered(pairs, lines, kind),
        *(_recut(gone, come, lines, kind) for gone, come in joined),
        *_plain(left, lines, kind),
    ]


def _counted(
    rows: Iterable[Collective], lines: Lines | None
) -> tuple[dict[Meaning, dict[Place, int]], dict[Meaning, int]]:
    counts: dict[Meaning, dict[Place, int]] = {}
    ring: dict[Meaning, int] = {}
    ordered: dict[int, Groups] = {}
    for row in rows:
        if not row.count:
            continue
        groups = ordered.get(id(row.groups))
        if groups is None:
            groups = ordered[id(row.groups)] = tuple(sorted(row.groups))
        meaning = Meaning(row.kind, groups, row.dtype, row.elements // row.count, row.axes, row.group_size)
        place = place_of(row)
        if lines is not None:
            place = lines.in_a(place)
        at = counts.setdefault(meaning, {})
        at[place] = at.get(place, 0) + row.count
        ring[meaning] = row.ring_bytes // row.count
    return counts, ring


def place_of(row: Collective) -> Place:
    """Where a collective was asked for; its name stack is that of the async operation around it."""
    return Place(row.source, folded_scope(row.scope), phase_of(row.scope))


def _paired(found: list[_Change]) -> tuple[list[tuple[_Change, _Change]], list[_Change]]:
    """What became of what: fewer of one and as many more of another at one line; and what stands alone."""
    gone: dict[object, list[_Change]] = {}
    for each in found:
        if each.count < 0:
            gone.setdefault(each.place.source or each.place.scope, []).append(each)
    pairs: list[tuple[_Change, _Change]] = []
    taken: set[int] = set()
    for each in found:
        if each.count < 0:
            continue
        near = [
            other
            for other in gone.get(each.place.source or each.place.scope, ())
            if id(other) not in taken and -other.count == each.count
        ]
        if near:
            best = max(near, key=lambda other: _likeness(other.meaning, each.meaning))
            taken |= {id(best), id(each)}
            pairs.append((best, each))
    return pairs, [each for each in found if id(each) not in taken]


def _joined(found: list[_Change]) -> tuple[list[tuple[list[_Change], list[_Change]]], list[_Change]]:
    """Collectives of one kind over the same devices that are cut another way (before, after); and what is left.

    At one line that is what fewer and more of them are. Elsewhere only as many elements in all tell it: a compiler that
    joins the collectives of several lines puts them down to one of them, or to none.
    """
    joined: list[tuple[list[_Change], list[_Change]]] = []
    for at_a_line in (True, False):
        groups: dict[Hashable, list[_Change]] = {}
        for each in found:
            line = (each.place.source or each.place.scope) if at_a_line else each.meaning.dtype
            groups.setdefault((each.meaning.kind, each.meaning.groups, line), []).append(each)
        found = []
        for members in groups.values():
            gone = [each for each in members if each.count < 0]
            come = [each for each in members if each.count > 0]
            if gone and come and (at_a_line or _elements(gone) == _elements(come)):
                joined.append((gone, come))
            else:
                found += members
    return joined, found


def _elements(found: Iterable[_Change]) -> int:
    return sum(abs(each.count) * each.meaning.elements for each in found)


def _runs(found: Iterable[_Change]) -> int:
    return sum(abs(each.count) for each in found)


def _recut(gone: list[_Change], come: list[_Change], lines: Lines, kind: Kind) -> Change:
    """Some became others of the same kind over the same devices; a new one is among them only where they are more."""
    first = come[0]
    before, after = _runs(gone), _runs(come)
    theirs = lines.in_b(first.place.source)
    what = f"{after:,} {_plural(first.meaning, after)}, not {before:,}, {first.meaning.over}"
    if after == before:
        what = f"{after:,} {_plural(first.meaning, after)} of other sizes {first.meaning.over}"
    rings = sum(each.ring for each in gone), sum(each.ring for each in come)
    return Change(
        kind=kind,
        what=f"{what}{shown(theirs, first.place.scope)}",
        before=rings[0],
        after=rings[1],
        unit="ring bytes",
        source_a=gone[0].place.source,
        source_b=theirs,
        scope=first.place.scope,
        phase=first.place.phase,
        weight=abs(rings[1] - rings[0]),
        adds=after > before,
        details=[
            f"{_size(each)} {when}"
            for found, when in ((gone, "before"), (come, "after"))
            for each in sorted(found, key=lambda each: -each.ring)[:_NAMED]
        ],
    )


def _likeness(a: Meaning, b: Meaning) -> int:
    return 4 * (a.kind == b.kind) + 2 * (a.elements == b.elements) + (a.axes == b.axes) + (a.dtype == b.dtype)


def _altered(pairs: Iterable[tuple[_Change, _Change]], lines: Lines, kind: Kind) -> Iterator[Change]:
    for old, new in pairs:
        theirs = lines.in_b(new.place.source)
        what = f"{_named(new.meaning, new.count)}, not {_told_apart(old.meaning, new.meaning)}"
        yield Change(
            kind=kind,
            what=f"{what}{shown(theirs, new.place.scope)}",
            before=old.ring,
            after=new.ring,
            unit="ring bytes",
            source_a=old.place.source,
            source_b=theirs,
            scope=new.place.scope,
            phase=new.place.phase,
            weight=abs(new.ring - old.ring),
            adds=(old.meaning.kind, old.meaning.groups) != (new.meaning.kind, new.meaning.groups),
            details=[f"{_size(old)} before, {_size(new)} after"],
        )


def _plain(left: Iterable[_Change], lines: Lines, kind: Kind) -> Iterator[Change]:
    groups: dict[tuple[str, str, str | None, str, bool], list[_Change]] = {}
    for each in left:
        key = (each.meaning.kind, each.meaning.over, each.place.source, each.place.phase, each.count > 0)
        groups.setdefault(key, []).append(each)
    for (name, over, source, phase, new), found in groups.items():
        count = _runs(found)
        ring = sum(each.ring for each in found)
        scope = next((each.place.scope for each in found if each.place.scope), "")
        theirs = lines.in_b(source)
        where = shown(theirs if new else source, scope)
        yield Change(
            kind=kind,
            what=f"{count:,} {name}{'s' * (count != 1)} {'more' if new else 'fewer'} {over}{where}",
            before=0 if new else ring,
            after=ring if new else 0,
            unit="ring bytes",
            source_a=source,
            source_b=theirs,
            scope=scope,
            phase=phase,
            weight=ring,
            details=[_size(each) for each in sorted(found, key=lambda each: -each.ring)[:_NAMED]],
        )


def _named(meaning: Meaning, count: int) -> str:
    return f"{count:,} {_plural(meaning, count)} of {_array(meaning)} {meaning.over}"


def _plural(meaning: Meaning, count: int) -> str:
    return f"{meaning.kind}{'' if count == 1 else 's'}"


def _told_apart(old: Meaning, new: Meaning) -> str:
    """The old one in as many words as it needs beside the new one."""
    if old.kind != new.kind:
        return f"{old.kind} of {_array(old)} {old.over}"
    if old.over != new.over:
        return f"{_array(old)} {old.over}"
    return _array(old) if _array(old) != _array(new) else "in other groups"


def _array(meaning: Meaning) -> str:
    return f"{meaning.elements:,} {meaning.dtype}"


def _size(each: _Change) -> str:
    return f"{abs(each.count):,} x {_array(each.meaning)}, {format_bytes(each.ring)} sent by each device"
