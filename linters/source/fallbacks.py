"""Whether code is written for versions with and without a name: in a `try`, under a question about versions."""

from __future__ import annotations

import ast

from .facts import FileFacts
from .records import Block, Call, Mention
from .values.value import Value, dotted

_CAUGHT = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException", "TypeError"})


def for_both(facts: FileFacts, record: Mention | Call) -> bool:
    """Whether the code is written for versions with and without the name."""
    for block in record.block.chain():
        if any(_catches(handler) for handler in _handlers(block)):
            return True
        if block.guard is not None and block.arm in ("then", "else") and _asks_version(facts, block.guard):
            return True
    return _in_fallback(facts, record.block)


def _handlers(block: Block) -> list[ast.ExceptHandler]:
    """The handlers of the `try` that a block belongs to."""
    return getattr(getattr(block.branch, "node", None), "handlers", [])


def _in_fallback(facts: FileFacts, block: Block) -> bool:
    """Whether the function round it is made for old versions only: defined in such a place."""
    function = next((each for each in facts.functions if each.block in block.chain()), None)
    outer = function.defined_in if function is not None else None
    while outer is not None:
        for each in outer.chain():
            if any(_catches(handler) for handler in _handlers(each)):
                return True
            if each.guard is not None and each.arm in ("then", "else") and _asks_version(facts, each.guard):
                return True
        function = function.parent if function is not None else None
        outer = function.defined_in if function is not None else None
    return False


def _catches(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any((getattr(each, "attr", None) or getattr(each, "id", "")) in _CAUGHT for each in types)


def _asks_version(facts: FileFacts, guard: Value, depth: int = 0) -> bool:
    """Whether a condition is about versions, about what a module has, or was settled by trying an import."""
    if depth > 5:
        return False
    if guard.op == "name":
        lowered = guard.data.lower()
        if "version" in lowered or lowered.endswith(("type_checking", ".find_spec")):
            return True
        target = facts.program.resolve(guard.data)
        return target is not None and target.op != "name" and _asks_version(facts, target, depth + 1)
    if guard.op == "call":
        call: Call = guard.data
        name = dotted(call.func) or ""
        if name in ("builtins.hasattr", "builtins.getattr") or "version" in name.lower():
            return True
        made = facts.returned(guard)
        parts = [call.func, *call.args] + ([made] if made is not None else [])
        return any(_asks_version(facts, each, depth + 1) for each in parts)
    if guard.op == "phi" and isinstance(getattr(guard.data, "node", None), ast.Try):
        return True
    if guard.op == "attr" and "version" in str(guard.data).lower():
        return True
    return any(_asks_version(facts, each, depth + 1) for each in guard.args)
