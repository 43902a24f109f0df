"""Conditions that are said to exclude each other never hold of one value; what plainly does is seen."""

from __future__ import annotations

import ast

import pytest
from contract_lint.linters.source.analyse import modules_of
from contract_lint.linters.source.parse import Unparsed
from contract_lint.linters.source.text import plain_source
from contract_lint.linters.source.together import contradict, together
from hypothesis import given, settings
from hypothesis import strategies as st

VALUES = (None, True, False, -3, 0, 1, 2, 2.5, 3, 7, "", "a", "b", "c", (), (1,))
TESTS = (
    *(f"{{x}} {operator} {constant}" for operator in ("==", "!=", "<", ">=", ">", "<=") for constant in (0, 1, 2.5, 3)),
    *(f"{{x}} {operator} {constant!r}" for operator in ("==", "!=") for constant in ("a", "b")),
    *(f"{{x}} {operator} {held}" for operator in ("in", "not in") for held in ("('a', 'b')", "(0, 1)", "['a', 3]")),
    "{x} is None", "{x} is not None", "{x}", "not {x}", "3 > {x}", "isinstance({x}, str)", "not isinstance({x}, str)",
)  # fmt: skip


def excluded(first: str, second: str) -> bool:
    code = f"def f(x, y):\n    if {first}:\n        one()\n    if {second}:\n        two()\n"
    module = modules_of(plain_source("a.py", code), "a")
    assert not isinstance(module, Unparsed)
    named = {"one()", "two()"}
    calls = ((ast.unparse(call.node), call.block) for call in module.functions[1].calls)
    blocks = {text.removesuffix("()"): block for text, block in calls if text in named}
    found = not together(blocks["one"], blocks["two"])
    assert found is contradict([*blocks["one"].guards(), *blocks["two"].guards()])
    return found


def holds(condition: str, **values: object) -> bool:
    try:
        return bool(eval(condition, {}, values))
    except TypeError:
        return False


def conditions() -> st.SearchStrategy[str]:
    plain = st.builds(lambda test, name: test.format(x=name), st.sampled_from(TESTS), st.sampled_from("xxy"))
    joined = st.builds(
        lambda word, parts: f" {word} ".join(parts),
        st.sampled_from(("and", "or")),
        st.lists(plain, min_size=2, max_size=3),
    )
    return st.one_of(plain, joined, st.builds("not ({})".format, joined))


@settings(max_examples=150, deadline=None)
@given(conditions(), conditions())
def test_what_is_excluded_holds_of_no_value(first: str, second: str) -> None:
    if excluded(first, second):
        both = [(x, y) for x in VALUES for y in VALUES if holds(first, x=x, y=y) and holds(second, x=x, y=y)]
        assert both == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("x", "not x"),
        ("x == 'a'", "x == 'b'"),
        ("x == 'a'", "x not in ('a', 'b')"),
        ("x in ('a', 'b')", "x in ['c']"),
        ("x > 3", "x <= 3"),
        ("x > 3", "x < 2"),
        ("3 < x", "x == 0"),
        ("x is None", "x"),
        ("x is None", "x > 0 and y"),
        ("x and y", "not x"),
        ("x or y", "not (x or y)"),
        ("y.a and x.b", "not (y.a and x.b)"),
        ("y.kind(3) == x", "y.kind(3) != x"),
        ("x[0] == 'a'", "x[0] == 'b'"),
    ],
)
def test_plain_opposites_are_seen(first: str, second: str) -> None:
    assert excluded(first, second) and excluded(second, first)


def test_a_name_that_was_bound_again_is_another_value() -> None:
    code = "def f(x):\n    if x:\n        one()\n    x = g()\n    if not x:\n        two()\n"
    module = modules_of(plain_source("a.py", code), "a")
    assert not isinstance(module, Unparsed)
    one, _, two = module.functions[1].calls
    assert together(one.block, two.block)
