"""Names across files: which module a dotted name means, through re-exports, and the members of classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .frozen import Frozen, Thaw
from .summary import ClassSummary, FileSummary, FunctionSummary
from .transforms import MODULE_BASES
from .values.value import UNKNOWN, Parameter, Value, dotted

DEEPEST = 24
LONGEST = 16
"""Parts of a name that is followed. What is not in a package may be in each module that it imports with a star; where
those cannot be seen (they are compiled), they may be in each other: each step makes the name longer, and there are ever
more of them."""
MOST_STEPS = 2_000
"""Names that are looked up for one."""


class Definitions(Mapping[str, tuple[dict[str, Any], FileSummary]]):
    """The functions or classes of all files by their ids, which begin with their module. Looked up, not copied."""

    def __init__(self, files: Mapping[str, FileSummary], kind: str) -> None:
        self._files, self._kind = files, kind

    def file(self, id: str) -> FileSummary | None:
        """The file that defines it; None where none does."""
        module, colon, _ = id.partition(":")
        found = self._files.get(module) if colon else None
        return found if found is not None and id in found.data[self._kind] else None

    def __getitem__(self, id: str) -> tuple[dict[str, Any], FileSummary]:
        found = self.file(id)
        if found is None:
            raise KeyError(id)
        return found.data[self._kind][id], found

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self.file(id) is not None

    def __iter__(self) -> Iterator[str]:
        for file in self._files.values():
            yield from file.data[self._kind]

    def __len__(self) -> int:
        return sum(len(file.data[self._kind]) for file in self._files.values())


class Names:
    """The summaries of all files, and what their names mean."""

    def __init__(self, summaries: Iterable[FileSummary]) -> None:
        super().__init__()
        self.files: dict[str, FileSummary] = {}
        self.function_data = Definitions(self.files, "functions")
        self.class_data = Definitions(self.files, "classes")
        self._functions: dict[str, FunctionSummary] = {}
        self._classes: dict[str, ClassSummary] = {}
        self._resolved: dict[str, Value | None] = {}
        self._steps = 0
        self._lineages: dict[str, tuple[str, ...]] = {}
        self._members: dict[tuple[str, str, bool], Value | None] = {}
        self._parameters: dict[tuple[str, int], Value] = {}
        self._suffixes: dict[str, str | None] | None = None
        self._tails: set[str] = set()
        for summary in summaries:
            self.files.setdefault(summary.module, summary)
            self._tails.update(summary.module.split("."))

    def forget(self) -> None:
        """Drops what was remembered in values: it may rest on what is known of functions by now."""
        self._members.clear()
        self._parameters.clear()

    def forget_names(self) -> None:
        """Drops what names lead to as well. What is asked next gets the answer that a new program would give: where
        names lead in a circle, an answer may depend on which of them was asked for first."""
        self._resolved.clear()
        self._lineages.clear()
        self._classes.clear()
        for function in self._functions.values():
            function.forget()
        self._functions.clear()

    # Functions and classes by id

    def function(self, id: str) -> FunctionSummary | None:
        found = self._functions.get(id)
        if found is None:
            file = self.function_data.file(id)
            if file is not None:
                found = self._functions[id] = FunctionSummary(id, file, self.thaw)
        return found

    def class_(self, id: str) -> ClassSummary | None:
        found = self._classes.get(id)
        if found is None:
            file = self.class_data.file(id)
            if file is not None:
                found = self._classes[id] = ClassSummary(id, file)
        return found

    def thaw(
        self,
        frozen: Frozen,
        function: Any = None,
        bind: Mapping[tuple[str, int], Value] | None = None,
        generation: int = 0,
        home: str = "",
    ) -> Value:
        """A frozen value; calls in it stand in `function`, parameters without an owner are of `home` or `function`."""
        if not frozen:
            return UNKNOWN
        return Thaw(
            function,
            bind or {},
            self.parameter_value,
            generation,
            home or (function.id if function is not None else ""),
        ).value(frozen)

    def parameter_value(self, function: str, index: int) -> Value:
        """The parameter of a function as a Value."""
        key = (function, index)
        value = self._parameters.get(key)
        if value is None:
            found = self.function(function)
            parameters = found.parameters if found else []
            value = Value("param", None, (), parameters[index]) if index < len(parameters) else UNKNOWN
            self._parameters[key] = value
        return value

    def parameter(self, function: str, index: int) -> Parameter | None:
        value = self.parameter_value(function, index)
        return value.data if value.op == "param" else None

    # Dotted names

    def resolve(self, name: str, depth: int = 0) -> Value | None:
        """What a dotted name is in this project: a function or class (`ref`), a value, or None where it is not ours."""
        if name in self._resolved:
            return self._resolved[name]
        self._resolved[name] = None
        self._steps = self._steps + 1 if depth else 0
        if depth < DEEPEST and self._steps < MOST_STEPS and name.count(".") < LONGEST:
            self._resolved[name] = self._resolve(name, depth)
        return self._resolved[name]

    def _resolve(self, name: str, depth: int) -> Value | None:
        parts = name.split(".")
        for at in range(len(parts) - 1, 0, -1):
            module = self.module(".".join(parts[:at]))
            if module is None:
                continue
            found = self._member(module, parts[at], depth)
            if found is None:
                return None
            for attribute in parts[at + 1 :]:
                found = self.attribute_of(found, attribute, depth)
                if found is None:
                    return None
            return found
        return None

    def _member(self, module: FileSummary, name: str, depth: int) -> Value | None:
        frozen = module.data["exports"].get(name)
        if frozen:
            return self._followed(self.thaw(frozen, self.function(f"{module.module}:")), depth)
        for star in module.data["stars"]:
            found = self.resolve(f"{star}.{name}", depth + 1)
            if found is not None:
                return found
        return None

    def _followed(self, value: Value, depth: int) -> Value:
        """A value, or, for the name of something, that thing."""
        name = dotted(value)
        if name is None:
            if value.op == "phi":
                return Value("phi", None, tuple([self._followed(each, depth + 1) for each in value.args]))
            return value
        return self.resolve(name, depth + 1) or Value("name", None, (), name)

    def attribute_of(self, value: Value, attribute: str, depth: int = 0) -> Value | None:
        """A member of a class or of a module that is a value."""
        if value.op == "name":
            name = f"{value.data}.{attribute}"
            return self.resolve(name, depth + 1) or Value("name", None, (), name)
        if value.op == "ref" and value.data in self.class_data:
            return self.member(value.data, attribute)
        return Value("attr", None, (value,), attribute)

    def module(self, name: str) -> FileSummary | None:
        """The file that is imported under this name: by its own name, else by the only path that ends so."""
        found = self.files.get(name)
        if found is not None or name.rpartition(".")[2] not in self._tails:
            return found
        if self._suffixes is None:
            self._suffixes = {}
            for module in self.files:
                tail = module
                while "." in tail:
                    tail = tail.partition(".")[2]
                    self._suffixes[tail] = None if tail in self._suffixes else module
        suffix = self._suffixes.get(name)
        return self.files[suffix] if suffix else None

    # Classes

    def bases(self, id: str) -> Iterator[Value]:
        """The bases of a class as `ref` or `name` values."""
        found = self.class_(id)
        if found is None:
            return
        for base in found.data["b"]:
            value = self.thaw(base)
            while value.op == "item":  # Generic[T]
                value = value.args[0]
            name = dotted(value)
            if name is not None:
                value = self.resolve(name) or Value("name", None, (), name)
            yield value

    def lineage(self, id: str) -> tuple[str, ...]:
        """A class and its bases, depth first: ids of the project's, dotted names of others."""
        found = self._lineages.get(id)
        if found is None:
            found = self._lineages[id] = tuple(self._lineage(id))
        return found

    def _lineage(self, id: str) -> Iterator[str]:
        seen: set[str] = set()
        stack = [id]
        while stack and len(seen) < 64:
            name = stack.pop()
            if name in seen:
                continue
            seen.add(name)
            yield name
            if name in self.class_data:
                stack.extend(each.data for each in reversed(list(self.bases(name))) if each.op in ("ref", "name"))

    def member(self, id: str, name: str) -> Value | None:
        """An attribute of a class by its name, bases included: a decorated method is the call of its decorator."""
        key = (id, name, False)
        if key not in self._members:
            self._members[key] = self._class_member(id, name)
        return self._members[key]

    def _class_member(self, id: str, name: str) -> Value | None:
        for each in self.lineage(id):
            found = self.class_(each)
            if found is None:
                continue
            frozen = found.data["a"].get(name)
            if frozen:
                return self._followed(self.thaw(frozen, self.function(f"{found.file.module}:")), 0)
            if name in found.data["m"]:
                return Value("ref", None, (), found.data["m"][name])
        return None

    def instance_member(self, id: str, name: str) -> Value | None:
        """What `self.name` is: the one value that a method stores there, else a member of the class."""
        key = (id, name, True)
        if key not in self._members:
            self._members[key] = self._own_member(id, name)
        return self._members[key]

    def _own_member(self, id: str, name: str) -> Value | None:
        for each in self.lineage(id):
            found = self.class_(each)
            if found is None:
                continue
            stored = [value for value in found.data["s"].get(name, ()) if value != ["c", None]]
            if len(stored) == 1 and stored[0]:
                return self.thaw(stored[0], self.function(f"{found.file.module}:"))
            if stored:
                return None
        return self.member(id, name)

    def declared_type(self, id: str, name: str) -> Value | None:
        """The annotation of an attribute in a class body."""
        for each in self.lineage(id):
            found = self.class_(each)
            if found is not None and found.data["t"].get(name):
                value = self.thaw(found.data["t"][name])
                named = dotted(value)
                return (self.resolve(named) or value) if named else value
        return None

    def module_kind(self, id: str) -> str | None:
        """The dotted name of the neural network Module that a class derives from."""
        return next((each for each in self.lineage(id) if each in MODULE_BASES), None)
