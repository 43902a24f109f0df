"""What goes into a step and comes out of it: arguments, results, and which arguments are given up for results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ...contracts.model import format_bytes
from ..arguments import argument_path
from ..module import HloModule
from ..shape import Shape
from .change import Change
from .keys import Keys

_ALIAS = re.compile(r"\{([\d, ]*)\}\s*:\s*\((\d{1,9}),\s*\{([\d, ]*)\}")
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Argument:
    """One entry parameter: its name where the program says it, its shape on one device."""

    number: int
    name: str
    shape: Shape
    donated: bool


def arguments(module: HloModule) -> dict[str, Argument]:
    """The entry's parameters by name; by number where the program does not name them, or two alike."""
    donated = {int(match[2]) for match in _ALIAS.finditer(module.attributes.get("input_output_alias", ""))}
    made = []
    for parameter in module.entry.parameters:
        head, path = argument_path(parameter.op_name) if parameter.op_name else ("", "")
        number = parameter.parameter_number or 0
        name = f"{head}/{path}" if path else head
        made.append(Argument(number, name, parameter.shape, number in donated))
    counts = Counter(argument.name for argument in made)
    return {a.name if a.name and counts[a.name] == 1 else f"argument {a.number}": a for a in made}


def changes(a: HloModule, b: HloModule, keys: Keys) -> Iterator[Change]:
    """Arguments of other shapes, more or fewer of them, results, donation."""
    mine, theirs = arguments(a), arguments(b)
    yield from _donation(mine, theirs)
    altered = [n for n in mine if n in theirs and keys.shape(mine[n].shape) != keys.shape(theirs[n].shape)]
    if altered:
        yield _altered(altered, mine, theirs)
    for names, side, new in (
        ([n for n in theirs if n not in mine], theirs, True),
        ([n for n in mine if n not in theirs], mine, False),
    ):
        if names:
            size = sum(side[name].shape.bytes for name in names)
            yield Change(
                kind="argument",
                what=f"{len(names):,} argument{'s' * (len(names) != 1)} {'more' if new else 'fewer'}: {_list(names)}",
                before=0 if new else size,
                after=size if new else 0,
                unit="bytes",
                weight=size,
                details=[f"{name} {side[name].shape.text}" for name in names[:_NAMED]],
            )
    yield from _results(a, b, keys)


def _altered(names: list[str], mine: dict[str, Argument], theirs: dict[str, Argument]) -> Change:
    """All arguments of another shape as one change."""
    before = sum(mine[name].shape.bytes for name in names)
    after = sum(theirs[name].shape.bytes for name in names)
    types = {(mine[name].shape.dtype, theirs[name].shape.dtype) for name in names}
    retyped = all(mine[name].shape.dims == theirs[name].shape.dims for name in names)
    what = f"{len(names):,} argument{'s' * (len(names) != 1)} of another shape: {_list(names)}"
    if retyped and len(types) == 1:
        old, new = next(iter(types))
        what = f"{len(names):,} argument{'s are' if len(names) != 1 else ' is'} {new}, not {old}: {_list(names)}"
    ranked = sorted(names, key=lambda name: -theirs[name].shape.bytes)
    return Change(
        kind="argument",
        what=what,
        before=before,
        after=after,
        unit="bytes",
        weight=max(before, after),
        details=[f"{name}: {mine[name].shape.text}, now {theirs[name].shape.text}" for name in ranked[:_NAMED]],
    )


def _donation(mine: dict[str, Argument], theirs: dict[str, Argument]) -> Iterator[Change]:
    both = [name for name in mine if name in theirs and mine[name].donated != theirs[name].donated]
    for kept in (True, False):
        names = [name for name in both if mine[name].donated is kept]
        if not names:
            continue
        size = sum(theirs[name].shape.bytes for name in names)
        verb = "no longer reused for a result" if kept else "now reused for a result"
        is_are = "is" if len(names) == 1 else "are"
        yield Change(
            kind="donation",
            what=f"{_list(names)} {is_are} {verb} ({format_bytes(size)})",
            before=size if kept else 0,
            after=0 if kept else size,
            unit="bytes",
            weight=size,
            details=[f"{name} {theirs[name].shape.text}" for name in names[:_NAMED]],
        )


def _results(a: HloModule, b: HloModule, keys: Keys) -> Iterator[Change]:
    before = Counter(keys.shape(leaf) for _, leaf in a.entry.root.shape.leaves())
    after = Counter(keys.shape(leaf) for _, leaf in b.entry.root.shape.leaves())
    if before == after:
        return
    gone, come = before - after, after - before
    size = a.entry.root.shape.bytes, b.entry.root.shape.bytes
    details = [f"+{count} {shape}" for shape, count in come.most_common(_NAMED)]
    details += [f"-{count} {shape}" for shape, count in gone.most_common(_NAMED)]
    yield Change(
        kind="result",
        what=f"{come.total():,} results of another shape" if come else f"{gone.total():,} results fewer",
        before=size[0],
        after=size[1],
        unit="bytes",
        weight=max(size),
        root=False,
        details=details,
    )


def _list(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
