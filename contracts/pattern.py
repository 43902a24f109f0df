"""Patterns over parameter paths: regular expressions matched in linear time, whatever the contract says.

Python's own matcher backtracks: `(a+)+b` in a contract would hang whoever reviews it. Paths are matched here by a
finite automaton instead (Thompson 1968; the subset construction made lazily), so a pattern is what the word says:
regular. Look-around, back-references, word boundaries and inline flags are refused.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from functools import lru_cache
from re import _constants as op  # pyright: ignore[reportAttributeAccessIssue]
from re import _parser as sre  # pyright: ignore[reportAttributeAccessIssue]
from typing import Any

MAX_LENGTH = 500
MAX_STATES = 2000
MAX_CACHED = 5000

_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    op.CATEGORY_DIGIT: str.isdecimal,
    op.CATEGORY_NOT_DIGIT: lambda c: not c.isdecimal(),
    op.CATEGORY_SPACE: str.isspace,
    op.CATEGORY_NOT_SPACE: lambda c: not c.isspace(),
    op.CATEGORY_WORD: lambda c: c.isalnum() or c == "_",
    op.CATEGORY_NOT_WORD: lambda c: not (c.isalnum() or c == "_"),
}
_START, _END = "start", "end"

Test = Callable[[str], bool]
States = frozenset[int]


class PathPattern:
    """A pattern that is matched against the end of a path, from its start or from a `/` on.

    Raises ValueError for text that is no regular expression, needs more than one pass, or is too long.
    """

    def __init__(self, text: str) -> None:
        if len(text) > MAX_LENGTH:
            raise ValueError(f"a pattern of more than {MAX_LENGTH} characters")
        self.text = text
        self._free: list[list[int]] = []
        self._bound: list[list[tuple[str, int]]] = []
        self._step: list[tuple[Test, int] | None] = []
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = sre.parse(text)
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"not a regular expression: {error}") from error
        if tree.state.flags & ~re.UNICODE.value:
            raise ValueError("inline flags such as (?i) are not supported")
        self._accept = self._new()
        self._first = self._sequence(list(tree), self._accept)
        self._begin = self._closure([self._first], {_START})
        self._again = self._closure([self._first], set())
        self._cache: dict[tuple[States, str], States] = {}
        self._accepts: dict[States, bool] = {}

    def matches(self, path: str) -> bool:
        """Whether the pattern fits the end of the path."""
        states = self._begin
        for character in path:
            states = self._next(states, character)
        if not path:
            return self._accept in self._closure([self._first], {_START, _END})
        if states not in self._accepts:
            self._accepts[states] = self._accept in self._closure(states, {_END})
        return self._accepts[states]

    def _next(self, states: States, character: str) -> States:
        cached = self._cache.get((states, character))
        if cached is not None:
            return cached
        moved = []
        for state in states:
            step = self._step[state]
            if step is not None and step[0](character):
                moved.append(step[1])
        following = self._closure(moved, set())
        if character == "/":
            following |= self._again
        if len(self._cache) >= MAX_CACHED:
            self._cache.clear()
            self._accepts.clear()
        self._cache[states, character] = following
        return following

    def _closure(self, states: Iterable[int], holds: set[str]) -> States:
        """All states reachable without a character; `holds` are the anchors that are true here."""
        seen = set(states)
        stack = list(seen)
        while stack:
            state = stack.pop()
            anchored = [target for anchor, target in self._bound[state] if anchor in holds]
            for target in (*self._free[state], *anchored):
                if target not in seen:
                    seen.add(target)
                    stack.append(target)
        return frozenset(seen)

    def _new(self) -> int:
        if len(self._free) >= MAX_STATES:
            raise ValueError("the pattern repeats too much")
        self._free.append([])
        self._bound.append([])
        self._step.append(None)
        return len(self._free) - 1

    def _sequence(self, items: list[tuple[Any, Any]], after: int) -> int:
        for code, argument in reversed(items):
            after = self._item(code, argument, after)
        return after

    def _item(self, code: Any, argument: Any, after: int) -> int:
        state = self._new()
        test = _test(code, argument)
        if test is not None:
            self._step[state] = (test, after)
        elif code is op.SUBPATTERN:
            _, added, removed, body = argument
            if added or removed:
                raise ValueError("inline flags such as (?i:...) are not supported")
            self._free[state].append(self._sequence(list(body), after))
        elif code is op.BRANCH:
            for branch in argument[1]:
                self._free[state].append(self._sequence(list(branch), after))
        elif code in (op.MAX_REPEAT, op.MIN_REPEAT):
            self._repeat(state, argument, after)
        elif code is op.AT and argument in (op.AT_BEGINNING, op.AT_BEGINNING_STRING):
            self._bound[state].append((_START, after))
        elif code is op.AT and argument in (op.AT_END, op.AT_END_STRING):
            self._bound[state].append((_END, after))
        else:
            raise ValueError(f"{str(code).lower()} is not supported in a pattern")
        return state

    def _repeat(self, state: int, argument: Any, after: int) -> None:
        least, most, body = argument
        items = list(body)
        if most is op.MAXREPEAT:
            loop = self._new()
            self._free[loop] += [self._sequence(items, loop), after]
            tail = loop
        else:
            tail = after
            for _ in range(most - least):
                choice = self._new()
                self._free[choice] += [self._sequence(items, tail), after]
                tail = choice
        for _ in range(least):
            tail = self._sequence(items, tail) if items else tail
            self._new()
        self._free[state].append(tail)


@lru_cache(maxsize=256)
def path_pattern(text: str) -> PathPattern:
    """The pattern written as `text`, made once: many rules ask for the same. Raises ValueError as PathPattern."""
    return PathPattern(text)


def _test(code: Any, argument: Any) -> Test | None:
    """What one character must be; None for items that are not one character."""
    if code is op.LITERAL:
        return chr(argument).__eq__
    if code is op.NOT_LITERAL:
        return chr(argument).__ne__
    if code is op.ANY:
        return lambda c: c != "\n"
    if code is op.IN:
        return _set_test(argument)
    return None


def _set_test(items: list[tuple[Any, Any]]) -> Test:
    negated = bool(items) and items[0][0] is op.NEGATE
    tests = [_member_test(code, argument) for code, argument in items if code is not op.NEGATE]
    return lambda c: any(test(c) for test in tests) is not negated


def _member_test(code: Any, argument: Any) -> Test:
    if code is op.LITERAL:
        return chr(argument).__eq__
    if code is op.RANGE:
        low, high = chr(argument[0]), chr(argument[1])
        return lambda c: low <= c <= high
    return _CATEGORIES[argument]
