"""Names of mesh axes and of mapped axes: what binds them, and what a partition spec names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .records import Call, Function, Module
from .values.value import Value, dotted

if TYPE_CHECKING:
    from .facts import FileFacts
    from .program import Program

_PARTIAL = frozenset({"functools.partial", "jax.tree_util.Partial"})
# Position of the name of the axis; None where it is a keyword only.
MAPS: dict[str, int | None] = {
    "jax.vmap": 3, "jax.pmap": 1, "flax.nnx.vmap": None, "flax.nnx.pmap": None, "equinox.filter_vmap": None,
    "equinox.filter_pmap": None, "haiku.vmap": None, "flax.linen.vmap": None, "jax.experimental.maps.xmap": None,
}  # fmt: skip
MESHES: dict[str, int] = {
    "jax.make_mesh": 1, "jax.sharding.Mesh": 1, "jax.sharding.AbstractMesh": 1, "jax.experimental.maps.Mesh": 1,
    "jax.interpreters.pxla.Mesh": 1, "jax.experimental.mesh_utils.Mesh": 1,
}  # fmt: skip
SPECS = frozenset(
    {
        "jax.sharding.PartitionSpec", "jax.P", "jax.experimental.PartitionSpec", "jax.interpreters.pxla.PartitionSpec",
        "jax.experimental.pjit.PartitionSpec",
    }
)  # fmt: skip
NAMED = frozenset({"jax.sharding.NamedSharding", "jax.NamedSharding"})
SHARD_MAPS = frozenset({"jax.shard_map", "jax.experimental.shard_map.shard_map", "jax.smap"})


def axes_bound(module: Module) -> dict[str, Any] | None:
    """The names of axes that a file binds, and whether it binds any by a name that is not written there."""
    names: set[str] = set()
    unknown = False
    seen = False
    for function in module.functions:
        for call in function.calls:
            given = _binding(call, dotted(call.func))
            if given is None:
                continue
            seen = True
            found = literal_names(given)
            if found is None:
                unknown = True
            else:
                names |= found
    return {"names": sorted(names), "open": unknown} if seen else None


def _binding(call: Call, name: str | None) -> Value | None:
    """What gives the names in a call that binds axes; None where none are bound."""
    args = call.args
    if name in _PARTIAL and args:
        name, args = dotted(args[0]), args[1:]
        if name in MAPS:
            return call.keywords.get("axis_name")
    if name in MAPS:
        at = MAPS[name]
        return call.keywords.get("axis_name") or (args[at] if at is not None and at < len(args) else None)
    if name in MESHES:
        at = MESHES[name]
        return call.keywords.get("axis_names") or (args[at] if at < len(args) else Value("unknown", None))
    return None


def literal_names(value: Value) -> set[str] | None:
    """The strings that a value is or holds; None where one is not known. None itself names nothing."""
    if value.op == "const":
        return {value.data} if isinstance(value.data, str) else set() if value.data is None else None
    if value.op in ("tuple", "list", "phi"):
        found: set[str] = set()
        for each in value.args:
            part = literal_names(each)
            if part is None:
                return None
            found |= part
        return found
    return None


def all_axes(program: Program) -> frozenset[str] | None:
    """All names of axes that the program binds; None where it binds none, or some by what is not written in it."""
    files = [each.data["axes"] for each in program.files.values() if "axes" in each.data]
    if not files or any(each["open"] for each in files):
        return None
    return frozenset(name for each in files for name in each["names"]) or None


def mapped_over(facts: FileFacts, function: Function) -> frozenset[str] | None:
    """The axes that are bound in a function that `pmap` decorates, or in one inside of it; None where it is not so.

    Nothing maps over a `pmap` again as a rule, so those of the transforms round the function are all.
    """
    names: set[str] = set()
    devices = False
    inside = {each for each in function.chain() if each.decorators}
    for each in facts.functions if inside else ():
        for call in each.calls:
            if call.decorates is None or call.decorates not in inside:
                continue
            callee = facts.callee(call.result)
            if not callee.wraps or callee.wraps[0].value is not call.result:
                continue
            given = callee.wraps[0].options.get("axis_name")
            found = facts.strings(given) if given is not None else frozenset()
            if callee.wraps[0].name in SHARD_MAPS or found is None:
                return None
            names |= found
            devices = devices or callee.wraps[0].name == "jax.pmap"
    return frozenset(names) if devices and names else None


def mesh_axes(facts: FileFacts, value: Value | None, depth: int = 0) -> frozenset[str] | None:
    """The names of the axes of a mesh, where it is made in sight."""
    if value is None or depth > 4:
        return None
    if value.op == "call":
        call: Call = value.data
        callee = facts.callee(call)
        if callee.name in MESHES and not callee.bound:
            given = _binding(call, callee.name)
            names = facts.strings(given) if given is not None else None
            return names or None
        made = facts.returned(value)
        return mesh_axes(facts, made, depth + 1) if made is not None else None
    if value.op == "name":
        target = facts.program.resolve(value.data)
        return mesh_axes(facts, target, depth + 1) if target is not None and target.op != "name" else None
    if value.op == "attr":
        kind = facts.type_of(value.args[0])
        if kind is not None and kind in facts.program.class_data:
            member = facts.program.property_value(kind, value.data) or facts.program.instance_member(kind, value.data)
            return mesh_axes(facts, member, depth + 1) if member is not None else None
    return None


def spec_call(facts: FileFacts, value: Value | None) -> Call | None:
    """The call that makes a partition spec, where a value is one."""
    if value is None or value.op != "call" or value.data.block is None:
        return None
    return value.data if facts.callee(value.data).name in SPECS else None


def named(facts: FileFacts, value: Value | None) -> tuple[Value | None, Value | None] | None:
    """The mesh and the spec of a NamedSharding that is made in sight."""
    if value is None or value.op != "call" or facts.callee(value.data).name not in NAMED:
        return None
    call: Call = value.data
    return call.argument(0, "mesh"), call.argument(1, "spec")


def names_in(call: Call) -> Iterator[tuple[str, Value]]:
    """The names of axes in a partition spec, those that are written there."""
    for each in call.args:
        for part in each.args if each.op in ("tuple", "list") else (each,):
            if part.op == "const" and isinstance(part.data, str):
                yield part.data, part


def specs_in(facts: FileFacts, value: Value | None, depth: int = 0) -> Iterator[Call]:
    """All partition specs in a tuple, list or dictionary of them."""
    if value is None or depth > 4:
        return
    found = spec_call(facts, value)
    if found is not None:
        yield found
    elif value.op in ("tuple", "list", "dict", "phi"):
        for each in value.args:
            yield from specs_in(facts, each, depth + 1)
