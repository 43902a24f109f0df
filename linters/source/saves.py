"""Checkpoints that a training loop writes: which calls write one, and what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .records import Call, Function, Loop
from .values.value import Value

if TYPE_CHECKING:
    from .facts import FileFacts

SAVES = frozenset({"save", "save_checkpoint", "save_state", "save_pytree", "save_checkpoint_multiprocess"})
_EXPORTS = ("export", "weights", "onnx", "safetensors", "hugging", "hf_", "savez", "numpy.save", "figure", "plt")
MOST = 300


def saves(facts: FileFacts, function: Function, loop: Loop) -> list[Call]:
    """The calls in a loop that write a checkpoint; exports of weights and saves of other libraries are left out."""
    found: list[Call] = []
    for call in function.calls:
        if loop not in list(call.block.loops()):
            continue
        name = facts.callee(call).name or ""
        last = call.func.data if call.func.op == "attr" else name.rpartition(".")[2]
        written = facts.text(getattr(call.node, "func", call.node)).lower()
        if last in SAVES and not any(word in written or word in name for word in _EXPORTS):
            found.append(call)
    return found


def held_by(call: Call) -> dict[int, Value]:
    """All values that go into a call, however deep in containers and other calls."""
    todo = [*call.args, *call.keywords.values()]
    found: dict[int, Value] = {}
    while todo and len(found) < MOST:
        value = todo.pop()
        if id(value) in found:
            continue
        found[id(value)] = value
        if value.op == "call":
            inner = value.data
            if inner.block is not None:
                todo += [*inner.args, *inner.keywords.values()]
        elif value.op not in ("loop", "item", "attr", "element"):
            todo += [each for each in value.args if isinstance(each, Value)]
        elif value.op == "attr":
            todo.append(value.args[0])
    return found
