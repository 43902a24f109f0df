"""How often things repeat: rounds of loops, and blocks that are written out and numbered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..instruction import Instruction
from .census import Census
from .change import Change, shown
from .lines import Lines
from .place import Place

_NAMED = 6


def loops(a: Census, b: Census, lines: Lines) -> Iterator[Change]:
    """Loops whose rounds differ, by the line they stand at; loops that are only in one are no rounds that changed."""
    mine = {place: list(found) for place, found in a.loops.items()}
    theirs: dict[Place, list[tuple[int | None, Instruction]]] = {}
    for place, found in b.loops.items():
        theirs.setdefault(lines.in_a(place), []).extend(found)
    for place in dict.fromkeys((*mine, *theirs)):
        before, after = _apart(mine.get(place, []), theirs.get(place, []))
        for (old, _), (new, _) in zip(before, after, strict=False):
            if old is None or new is None:
                continue
            source = lines.in_b(place.source)
            yield Change(
                kind="loop",
                what=f"a loop runs {new:,} rounds, not {old:,}{shown(source, place.scope)}",
                before=old,
                after=new,
                unit="rounds",
                source_a=place.source,
                source_b=source,
                scope=place.scope,
                phase=place.phase,
                weight=abs(new - old),
            )
        for trips, new in [(t, False) for t, _ in before[len(after) :]] + [(t, True) for t, _ in after[len(before) :]]:
            source = lines.in_b(place.source) if new else place.source
            rounds = "an unknown number of rounds" if trips is None else f"{trips:,} rounds"
            yield Change(
                kind="operation",
                what=f"a loop of {rounds} {'more' if new else 'fewer'}{shown(source, place.scope)}",
                before=0 if new else 1,
                after=1 if new else 0,
                unit="loops",
                source_a=place.source,
                source_b=lines.in_b(place.source),
                scope=place.scope,
                phase=place.phase,
                weight=0,
                root=False,
            )


def _apart(
    before: list[tuple[int | None, Instruction]], after: list[tuple[int | None, Instruction]]
) -> tuple[list[tuple[int | None, Instruction]], list[tuple[int | None, Instruction]]]:
    """Both sides without what they have in common, by rounds."""
    mine, theirs = Counter(trips for trips, _ in before), Counter(trips for trips, _ in after)
    return _left(before, mine - theirs), _left(after, theirs - mine)


def _left(found: list[tuple[int | None, Instruction]], counts: Counter) -> list[tuple[int | None, Instruction]]:
    kept = []
    for trips, instruction in sorted(found, key=lambda item: (item[0] is None, item[0] or 0)):
        if counts[trips] > 0:
            counts[trips] -= 1
            kept.append((trips, instruction))
    return kept


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
