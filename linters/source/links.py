"""What a linked program knows of each file, as bytes: so much of it that the file can be judged again without the rest.

`t` holds the functions that are traced, `b` what is given to their parameters, `c` who calls them, `i` who imports the
file. Names of other files, what they say and how they are linked is looked up when it is asked for.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from .traced import Traced, Why

if TYPE_CHECKING:
    from .program import Program

Known = TypeVar("Known")


def links_of(program: Program) -> dict[str, bytes]:
    """What the program knows of the file of each module."""
    found: dict[str, dict[str, Any]] = {module: {} for module in program.files}

    def part(id: str, kind: str) -> dict[str, Any]:
        return found[id.partition(":")[0]].setdefault(kind, {})

    for id, traced in program.traced_functions.items():
        chain = [[each.path, each.line, each.text] for each in traced.chain]
        how = [traced.transform, chain, traced.stage, traced.direct, traced.parameters, traced.fixed]
        part(id, "t")[id] = [*how, traced.expected]
    for (id, index), given in program.bindings.items():
        part(id, "b").setdefault(id, {})[str(index)] = given
    for id, callers in program.callers.items():
        part(id, "c")[id] = callers
    for module in program.files:
        importers = program.importers(module)
        if importers:
            found[module]["i"] = importers
    return {module: zlib.compress(json.dumps(each).encode(), 1) for module, each in found.items() if each}


class Links:
    """The links of all files, each read when it is asked for."""

    def __init__(self, read: Callable[[str], bytes]) -> None:
        self._read = read
        self._open: dict[str, dict[str, Any]] = {}

    def of(self, module: str) -> dict[str, Any]:
        found = self._open.get(module)
        if found is None:
            packed = self._read(module)
            found = self._open[module] = json.loads(zlib.decompress(packed)) if packed else {}
        return found

    def function(self, id: str, kind: str) -> Any:
        """What is known of a function; None for nothing."""
        return self.of(id.partition(":")[0]).get(kind, {}).get(id)


class Lazily(Mapping[Any, Known]):
    """A table of the program, of which each row is read when it is asked for. It does not know all its keys."""

    def __init__(self, row: Callable[[Any], Known | None]) -> None:
        self._row = row
        self._known: dict[Any, Known | None] = {}

    def __getitem__(self, key: Any) -> Known:
        if key not in self._known:
            self._known[key] = self._row(key)
        found = self._known[key]
        if found is None:
            raise KeyError(key)
        return found

    def __contains__(self, key: object) -> bool:
        return self.get(key) is not None

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError("read row by row")

    def __len__(self) -> int:
        raise NotImplementedError("read row by row")


def linked(program: Program, links: Links) -> None:
    """Gives an empty program what is known of it."""

    def traced(id: str) -> Traced | None:
        row = links.function(id, "t")
        if row is None:
            return None
        transform, chain, stage, direct, parameters, fixed, expected = row
        steps = tuple(Why(*each) for each in chain)
        return Traced(transform, steps, stage, direct, parameters, fixed, tuple(expected))

    def given(key: tuple[str, int]) -> list[tuple[str, int]] | None:
        rows = (links.function(key[0], "b") or {}).get(str(key[1]))
        return [(caller, at) for caller, at in rows] if rows else None

    def callers(id: str) -> list[tuple[str, int, bool]] | None:
        rows = links.function(id, "c")
        return [(caller, line, looped) for caller, line, looped in rows] if rows else None

    program.traced_functions = Lazily(traced)
    program.bindings = Lazily(given)
    program.callers = Lazily(callers)
    program.importing = Lazily(lambda module: links.of(module).get("i"))
