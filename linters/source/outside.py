"""What a file's findings depend on beyond its own text: whether its functions are traced, and all that it imports.

Findings are kept between runs by the name that this gives it all. A question that rules ask about those who use a file
(its callers, its importers) has its answer in `_told`; what is asked about a file that this one imports is in that
file's summary, and needs nothing here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import blake2b

from .axes import all_axes
from .program import Program
from .summary import FileSummary
from .traced import Traced


class Outside:
    """Names that change when something changes that a file's findings may depend on, for every file of a program.

    What other files say counts without their lines (`FileSummary.outward`), so most edits are no news to others.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._by_path = {each.path: each for each in program.files.values()}
        self._bound: dict[str, list[int]] = {}
        for id, index in program.bindings:
            self._bound.setdefault(id, []).append(index)
        binds = any("axes" in each.data for each in program.files.values())
        self._axes = all_axes(program) or ("?" if binds else "")
        self._own = {module: f"{each.outward} {self._known(each)}" for module, each in program.files.items()}
        self._imported = {module: self._imports(each) for module, each in program.files.items()}
        self._below = self._reached()

    def _known(self, summary: FileSummary) -> str:
        """What the program knows of a file's functions, and who uses them asks."""
        program = self._program
        facts: list[str] = []
        for id in summary.data["functions"]:
            traced = program.traced_functions.get(id)
            if traced is not None:
                facts.append(f"{id} {_how(traced)}")
            starts = program.starting.get(id)
            if starts is not None:
                facts.append(f"{id} starts {starts}")
        return blake2b("\n".join(facts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest() if facts else ""

    def of(self, path: str) -> str:
        """The name of all that the findings of one file depend on beyond its text."""
        summary = self._by_path.get(path)
        if summary is None:
            return ""
        imported = sorted({self._below[module] for module in self._imported[summary.module]})
        facts = (path, summary.module, *sorted(self._told(summary)), *imported)
        return blake2b(json.dumps(facts).encode(), digest_size=12).hexdigest()

    def _told(self, summary: FileSummary) -> Iterator[str]:
        """What the whole program says of the functions of a file."""
        program = self._program
        if program.x64:
            yield "x64"
        yield f"axes {sorted(self._axes)}"
        folder = summary.path.rpartition("/")[0]
        yield f"package {bool(folder) and f'{folder}/__init__.py' in self._by_path}"
        yield f"distributed {program.distributed_in(summary.module)}"
        yield f"importers {sorted(program.importers(summary.module))}"
        for id in summary.data["functions"]:
            traced = program.traced_functions.get(id)
            if traced is not None:
                yield f"{id} {traced.transform} {traced.direct} {traced.told} {_how(traced)}"
            callers = sorted({caller for caller, _, _ in program.callers.get(id, ())})
            if callers:
                yield f"{id} called {callers}"
            for index in self._bound.get(id, ()):
                for caller, at in program.bindings[id, index]:
                    data, file = program.function_data[caller]
                    yield f"{id} given {index} {json.dumps(data['c'][at][:3])} {self._below[file.module]}"
            place = program.repeated(id)
            if place is not None:
                yield f"{id} repeated {place}"

    def _imports(self, summary: FileSummary) -> list[str]:
        """The files of the program that a file imports, or imports from, in a fixed order."""
        found = {}
        for name in summary.data["imports"]:
            for each in (self._program.module(name), self._program.module(name.rpartition(".")[0])):
                if each is not None and each.module != summary.module:
                    found[each.module] = None
        return sorted(found)

    def _reached(self) -> dict[str, str]:
        """For each module a name of its summary and of all that it leads to.

        Modules that import each other in a circle lead to the same, so circles are found first (Tarjan's algorithm,
        without recursion) and share a name, which is made of their own digests and the names of what they lead to.
        """
        graph = self._imported
        names: dict[str, str] = {}
        index: dict[str, int] = {}
        low: dict[str, int] = {}
        stack: list[str] = []
        for start in graph:
            if start in index:
                continue
            trail = [(start, iter(graph[start]))]
            index[start] = low[start] = len(index)
            stack.append(start)
            while trail:
                module, following = trail[-1]
                for each in following:
                    if each not in index:
                        index[each] = low[each] = len(index)
                        stack.append(each)
                        trail.append((each, iter(graph[each])))
                        break
                    if each not in names:
                        low[module] = min(low[module], index[each])
                else:
                    trail.pop()
                    if trail:
                        parent = trail[-1][0]
                        low[parent] = min(low[parent], low[module])
                    if low[module] == index[module]:
                        circle = stack[stack.index(module) :]
                        del stack[len(stack) - len(circle) :]
                        led = {names[each] for member in circle for each in graph[member] if each in names}
                        parts = (*sorted(f"{each} {self._own[each]}" for each in circle), *sorted(led))
                        name = blake2b("\n".join(parts).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
                        names.update(dict.fromkeys(circle, name))
        return names


def _how(traced: Traced) -> str:
    """What a function is given while traced, and what is out of its reach."""
    given = f"{sorted(traced.parameters.items())} {sorted(traced.fixed.items())}"
    return f"{traced.stage} {traced.expected} {given}"
