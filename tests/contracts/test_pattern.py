"""Path patterns against Python's own matcher, and against patterns made to hang it."""

from __future__ import annotations

import re

import pytest
from contract_lint.contracts.pattern import PathPattern
from hypothesis import given, settings
from hypothesis import strategies as st

ATOMS = st.sampled_from(["a", "b", "/", ".", "[ab]", "[^/]", r"\d", r"\w", "^", "$", "", "b{2}", r"\."])


def _larger(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    repeats = st.sampled_from(["*", "+", "?", "{0,2}", "{1,3}", "{2,}", "*?"])
    return st.one_of(
        st.tuples(parts, parts).map("".join),
        st.tuples(parts, parts).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(parts, repeats).map(lambda pair: f"({pair[0]}){pair[1]}"),
    )


PATTERNS = st.recursive(ATOMS, _larger, max_leaves=8)


@given(PATTERNS, st.lists(st.text("ab/1.", max_size=9), min_size=1, max_size=6))
@settings(max_examples=500, deadline=None)
def test_agrees_with_re(pattern: str, paths: list[str]) -> None:
    ours = PathPattern(pattern)
    theirs = re.compile(rf"(?:^|/)(?:{pattern})\Z")
    assert [ours.matches(path) for path in paths] == [bool(theirs.search(path)) for path in paths]


def test_matches_at_a_boundary_only() -> None:
    pattern = PathPattern("attn/w[qkv]")
    assert pattern.matches("layers/attn/wq") and pattern.matches("attn/wv")
    assert not pattern.matches("layers/xattn/wq") and not pattern.matches("layers/attn/wq/scale")


def test_a_pattern_that_hangs_a_backtracking_matcher_is_linear() -> None:
    # 2**60 steps for a backtracking matcher: this test ends only if there is none.
    assert not PathPattern("(a+)+b").matches("a" * 60)
    assert not PathPattern("(.*)*(.*)*(.*)*x").matches("ab/" * 2000)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(", "not a regular expression"),
        ("(?i)a", "inline flags"),
        ("(?i:a)", "inline flags"),
        ("(?=a)", "not supported"),
        (r"(a)\1", "not supported"),
        (r"\ba", "not supported"),
        ("(?:a{900}){900}", "repeats too much"),
        ("(?:){999999}", "repeats too much"),
        ("a" * 501, "more than 500"),
    ],
)
def test_refused(pattern: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        PathPattern(pattern)
