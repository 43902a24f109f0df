"""Keys as text and back."""

from __future__ import annotations

import pytest
from contract_lint.contracts.key import format_key, parse_key
from hypothesis import given
from hypothesis import strategies as st


def test_spelling() -> None:
    assert format_key(("collectives", "allow", 0, "axes", 1)) == "collectives.allow[0].axes[1]"
    assert format_key(("step", "a.b", "x y")) == 'step["a.b"]["x y"]'
    assert format_key(()) == ""


@given(st.lists(st.one_of(st.text(max_size=8), st.integers(min_value=0, max_value=10**6)), max_size=6).map(tuple))
def test_every_key_survives(key: tuple) -> None:
    assert parse_key(format_key(key)) == key


@pytest.mark.parametrize("text", [".a", "a[", "a[x]", "a b", 'a["'])
def test_what_is_no_key(text: str) -> None:
    with pytest.raises(ValueError):
        parse_key(text)
