"""Talk to the host: callbacks, infeeds, outfeeds, arrays kept in host memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .balance import surpluses
from .census import Census, Tally
from .change import Change, shown
from .lines import Lines
from .place import Place

_NOUN = {"callback": "host callback", "offload": "copy to host memory", "fetch": "copy from host memory"}
_NOUNS = {"copy to host memory": "copies to host memory", "copy from host memory": "copies from host memory"}


def changes(a: Census, b: Census, lines: Lines) -> Iterator[Change]:
    """Host calls and transfers of which one program makes more in a step."""
    mine, size_a = _counted(a.host, None)
    theirs, size_b = _counted(b.host, lines)
    for each in surpluses(mine, theirs):
        count, new = abs(each.count), each.count > 0
        noun = _NOUN.get(each.key, each.key)
        nouns = noun if count == 1 else _NOUNS.get(noun, f"{noun}s")
        size = (size_b if new else size_a).get((each.key, each.where), 0) * count
        theirs_at = lines.in_b(each.where.source)
        where = theirs_at if new else each.where.source
        yield Change(
            kind="host",
            what=f"{count:,} {nouns} {'more' if new else 'fewer'} a step{shown(where, each.where.scope)}",
            before=0 if new else count,
            after=count if new else 0,
            unit=f"{noun}s a step" if noun not in _NOUNS else f"{_NOUNS[noun]} a step",
            source_a=each.where.source,
            source_b=theirs_at,
            scope=each.where.scope,
            phase=each.where.phase,
            weight=max(size, 1),
        )


def _counted(
    found: Mapping[tuple[str, Place], Tally], lines: Lines | None
) -> tuple[dict[str, dict[Place, int]], dict[tuple[str, Place], int]]:
    """Executions by kind and place, and bytes of one execution."""
    counts: dict[str, dict[Place, int]] = {}
    sizes: dict[tuple[str, Place], int] = {}
    for (kind, place), tally in found.items():
        where = lines.in_a(place) if lines else place
        at = counts.setdefault(kind, {})
        at[where] = at.get(where, 0) + tally.count
        sizes[kind, where] = max(sizes.get((kind, where), 0), tally.bytes // max(tally.count, 1))
    return counts, sizes
