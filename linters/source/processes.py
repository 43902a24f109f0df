"""What all processes of a distributed program must do together, and which conditions hold on some of them only."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from .fixed import UNDECIDED, constant
from .records import Function
from .values.value import Value, dotted

if TYPE_CHECKING:
    from .program import Program

TOGETHER = frozenset(
    {
        "sync_global_devices", "sync_global_processes", "process_allgather", "broadcast_one_to_all", "assert_equal",
        "reached_preemption_sync_point", "make_array_from_process_local_data_and_check",
    }
)  # fmt: skip
_ASKS = frozenset({"jax.process_index", "jax.host_id", "jax.lib.xla_bridge.process_index"})
DEEPEST = 6


def meets(name: str | None) -> bool:
    """Whether a library function waits for all processes."""
    if name is None or "." not in name:
        return False
    module, _, last = name.rpartition(".")
    return last in TOGETHER and ("multihost" in module or "orbax" in module)


def met(function: Function) -> str | None:
    """The first call of a function that waits for all processes, whatever condition it stands under."""
    for call in function.calls:
        name = dotted(call.func)
        if meets(name):
            return name
    return None


def differs(program: Program, guard: Value, depth: int = 0) -> bool:
    """Whether a condition is one about the process at hand."""
    if depth > DEEPEST or _is_settled(guard):
        return False
    op = guard.op
    if op in ("compare", "bool", "unary", "phi", "bin"):
        return any(differs(program, each, depth + 1) for each in guard.args)
    if op == "call":
        callee = program.callee(guard.data.func)
        if callee.name in _ASKS:
            return True
        if callee.name == "builtins.bool" and guard.data.args:
            return differs(program, guard.data.args[0], depth + 1)
        if callee.function is not None and not callee.wraps:
            made = program.returned(guard)
            return made is not None and differs(program, made, depth + 1)
    if op == "name":
        target = program.resolve(guard.data)
        return target is not None and target.op != "name" and differs(program, target, depth + 1)
    if op == "attr":
        kind = program.type_of(guard.args[0])
        member = program.instance_member(kind, guard.data) if kind is not None and kind in program.class_data else None
        return member is not None and member is not guard and differs(program, member, depth + 1)
    return False


def _is_settled(guard: Value) -> bool:
    """Whether a condition comes to one thing on all processes whatever it asks of them: `host is None or ...` without a
    host, or where there is none by default.
    """
    if constant(guard, _undecided) is not UNDECIDED:
        return True
    if guard.op == "compare":
        return any(map(_is_none, guard.args))
    if guard.op != "bool":
        return False
    asks = "Is" if guard.data == "Or" else "IsNot"
    return any(
        each.op == "compare"
        and each.data == (asks,)
        and each.args[0].op == "param"
        and _is_none(each.args[0].data.default)
        for each in guard.args
    )


def _undecided(_: Value) -> object:
    return UNDECIDED


def _is_none(value: Value | None) -> bool:
    return value is not None and value.op == "const" and value.data is None


_REACHES: WeakKeyDictionary[Program, dict[str, str | None]] = WeakKeyDictionary()


def reaches(program: Program, id: str) -> str | None:
    """The call by which a function of the project waits for all processes, itself or in those it calls."""
    known = _REACHES.setdefault(program, {})
    if id in known:
        return known[id]
    known[id] = None
    function = program.function(id)
    if function is None:
        return None
    found = function.data.get("m")
    for frozen in () if found else function.calls:
        callee = program.callee(program.thaw(frozen[0], function))
        if callee.function is not None and not callee.wraps and callee.function.id != id:
            found = reaches(program, callee.function.id)
            if found:
                break
    known[id] = found
    return found
