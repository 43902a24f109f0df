"""Whether a value can be hashed, as far as the code shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .records import Call
from .values.value import Value, dotted

if TYPE_CHECKING:
    from .program import Program

_CONTAINERS = {"dict": "a dict", "list": "a list", "set": "a set"}
_COMPREHENSIONS = {"list": "a list", "set": "a set", "dict": "a dict"}
_MAKERS = {
    "builtins.dict": "a dict",
    "builtins.list": "a list",
    "builtins.set": "a set",
    "builtins.sorted": "a list",
    "builtins.bytearray": "a bytearray",
    "builtins.vars": "a dict",
    "collections.OrderedDict": "an OrderedDict",
    "collections.defaultdict": "a defaultdict",
    "collections.Counter": "a Counter",
    "collections.deque": "a deque",
    "types.SimpleNamespace": "a SimpleNamespace",
    "dataclasses.asdict": "a dict",
    "dataclasses.replace": "",
    "copy.copy": "",
    "copy.deepcopy": "",
    "json.load": "a dict",
    "json.loads": "a dict",
    "ml_collections.ConfigDict": "a ConfigDict",
    "ml_collections.config_dict.ConfigDict": "a ConfigDict",
    "argparse.Namespace": "a Namespace",
    **{
        f"numpy.{name}": "a numpy array"
        for name in ("array", "asarray", "arange", "zeros", "ones", "full", "linspace", "eye", "stack", "concatenate")
    },
}
_OF_TEXT = frozenset({"split", "rsplit", "splitlines"})
_TYPES = {
    "builtins.dict": "a dict",
    "builtins.list": "a list",
    "builtins.set": "a set",
    "typing.Dict": "a dict",
    "typing.List": "a list",
    "typing.Set": "a set",
    "jax.Array": "an array",
    "jax.numpy.ndarray": "an array",
    "numpy.ndarray": "a numpy array",
}
_ARRAYS = {"array": "a traced array", "eager": "an array", "key": "a PRNG key, which is an array"}
_PLAIN_DATACLASSES = frozenset({"dataclasses.dataclass"})
_FROZEN_DATACLASSES = frozenset({"flax.struct.dataclass"})
_FIELDS_ARE_HASHED = frozenset({"flax.linen.Module", "equinox.Module"})
DEEPEST = 6


def unhashable(program: Program, value: Value, depth: int = 0) -> str | None:
    """What makes a value unhashable: `a dict`, `Config, a dataclass that is not frozen`. None where nothing is seen."""
    if depth > DEEPEST:
        return None
    op = value.op
    if op in _CONTAINERS:
        return _CONTAINERS[op]
    if op == "comp":
        return _COMPREHENSIONS.get(value.data)
    if op == "tuple":
        inner = next((found for each in value.args if (found := unhashable(program, each, depth + 1))), None)
        return f"a tuple that holds {inner}" if inner else None
    if op in ("updated", "loop"):
        return unhashable(program, value.args[0], depth + 1)
    if op == "phi":
        found = [unhashable(program, each, depth + 1) for each in value.args]
        return found[0] if all(found) else None
    if op == "name":
        target = program.resolve(value.data)
        return unhashable(program, target, depth + 1) if target is not None and target.op != "name" else None
    if op == "bin":
        return _joined(program, value, depth) or _ARRAYS.get(program.kind(value))
    if op == "call":
        return _made(program, value, depth)
    kind = program.kind(value)
    if kind in _ARRAYS:
        return _ARRAYS[kind]
    if op == "attr":
        owner = program.type_of(value.args[0])
        if owner is None or owner not in program.class_data:
            return None
        member = program.instance_member(owner, value.data)
        if member is not None and member.op in ("dict", "list", "set", "call"):
            return unhashable(program, member, depth + 1)
    if op == "param":
        return _annotated(program, value.data.annotation)
    return None


def _joined(program: Program, value: Value, depth: int) -> str | None:
    """`[1] + more`, `[0] * count` and `{...} | more` give what they are made of."""
    kinds = {"Add": ("a list",), "Mult": ("a list",), "BitOr": ("a dict", "a set")}.get(value.data, ())
    found = (unhashable(program, each, depth + 1) for each in value.args)
    return next((each for each in found if each in kinds), None)


def _annotated(program: Program, annotation: Value) -> str | None:
    base = annotation.args[0] if annotation.op == "item" else annotation
    known = _TYPES.get(dotted(base) or "")
    if known is not None:
        return known
    id = program.class_named(base)
    return unhashable_class(program, id) if id is not None and id in program.class_data else None


def _made(program: Program, value: Value, depth: int) -> str | None:
    call: Call = value.data
    callee = program.callee(call.func)
    if callee.wraps:
        return None
    name = callee.name
    if name in _MAKERS and callee.function is None:
        told = _MAKERS[name]
        return told or (unhashable(program, call.args[0], depth + 1) if call.args else None)
    if call.func.op == "attr" and call.func.data in _OF_TEXT and _is_text(call.func.args[0]):
        return "a list"
    if callee.cls in program.class_data:
        assert callee.cls is not None
        return unhashable_class(program, callee.cls) or _unhashable_field(program, callee.cls, call, depth)
    made = program.returned(value)
    if made is not None:
        return unhashable(program, made, depth + 1)
    kind = program.kind(value)
    return _ARRAYS.get(kind) if name is not None and not name.startswith(".") else None


def _is_text(value: Value) -> bool:
    return value.op == "format" or (value.op == "const" and isinstance(value.data, str))


def unhashable_class(program: Program, id: str) -> str | None:
    """Why instances of a class of the project cannot be hashed; None where they can, or it is not known."""
    shown = id.rpartition(":")[2]
    for at, each in enumerate(program.lineage(id)):
        found = program.class_(each)
        if found is None:
            if each in ("builtins.dict", "builtins.list", "builtins.set"):
                return f"{shown}, {_TYPES[each]}"
            return None
        members = (*found.data["m"], *found.data["a"])
        if "__hash__" in members:
            return None
        options = dataclass_options(program, each)
        if options is not None:
            plain = not (options.get("frozen") or options.get("unsafe_hash") or options.get("eq") is False)
            whose = "" if at == 0 else f"whose base {found.data['n']} is "
            return f"{shown}, {whose}a dataclass that is not frozen" if plain else None
        if found.data["d"]:
            return None  # what an unknown decorator makes of it cannot be told
        if "__eq__" in members:
            return f"{shown}, which defines __eq__ without __hash__"
    return None


def dataclass_options(program: Program, id: str) -> Mapping[str, Any] | None:
    """The options that a class was made a dataclass with; None for a class that is none, or made otherwise."""
    found = program.class_(id)
    if found is None:
        return None
    for frozen in found.data["d"]:
        decorator = program.thaw(frozen)
        callee = program.callee(decorator if decorator.op != "call" else decorator.data.func)
        if callee.name in _FROZEN_DATACLASSES:
            return {"frozen": True}
        if callee.name in _PLAIN_DATACLASSES:
            given = decorator.data.keywords if decorator.op == "call" else {}
            given = {**callee.bound_keywords, **given}
            return {name: program.constant(each, True) for name, each in given.items() if name}
    return None


def _unhashable_field(program: Program, id: str, call: Call, depth: int) -> str | None:
    """What an instance holds that keeps it from being hashed, for classes that hash their fields."""
    options = dataclass_options(program, id) or {}
    hashed = options.get("frozen") and options.get("eq") is not False
    lineage = list(program.lineage(id))
    if not hashed and _FIELDS_ARE_HASHED.isdisjoint(lineage):
        return None
    if program.member(id, "__hash__") is not None or program.member(id, "__init__") is not None:
        return None
    shown = id.rpartition(":")[2]
    found = program.class_(id)
    if found is None or None in call.keywords or any(each.op == "star" for each in call.args):
        return None
    names = list(found.data["t"])
    given = {**dict(zip(names, call.args, strict=False)), **call.keywords}
    defaults = {name: program.thaw(frozen) for name, frozen in found.data["a"].items()}
    for name in names:
        default = defaults.get(name)
        field = default.data.keywords if default is not None and _is_field(default) else {}
        if any(program.constant(field.get(option), None) is False for option in ("hash", "compare")):
            continue
        if name in given:
            inner = unhashable(program, given[name], depth + 1)
            if inner is not None:
                return f"{shown}, which holds {inner}"
        elif "default_factory" in field and (factory := dotted(field["default_factory"])) in _TYPES:
            return f"{shown}, whose field `{name}` is {_TYPES[factory or '']} by default"
    return None


def _is_field(value: Value) -> bool:
    return value.op == "call" and dotted(value.data.func) in ("dataclasses.field", "flax.struct.field", "equinox.field")
