"""Whether an edit of a file is one that no other file can tell: what others are told is compared, before and after.

An edit is unseen when all that changed is

- the lines where things stand, but for calls in loops, whose places findings of other files name;
- calls that lead to no function of the project;
- what a function that is not traced gives to functions that it calls anyway, but for its own parameters, functions, and
  calls in loops;
- definitions that neither call the project nor are used by it, whose names nothing else writes: what names a thing
  has to write its name, in some file.

Then the program is linked as it was, and what is known of every other file holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from .summary import HIGHER_ORDER, FileSummary, hands_on
from .transforms import RULE_METHODS, TRANSFORMS

if TYPE_CHECKING:
    from .program import Program

_BODY = frozenset("clewt")
"""What a function does and where; all else is what others see of it."""
_APART = frozenset({"outward", "functions", "classes", "exports"})
_MISSING: dict[str, Any] = {"c": []}


def unseen_names(
    old: FileSummary, new: FileSummary, program: Program, is_linked: Callable[[str], bool]
) -> frozenset[str] | None:
    """The names whose definitions changed: the edit is unseen if no other text writes one. None where others may tell.

    `program` holds the new summary, and what is known of the others. `is_linked` says whether the program knew of a
    function that it is traced, called, or given something.
    """
    before, after = old.data.whole(), new.data.whole()
    if any(before.get(key) != after.get(key) for key in (before.keys() | after.keys()) - _APART):
        return None
    if _placeless(before["classes"]) != _placeless(after["classes"]):
        return None
    exports = {name for name in _keys(before, after, "exports") if _of(before, after, "exports", name)}
    functions = [id for id in _keys(before, after, "functions") if _of(before, after, "functions", id)]
    if [id for id in before["functions"] if id in after["functions"]] != [
        id for id in after["functions"] if id in before["functions"]
    ]:
        return None
    leads = _Leads(program)
    names = set(exports)
    changed: set[str] = set()
    for id in functions:
        one, other = before["functions"].get(id), after["functions"].get(id)
        calls = leads.calls(id, one), leads.calls(id, other)
        if one is not None and other is not None and _seen(one) == _seen(other):
            if calls[0] != calls[1]:
                return None
            continue
        if calls != ([], []) or is_linked(id) or any(fnmatchcase(id, each) for each in program.options.traced):
            return None
        for each in (one, other):
            if each is not None:
                if "o" in each or each.get("u") != f"{new.module}:":
                    return None
                names.add(each["n"])
        changed.add(id)
    if any(name.startswith("__") for name in names):
        return None  # Python itself asks for these
    return None if names and _writes(_without(after, exports, changed), names) else frozenset(names)


class _Leads:
    """Which calls in summaries may lead to the project."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def calls(self, id: str, data: Mapping[str, Any] | None) -> list[Any]:
        """The calls of a function that do: their numbers where what is known of others names them (those that hand
        functions on), their lines where findings of others do."""
        if data is None or not data["c"]:
            return []
        handing, looped = frozenset(data.get("t", ())), frozenset(data.get("w", ()))
        expected = {at: errors for at, errors, argument in data.get("x", ()) if argument is None}
        on_host = id not in self._program.traced_functions
        found: list[Any] = []
        for at, call in enumerate(data["c"]):
            if on_host and at not in handing and at not in looped and (target := self._target(call, id)) is not None:
                told = [target, expected.get(at)]
                if told in found:
                    continue
            elif at in handing or self._may(call[0], id):
                told = [*call[:3], at if at in handing else None, call[3] if at in looped else 0]
            else:
                continue
            found.append(told)
        return found

    def _target(self, call: list[Any], id: str) -> str | None:
        """The function that a call comes to, where others can tell no more of the call than that."""
        if not call[0] or hands_on(call) or self._program.function(id) is None:
            return None
        callee = self._program.frozen_callee(call[0], id)
        return callee.function.id if callee.function is not None and not callee.wraps and callee.cls is None else None

    def _may(self, func: Any, id: str) -> bool:
        if not func or self._program.function(id) is None:
            return True
        callee = self._program.frozen_callee(func, id)
        if callee.function is not None or callee.cls is not None or callee.wraps:
            return True
        name = callee.name or ""
        # `apply` of a model runs its `__call__`.
        return name in TRANSFORMS or name in HIGHER_ORDER or name[1:] in RULE_METHODS or name == ".apply"


def _keys(before: dict[str, Any], after: dict[str, Any], kind: str) -> list[str]:
    return [*before[kind], *(key for key in after[kind] if key not in before[kind])]


def _of(before: dict[str, Any], after: dict[str, Any], kind: str, key: str) -> bool:
    return before[kind].get(key) != after[kind].get(key)


def _seen(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in _BODY}


def _placeless(classes: dict[str, dict[str, Any]]) -> list[Any]:
    return [[id, {key: value for key, value in each.items() if key != "l"}] for id, each in classes.items()]


def _without(data: dict[str, Any], exports: set[str], functions: set[str]) -> str:
    """All that a summary says but for some definitions."""
    kept = {
        **data,
        "exports": {name: value for name, value in data["exports"].items() if name not in exports},
        "functions": {id: value for id, value in data["functions"].items() if id not in functions},
    }
    return json.dumps(kept, ensure_ascii=False)


def _writes(text: str, names: set[str]) -> bool:
    return _word(names).search(text) is not None


def _word(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(names)))})(?!\w)")
