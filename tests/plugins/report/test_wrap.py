"""Lines of a given width: words stay whole, paths break after a slash, and nothing gets lost."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import accumulate

import pytest
from contract_lint.plugins.pipeline.report import Report
from contract_lint.plugins.report.text import render
from contract_lint.plugins.report.wrap import broken, sentences
from hypothesis import given
from hypothesis import strategies as st

PATH = "opt_state/0/mu/transformer/decoder/layers_0/self_attention/query_projection/kernel"


def test_paths_break_after_a_slash() -> None:
    assert broken(f"gradient {PATH}", 34).split("\n") == [
        "gradient opt_state/0/mu/",
        "transformer/decoder/layers_0/",
        "self_attention/query_projection/",
        "kernel",
    ]


def test_what_fits_on_a_line_of_its_own_is_not_broken() -> None:
    assert broken("gradient layers/attn_norm/scale", 24) == "gradient\nlayers/attn_norm/scale"


def test_sentences_fold_but_what_is_copied_does_not() -> None:
    advice = "help: pip install 'our lint[jax]' --upgrade, or give the target one"
    text = f"error: this needs jax, which is not here\n  {advice}"
    assert sentences(text, 30, "  ").split("\n") == [
        "error: this needs jax, which",
        "  is not here",
        "  help:",
        "    pip install 'our lint[jax]' --upgrade,",
        "    or give the target one",
    ]
    yaml = "{ target: cpu:8, mesh: { axes: { data: 8 } } }"
    assert yaml in sentences(f"give the target a mesh of its own: {yaml}", 40).split("\n")
    said = sentences(f"make it with `contract-lint capture a.contract.yaml`, took {'x' * 8} 2.67 MiB", 24).split("\n")
    assert "`contract-lint capture a.contract.yaml`," in said and "2.67 MiB" in said[-1]
    assert sentences("a  caret under\n   ^ here", 30) == "a  caret under\n   ^ here"


@given(st.text("ab {}`'", max_size=60), st.integers(1, 20))
def test_sentences_lose_nothing(text: str, width: int) -> None:
    assert sentences(text, width, "  ").split() == text.split()


@given(st.lists(st.text("ab/", min_size=1, max_size=20), max_size=6), st.integers(1, 12))
def test_only_blanks_and_slashes_end_a_line_and_nothing_is_lost(words: list[str], width: int) -> None:
    lines = broken(" ".join(words), width).split("\n")
    flat, ends, between = "".join(words), list(accumulate(map(len, words))), 0
    assert "".join(lines).replace(" ", "") == flat
    for line in lines[:-1]:
        between += len(line.replace(" ", ""))
        assert between in ends or flat[between - 1] == "/"
    for line in lines:
        assert len(line) <= width or re.fullmatch("[^/ ]+/?", line), "only what cannot be broken is too long"


@pytest.mark.parametrize("width", [80, 120])
def test_names_in_the_table_of_a_run_are_whole_between_slashes(clean: Report, width: int) -> None:
    (tables,) = clean.tables
    assert tables.run is not None
    rows = tuple(replace(row, path=PATH) for row in tables.run.comparisons[:2])
    run = replace(tables.run, comparisons=rows, compiles=(f"step 1: {'x' * 30} state/{PATH}: placed",))
    text = render(replace(clean, tables=(replace(tables, run=run),)), width)
    assert max(map(len, text.splitlines())) <= width
    words = set(re.findall(r"[\w]+", text))
    assert set(PATH.split("/")) <= words
