"""A contract as rules on it read it: typed values where the text has them, None where the schema has complained.

Rules work on the merged text, not on the validated models, so that a fault in one key hides no fault in another.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, TypeGuard

from pydantic import BaseModel, ValidationError

from ...contracts.finding import Finding
from ...contracts.key import Key, format_key
from ...contracts.load import LoadedContract
from ...contracts.model.architecture import DenseModel, ListedModel
from ...contracts.pattern import PathPattern, path_pattern
from ...contracts.plan.parameters import Parameter, parameters_of
from ..rule import Rule

KeyedAxis = tuple[Key, str]


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value of a text is a number; true and false are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class Mesh:
    """A mesh and the targets that use it. A size is None where it is not a count."""

    key: Key
    sizes: dict[str, int | None]
    dcn: dict[str, int | None]
    targets: tuple[tuple[Key, str], ...]

    @property
    def label(self) -> str:
        """`mesh {data: 2, fsdp: 4}`."""
        return "mesh {" + ", ".join(f"{axis}: {size}" for axis, size in self.sizes.items()) + "}"

    def ways(self, axes: Iterable[str]) -> int | None:
        """Devices along some axes, each counted once; None where an axis or its size is not known."""
        sizes = [self.sizes.get(axis) for axis in dict.fromkeys(axes)]
        return None if None in sizes else prod(size for size in sizes if size is not None)


@dataclass(frozen=True, slots=True)
class PlacementRule:
    """An entry of `parameters.rules`. `pattern` or `axes` is None where it is not usable."""

    key: Key
    pattern: PathPattern | None
    axes: tuple[str | None, ...] | None


@dataclass(frozen=True, slots=True)
class Placed:
    """A parameter with its logical axes and the rule they come from (None: the conventions of the model)."""

    parameter: Parameter
    rule: PlacementRule | None
    logical: tuple[str | None, ...]


class View:
    """Typed access to the text of one contract."""

    def __init__(self, loaded: LoadedContract) -> None:
        self.loaded = loaded
        self.data = loaded.document.data

    @property
    def complete(self) -> bool:
        """False where a file could not be read or others complete this one: then what is absent proves nothing."""
        return self.loaded.document.complete

    def finding(self, rule: Rule, key: Key, message: str, **fields: Any) -> Finding:
        """A finding on a key, at its place in the file that gave the value."""
        evidence = (*fields.pop("evidence", ()), *self.loaded.document.bound_by(key))
        return rule.finding(
            message,
            subject=fields.pop("subject", format_key(key)),
            key=format_key(key),
            location=self.loaded.place(key),
            evidence=evidence,
            **fields,
        )

    def get(self, *key: str | int) -> Any:
        """The value at a key as it stands, None where there is none."""
        node = self.loaded.document.node(key)
        value: Any = self.data if node is not None else None
        for part in key if node is not None else ():
            value = value[part]
        return value

    def integer(self, *key: str | int) -> int | None:
        """A count of at least one."""
        value = self.get(*key)
        return value if isinstance(value, int) and not isinstance(value, bool) and value >= 1 else None

    def text(self, *key: str | int) -> str | None:
        value = self.get(*key)
        return value if isinstance(value, str) else None

    def mapping(self, *key: str | int) -> dict[str, Any]:
        value = self.get(*key)
        return value if isinstance(value, dict) else {}

    def items(self, *key: str | int) -> list[tuple[Key, Any]]:
        """The entries of a list with their keys."""
        value = self.get(*key)
        return [((*key, index), item) for index, item in enumerate(value)] if isinstance(value, list) else []

    def axes(self, *key: str | int) -> list[KeyedAxis]:
        """One axis, several or none, each with the key it stands at."""
        value = self.get(*key)
        if isinstance(value, str):
            return [(key, value)]
        return [(place, axis) for place, axis in self.items(*key) if isinstance(axis, str)]

    @cached_property
    def targets(self) -> list[tuple[Key, str]]:
        """Every target's name with the key it stands at."""
        found: list[tuple[Key, str]] = []
        for key, entry in self.items("targets"):
            if isinstance(entry, str):
                found.append((key, entry))
            elif isinstance(entry, dict) and isinstance(entry.get("target"), str):
                found.append(((*key, "target"), entry["target"]))
        return found

    @cached_property
    def meshes(self) -> list[Mesh]:
        """The contract's mesh, then those that targets give; none whose axes are not a mapping."""
        own: list[Mesh] = []
        shared: list[tuple[Key, str]] = []
        for key, name in self.targets:
            entry = key[:-1] if key[-1] == "target" else key
            if key[-1] == "target" and isinstance(self.get(*entry, "mesh"), dict):
                own += self._mesh((*entry, "mesh"), ((key, name),))
            else:
                shared.append((key, name))
        used = shared or not own
        return [*(self._mesh(("mesh",), tuple(shared)) if used else ()), *own]

    def _mesh(self, key: Key, targets: tuple[tuple[Key, str], ...]) -> list[Mesh]:
        if not isinstance(self.get(*key, "axes"), dict):
            return []
        sizes = {axis: self.integer(*key, "axes", axis) for axis in self.mapping(*key, "axes")}
        dcn = {axis: self.integer(*key, "dcn", axis) for axis in self.mapping(*key, "dcn")}
        return [Mesh(key, sizes, dcn, targets)]

    @cached_property
    def mesh_axes(self) -> list[str]:
        """Names of the axes of any mesh."""
        return list(dict.fromkeys(axis for mesh in self.meshes for axis in mesh.sizes))

    def axis_uses(self) -> list[KeyedAxis]:
        """Every place that names a mesh axis outright."""
        uses = [*self.axes("batch", "axes")]
        if self.text("optimizer", "placement") != "parameters":
            uses += self.axes("optimizer", "placement")
        for name in self.mapping("parameters", "logical_axes"):
            uses += self.axes("parameters", "logical_axes", name)
        for section, entries in (("collectives", "expect"), ("collectives", "allow")):
            for key, _ in self.items(section, entries):
                uses += self.axes(*key, "axes")
        for key, _ in self.items("deviations"):
            uses += self.axes(*key, "match", "axes")
        return uses

    @cached_property
    def model(self) -> DenseModel | ListedModel | None:
        """The model, None where a value of it is missing or invalid. Unknown keys do not matter."""
        kind = self._model_kind
        if kind is None:
            return None
        try:
            return kind.model_validate(self._model_fields(kind))
        except ValidationError:
            return None

    @property
    def _model_kind(self) -> type[DenseModel] | type[ListedModel] | None:
        return {"dense": DenseModel, "listed": ListedModel}.get(self.text("model", "kind") or "")

    def _model_fields(self, kind: type[BaseModel]) -> dict[str, Any]:
        return {name: value for name, value in self.mapping("model").items() if name in kind.model_fields}

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of the model by path and rank; none where it gives no paths.

        Their shapes mean something only where `model` is valid: an invalid size hides no fault in a placement rule, so
        it is replaced by one.
        """
        model = self.model
        if model is None and self._model_kind is DenseModel:
            model = self._model_of_ones()
        if isinstance(model, DenseModel):
            # Paths and ranks do not depend on whether the heads fit; rules on heads say where they do not.
            width = model.head_dim or max(1, model.d_model // model.heads)
            shared = model.kv_heads if model.heads % model.kv_heads == 0 else model.heads
            model = model.model_copy(update={"head_dim": width, "kv_heads": shared})
        return () if model is None else parameters_of(model)

    def _model_of_ones(self) -> DenseModel | None:
        fields = self._model_fields(DenseModel)
        try:
            DenseModel.model_validate(fields)
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                name = str(detail["loc"][0])
                fields.pop(name, None)
                if DenseModel.model_fields[name].is_required():
                    fields[name] = 1
        try:
            return DenseModel.model_validate(fields)
        except ValidationError:
            return None

    @cached_property
    def rules(self) -> list[PlacementRule]:
        """The entries of `parameters.rules`."""
        found = []
        for key, entry in self.items("parameters", "rules"):
            pattern, axes = None, None
            if isinstance(entry, dict) and isinstance(entry.get("match"), str):
                try:
                    pattern = path_pattern(entry["match"])
                except ValueError:
                    pattern = None
            listed = entry.get("axes") if isinstance(entry, dict) else None
            if isinstance(listed, list) and all(axis is None or isinstance(axis, str) for axis in listed):
                axes = tuple(listed)
            found.append(PlacementRule(key, pattern, axes))
        return found

    @cached_property
    def placed(self) -> list[Placed]:
        """Each parameter with the first rule that matches it, else with the model's conventional axes.

        Left out are parameters that an unusable pattern might have matched, or whose rule has no usable axes.
        """
        found = []
        for parameter in self.parameters:
            rule = next(
                (rule for rule in self.rules if rule.pattern is None or rule.pattern.matches(parameter.path)), None
            )
            if rule is None:
                if parameter.axes:
                    found.append(Placed(parameter, None, parameter.axes))
            elif rule.pattern is not None and rule.axes is not None and len(rule.axes) == len(parameter.dims):
                found.append(Placed(parameter, rule, rule.axes))
        return found

    def first_match(self, path: str) -> PlacementRule | None:
        """The rule that decides on a parameter. An unusable pattern matches everything: it might have."""
        return next((rule for rule in self.rules if rule.pattern is None or rule.pattern.matches(path)), None)

    def mesh_axes_of(self, logical: str | None) -> list[str]:
        """The mesh axes of a logical axis; a name that is not mapped stands for the mesh axis of that name, if any."""
        if logical is None:
            return []
        if logical in self.mapping("parameters", "logical_axes"):
            return list(dict.fromkeys(axis for _, axis in self.axes("parameters", "logical_axes", logical)))
        return [logical] if logical in self.mesh_axes else []

    def placement_key(self, placed: Placed, dimension: int) -> Key:
        """The key that decides where one dimension of a parameter goes."""
        logical = placed.logical[dimension]
        if logical is not None and logical in self.mapping("parameters", "logical_axes"):
            return ("parameters", "logical_axes", logical)
        return (*placed.rule.key, "axes", dimension) if placed.rule is not None else ("parameters",)
