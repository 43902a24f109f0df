"""A key that stands twice in one object is refused, however deep, and the same key in two objects is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from contract_lint.contracts.json_once import TwiceError, once

TWICE = [
    ('{"a": 1, "a": 1}', "a", '{"a": 1, "b": 1}'),
    ('{"a": {"c": 1, "b": 2, "b": 3}}', "b", '{"a": {"b": 1}, "b": {"a": 1}}'),
    ('[{"a": 1}, {"b": 1, "b": 1}]', "b", '[{"a": 1}, {"a": 1}]'),
]


@pytest.mark.parametrize(("text", "key", "good"), TWICE)
def test_a_key_that_stands_twice(text: str, key: str, good: str) -> None:
    with pytest.raises(TwiceError) as refused:
        json.loads(text, object_pairs_hook=once)
    assert refused.value.key == key
    found: Any = json.loads(good, object_pairs_hook=once)
    assert found == json.loads(good)
