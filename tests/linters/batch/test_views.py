"""What a batch is like and what a query sees, against a computation element by element."""

from __future__ import annotations

import numpy as np
import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.model import AttentionSection, DataSection
from contract_lint.linters.batch.batch import Batch, Span
from contract_lint.linters.batch.facts import RowFacts, batch_facts, row_facts
from contract_lint.linters.batch.visible import counted_targets, runs, visible_keys
from hypothesis import given, settings
from hypothesis import strategies as st

ROW = st.lists(st.integers(0, 3), min_size=1, max_size=24)
ATTENTION = st.builds(
    AttentionSection,
    scope=st.sampled_from(["segment", "row"]),
    causal=st.booleans(),
    window=st.none() | st.integers(1, 9),
)


@settings(deadline=None, max_examples=300)
@given(ROW, ATTENTION, st.data())
def test_visible_keys(segments: list[int], attention: AttentionSection, data: st.DataObject) -> None:
    query = data.draw(st.integers(0, len(segments) - 1))
    batch = Batch("b", {"segment_ids": np.array([segments])}, DataSection(attention=attention))
    seen = [column for start, stop in visible_keys(batch, 0, query) for column in range(start, stop)]
    wanted = []
    for key, segment in enumerate(segments):
        near = attention.window is None or (query - key if key <= query else key - query) < attention.window
        same = segment == segments[query] if attention.scope == "segment" else True
        if segments[query] and segment and same and near and (key <= query or not attention.causal):
            wanted.append(key)
    assert seen == wanted


@settings(deadline=None, max_examples=200)
@given(st.lists(st.booleans(), max_size=30))
def test_runs(flags: list[bool]) -> None:
    assert [column for start, stop in runs(flags) for column in range(start, stop)] == [
        column for column, flag in enumerate(flags) if flag
    ]


def test_spans_and_facts() -> None:
    tokens = np.array([[5, 6, 2, 7, 8, 2, 5, 6, 2, 0], [9, 9, 9, 9, 9, 9, 9, 9, 9, 9]])
    segments = np.array([[4, 4, 4, 7, 7, 7, 9, 9, 9, -1], [1] * 10])
    data = DataSection.model_validate(
        {"packing": {"padding_segment": -1}, "tokenizer": {"vocab": 10, "eos_id": 2, "pad_id": 0}}
    )
    weights = np.full((2, 10), 0.5)
    arrays = {"tokens": tokens, "segment_ids": segments, "loss_mask": segments != 7, "loss_weights": weights}
    batch = Batch("b", arrays, data)
    assert batch.spans(0) == [Span(4, 0, 3), Span(7, 3, 6), Span(9, 6, 9)] and batch.spans(1) == [Span(1, 0, 10)]
    facts = batch_facts(batch)
    assert (facts.tokens, facts.documents, facts.duplicates, facts.cut) == (19, 4, 1, 1)
    assert (facts.counted, facts.denominator) == (17, 8.5) and facts.padding == pytest.approx(0.05)
    assert counted_targets(batch, 0) == [(0, 3), (6, 10)]
    assert row_facts(batch, 0) == RowFacts(0.1, 2, False) and row_facts(batch, 1) == RowFacts(0.0, 0, True)
    bare = Batch("b", {"tokens": tokens, "segment_ids": segments}, DataSection())
    assert row_facts(bare, 1) == RowFacts(0.0, 0, None) and batch_facts(bare).cut is None
    assert row_facts(Batch("b", {"tokens": tokens}), 0) == RowFacts(None, None, None)
    with pytest.raises(ContractLintError, match="has no row 2: it has 2"):
        batch.spans(2)


def test_documents_are_known_by_lengths_or_by_padding() -> None:
    tokens = np.array([[5, 6, 0, 7, 0, 0], [5, 0, 0, 0, 0, 0]])
    padded = DataSection.model_validate({"tokenizer": {"vocab": 9, "pad_id": 0}})
    same = DataSection.model_validate({"tokenizer": {"vocab": 9, "pad_id": 0, "eos_id": 0}})
    by_length = Batch("b", {"tokens": tokens, "lengths": np.array([2, 6])})
    assert [batch.spans(row) for batch in (by_length,) for row in (0, 1)] == [[Span(1, 0, 2)], [Span(1, 0, 6)]]
    assert Batch("b", {"tokens": tokens}, padded).spans(0) == [Span(1, 0, 4)]
    assert Batch("b", {"tokens": tokens}, same).spans(0) == [Span(1, 0, 5)]
    assert Batch("b", {"tokens": tokens}).spans(0) == [] and batch_facts(Batch("b", {"tokens": tokens})).tokens is None


def test_roles_by_declaration_and_by_name() -> None:
    data = DataSection.model_validate({"fields": {"x": {"role": "tokens"}, "labels": {"role": "loss_mask"}}})
    arrays = {name: np.ones((2, 3), int) for name in ("x", "tokens", "labels", "targets", "mask")}
    roles = Batch("b", arrays, data).roles
    assert roles["tokens"] == "x" and roles["loss_mask"] == "labels" and roles["targets"] == "targets"
