"""What runs together: fusions split, merged or cut another way, and layouts that kernels write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .balance import surpluses
from .census import Census, Kernel
from .change import Change, shown
from .lines import Lines
from .place import Place

# An operation that stands in more kernels than this (a plain addition) does not say which belong together.
_TOO_COMMON = 8
_NAMED = 5


@dataclass(slots=True)
class _Group:
    """Kernels of both sides that do parts of the same work."""

    a: list[Kernel] = field(default_factory=list)
    b: list[Kernel] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        if len(self.a) == 1 and len(self.b) > 1:
            return "split"
        if len(self.b) == 1 and len(self.a) > 1:
            return "merged"
        return "cut another way" if self.a and self.b else "new" if self.b else "gone"


def fusions(a: Census, b: Census, lines: Lines) -> Iterator[Change]:
    """One change for each line: how its kernels were cut, with their number before and after."""
    left_a, left_b = _apart(a, b, lines)
    groups = [group for group in _groups(left_a, left_b, lines) if group.a and group.b]
    by_line: dict[str | None, list[_Group]] = {}
    for group in groups:
        places = [kernel.place for kernel in group.a] + [lines.in_a(kernel.place) for kernel in group.b]
        source = next((place.source for place in places if place.source), None)
        by_line.setdefault(source, []).append(group)
    for source, found in by_line.items():
        counts = Counter(group.verdict for group in found)
        before = sum(kernel.count for group in found for kernel in group.a)
        after = sum(kernel.count for group in found for kernel in group.b)
        said = ", ".join(f"{count:,} {verdict}" for verdict, count in counts.most_common())
        size = sum(k.count * k.instruction.shape.bytes for group in found for k in (*group.a, *group.b))
        theirs = lines.in_b(source)
        yield Change(
            kind="fusion",
            what=f"kernels {said}: {before:,} runs, now {after:,}{shown(theirs, '')}",
            before=before,
            after=after,
            unit="kernel runs",
            source_a=source,
            source_b=theirs,
            weight=size,
            root=False,
            details=[_described(group) for group in found[:_NAMED]],
        )


def _described(group: _Group) -> str:
    def names(kernels: Iterable[Kernel]) -> str:
        listed = [kernel.instruction.name for kernel in kernels]
        more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
        return ", ".join(listed[:_NAMED]) + more

    return f"{names(group.a)} -> {names(group.b)}"


def _apart(a: Census, b: Census, lines: Lines) -> tuple[list[Kernel], list[Kernel]]:
    """The kernels of which one side runs more, as many as it runs more."""
    mine, theirs = _counted(a, None), _counted(b, lines)
    wanted: dict[tuple[bool, int, Place], int] = {}
    for each in surpluses(mine, theirs):
        wanted[each.count > 0, each.key, each.where] = abs(each.count)
    return _taken(a, None, False, wanted), _taken(b, lines, True, wanted)


def _taken(made: Census, lines: Lines | None, new: bool, wanted: dict[tuple[bool, int, Place], int]) -> list[Kernel]:
    found = []
    for kernel in made.kernels:
        key = (new, kernel.key, lines.in_a(kernel.place) if lines else kernel.place)
        if kernel.count and wanted.get(key, 0) > 0 and kernel.content:
            wanted[key] -= kernel.count
            found.append(kernel)
    return found


def _counted(made: Census, lines: Lines | None) -> dict[int, dict[Place, int]]:
    counts: dict[int, dict[Place, int]] = {}
    for kernel in made.kernels:
        place = lines.in_a(kernel.place) if lines else kernel.place
        at = counts.setdefault(kernel.key, {})
        at[place] = at.get(place, 0) + kernel.count
    return counts


def _groups(a: list[Kernel], b: list[Kernel], lines: Lines) -> list[_Group]:
    """Kernels joined by the operations they share at one place."""
    holders: dict[tuple[int, Place], tuple[list[int], list[int]]] = {}
    for side, kernels in enumerate((a, b)):
        for number, kernel in enumerate(kernels):
            for key, place in dict.fromkeys(kernel.content):
                where = lines.in_a(place) if side else place
                holders.setdefault((key, where), ([], []))[side].append(number)
    parent = list(range(len(a) + len(b)))

    def top(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    for mine, theirs in holders.values():
        if mine and theirs and len(mine) + len(theirs) <= _TOO_COMMON:
            first = top(mine[0])
            for other in (*mine[1:], *(len(a) + number for number in theirs)):
                parent[top(other)] = first
    groups: dict[int, _Group] = {}
    for number, kernel in enumerate((*a, *b)):
        group = groups.setdefault(top(number), _Group())
        (group.a if number < len(a) else group.b).append(kernel)
    return list(groups.values())


def layouts(a: Census, b: Census, lines: Lines) -> Iterator[Change]:
    """Arrays of one shape that are written at one line in another order of dimensions."""
    theirs: dict[tuple[str, Place], dict[str, int]] = {}
    for (shape, place), found in b.layouts.items():
        at = theirs.setdefault((shape, lines.in_a(place)), {})
        for layout, count in found.items():
            at[layout] = at.get(layout, 0) + count
    by_line: dict[str | None, list[tuple[str, str, str, int]]] = {}
    for key, before in a.layouts.items():
        after = theirs.get(key)
        if after is None or before == after or sum(before.values()) != sum(after.values()):
            continue
        gone, come = Counter(before) - Counter(after), Counter(after) - Counter(before)
        old, new = next(iter(gone), ""), next(iter(come), "")
        by_line.setdefault(key[1].source, []).append((key[0], old, new, come.total()))
    for source, found in by_line.items():
        number = sum(count for *_, count in found)
        size = sum(count * a.sizes.get(shape, 0) for shape, _, _, count in found)
        where = lines.in_b(source)
        yield Change(
            kind="layout",
            what=f"{number:,} array{'s' * (number != 1)} in another layout{shown(where, '')}",
            before=found[0][1],
            after=found[0][2],
            unit="layout",
            source_a=source,
            source_b=where,
            weight=size,
            root=False,
            details=[f"{shape}: {old or 'none'}, now {new or 'none'}" for shape, old, new, _ in found[:_NAMED]],
        )
