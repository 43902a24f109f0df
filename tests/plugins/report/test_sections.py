"""Keys of a section that is there as a whole or not at all are one row; anything else stays as it is."""

from __future__ import annotations

from typing import Any

import pytest
from contract_lint.contracts.record import flat
from contract_lint.plugins.pipeline.record.diff import alike, said
from contract_lint.plugins.report.sections import folded

AB = {"a": 1, "b": {"c": 2, "d": None}}


@pytest.mark.parametrize(
    ("configs", "rows"),
    [
        (({}, {"s": AB}), [("s", (None, "(3 keys)"))]),
        (({"s": AB}, {}), [("s", ("(3 keys)", None))]),
        (({"s": {"a": 1}}, {"s": AB}), [("s.b", (None, "(2 keys)"))]),
        (({}, {"s": {"a": 1}}), [("s.a", (None, 1))]),
        (({}, {"s": AB}, {"s": AB}), [("s", (None, "(3 keys)", "(3 keys)"))]),
        (
            ({}, {"s": AB}, {"s": AB | {"a": 2}}),
            [("s.a", (None, 1, 2)), ("s.b.c", (None, 2, 2)), ("s.b.d", (None, "null", "null"))],
        ),
        (({"s": [{"k": 1, "l": 2}]}, {"s": [{"k": 1, "l": 2}, {"k": 3, "l": 4}]}), [("s[1]", (None, "(2 keys)"))]),
        (({"s": {"a": 1, "b": 1}}, {"s": {"a": 2, "b": 2}}), [("s.a", (1, 2)), ("s.b", (1, 2))]),
        (({"s": {"a": None, "b": 1}}, {"s": {"b": 1}}), [("s.a", ("null", None))]),
        (({"s": None}, {"s": AB}), [("s", ("null", None)), ("s.a", (None, 1)), ("s.b", (None, "(2 keys)"))]),
    ],
)
def test_rows(configs: tuple[dict[str, Any], ...], rows: list[Any]) -> None:
    configs = tuple({"contract": 1} | each for each in configs)
    words = said(*configs)
    keys = dict.fromkeys(key for each in words for key in each)
    values = [(key, tuple(each.get(key) for each in words)) for key in keys]
    differing = [(key, each) for key, each in values if not all(alike(value, each[0]) for value in each)]
    assert folded(differing, [flat(each) for each in configs]) == rows
