"""The words of a text, as numbers: none that it writes is missed."""

from __future__ import annotations

from contract_lint.linters.source.words import may_write, words_of
from hypothesis import given
from hypothesis import strategies as st


@given(st.lists(st.text(st.characters(categories=["L", "Nd"]), min_size=1, max_size=6), max_size=30))
def test_every_word_is_found(words: list[str]) -> None:
    known = words_of(" + ".join(words))
    assert all(may_write(known, [word]) for word in words if word.isascii())


def test_words_are_whole_and_as_python_reads_them() -> None:
    known = words_of("def loss_fn(x): return '__all__' + ﬁlter.loss")
    assert all(may_write(known, [each]) for each in ("loss_fn", "loss", "filter", "__all__", "x"))
    assert not any(may_write(known, [each]) for each in ("fn", "los", "all", "ﬁlter", "y"))
    assert may_write(known, ["y", "loss"]) and not may_write(known, [])
    assert may_write(None, ["y"]), "what is not known may write anything"


def test_numbers_do_not_run_into_each_other() -> None:
    known = words_of(" ".join(f"name{number}" for number in range(2000)))
    inside = {known[at : at + 4] for at in range(len(known)) if at % 4}
    whole = {known[at : at + 4] for at in range(0, len(known), 4)}
    assert len(whole) > 1990 and inside - whole, "a search that does not count by fours would find these"
