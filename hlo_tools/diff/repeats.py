"""How often things repeat: rounds of loops, and blocks that are written out and numbered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from .census import Census
from .change import Change, shown
from .lines import Lines
from .place import Place

_NAMED = 6


def loops(a: Census, b: Census, lines: Lines) -> Iterator[Change]:
    """Loops whose rounds differ, by the line they stand at; loops that are only in one are no rounds that changed."""
    mine = a.loops
    theirs: dict[Place, list[int | None]] = {}
    for place, found in b.loops.items():
        theirs.setdefault(lines.in_a(place), []).extend(found)
    altered: dict[tuple[str | None, int, int], list[Place]] = {}
    for place in dict.fromkeys((*mine, *theirs)):
        before, after = _apart(mine.get(place, []), theirs.get(place, []))
        for old, new in zip(before, after, strict=False):
            if old is not None and new is not None:
                altered.setdefault((place.source, old, new), []).append(place)
        for trips in before[len(after) :]:
            yield _only(trips, place, lines, new=False)
        for trips in after[len(before) :]:
            yield _only(trips, place, lines, new=True)
    for (source, old, new), places in altered.items():
        theirs_at = lines.in_b(source)
        said = "a loop runs" if len(places) == 1 else f"{len(places)} loops run"
        yield Change(
            kind="loop",
            what=f"{said} {new:,} rounds, not {old:,}{shown(theirs_at, places[0].scope)}",
            before=old,
            after=new,
            unit="rounds",
            source_a=source,
            source_b=theirs_at,
            scope=places[0].scope,
            weight=abs(new - old),
        )


def _only(trips: int | None, place: Place, lines: Lines, new: bool) -> Change:
    """A loop that one program alone has."""
    theirs = lines.in_b(place.source)
    rounds = "an unknown number of rounds" if trips is None else f"{trips:,} rounds"
    return Change(
        kind="operation",
        what=f"a loop of {rounds} {'more' if new else 'fewer'}{shown(theirs if new else place.source, place.scope)}",
        before=0 if new else 1,
        after=1 if new else 0,
        unit="loops",
        source_a=place.source,
        source_b=theirs,
        scope=place.scope,
        phase=place.phase,
        weight=0,
        root=False,
        minor=True,
    )


def _apart(before: list[int | None], after: list[int | None]) -> tuple[list[int | None], list[int | None]]:
    """Both sides without what they have in common, smallest first, unknown ones last."""
    mine, theirs = Counter(before), Counter(after)
    return _in_order(mine - theirs), _in_order(theirs - mine)


def _in_order(counts: Counter[int | None]) -> list[int | None]:
    return sorted(counts.elements(), key=lambda trips: (trips is None, trips or 0))


def layers(a: Census, b: Census) -> Iterator[Change]:
    """Numbered blocks (`layer_0`, `layer_1`, ...) of which one program has more."""
    for name in dict.fromkeys((*a.places.blocks, *b.places.blocks)):
        mine, theirs = a.places.blocks.get(name, set()), b.places.blocks.get(name, set())
        if len(mine) == len(theirs) or not mine or not theirs:
            continue
        apart = sorted(mine ^ theirs)
        more = f" and {len(apart) - _NAMED} more" if len(apart) > _NAMED else ""
        yield Change(
            kind="layers",
            what=f"{len(theirs)} blocks {name}, not {len(mine)}",
            before=len(mine),
            after=len(theirs),
            unit="blocks",
            scope=name,
            weight=abs(len(theirs) - len(mine)),
            details=[f"{'new' if len(theirs) > len(mine) else 'gone'}: {', '.join(apart[:_NAMED])}{more}"],
        )


def remat(a: Census, b: Census, found: dict[str, tuple[int, int, str | None]]) -> Iterator[Change]:
    """Blocks that are recomputed for the backward pass in one program and not in the other.

    `found` has, by scope without numbers, the recomputed operations of A and B and a line of A.
    """
    gone, come = a.places.recomputed - b.places.recomputed, b.places.recomputed - a.places.recomputed
    for scope, (before, after, source) in found.items():
        if before == after:
            continue
        less = after < before
        named = sorted(name for name in (gone if less else come) if name)
        whose = f" of {', '.join(named[:_NAMED])}" if named else ""
        every = before == 0 or after == 0
        much = ("nothing is" if less else "activations are") if every else ("less is" if less else "more is")
        yield Change(
            kind="remat",
            what=f"{much} recomputed for the backward pass{whose}{shown(source, scope)}",
            before=before,
            after=after,
            unit="recomputed operations",
            source_a=source,
            source_b=source,
            scope=scope,
            phase="recompute",
            weight=abs(after - before),
        )
