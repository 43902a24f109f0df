"""Rules on what a step did with a batch: facts that break them, and twins that do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from contract_lint.contracts.finding import Finding
from contract_lint.contracts.model import DataSection
from contract_lint.contracts.probe import Moved, ProbeFacts
from contract_lint.linters.batch.batch import Batch
from contract_lint.linters.batch.changes import changes, target_changes
from contract_lint.linters.registry import builtin_rules
from contract_lint.runtime.probe import _moved as moved_losses

Judge = Callable[..., list[Finding]]
SEGMENTS = np.array([[1, 1, 1, 1, 2, 2, 2, 3, 3, 0]])
POSITIONS = np.array([[0, 1, 2, 3, 0, 1, 2, 0, 1, 0]])
MASK = np.array([[1, 1, 1, 0, 1, 1, 0, 1, 0, 0]], np.float32)
TOKENS = np.array([[3, 4, 5, 6, 7, 8, 9, 10, 11, 0]])
TARGETS = np.array([[4, 5, 6, 7, 8, 9, 10, 11, 0, 0]])
ARRAYS = {
    "tokens": TOKENS,
    "targets": TARGETS,
    "segment_ids": SEGMENTS,
    "positions": POSITIONS,
    "loss_mask": MASK,
}


def moved(column: int, *runs: tuple[tuple[int, int], float]) -> Moved:
    """What another token at a column of row 0 moved: runs of columns, and by how much each of a run."""
    return Moved(row=0, column=column, losses={c: by for (start, stop), by in runs for c in range(start, stop)})


RIGHT = [
    moved(0, ((0, 4), 0.5)),
    moved(4, ((4, 7), 0.5)),
    moved(5, ((5, 7), 0.5)),
    moved(9, ((9, 10), 0.5)),
]
TERMS = {"cross_entropy": (9.0, 6.0)}


def facts(*changes: Moved, **fields: Any) -> ProbeFacts:
    given = {"step": "train", "fields": sorted(ARRAYS), "how": "token_losses", "terms": TERMS} | fields
    return ProbeFacts(moved=list(changes or RIGHT), **given)


def test_a_right_step(judge: Judge) -> None:
    assert judge(probe=facts(), **ARRAYS) == []


def uneven(column: int, allowed: float, forbidden: float, where: set[int]) -> Moved:
    """Every loss of the row moves: those of `where` by `forbidden`, the others by `allowed`."""
    return Moved(row=0, column=column, losses={c: forbidden if c in where else allowed for c in range(10)})


@pytest.mark.parametrize("forbidden", [1e-7, 3.0, float("inf"), float("nan")])
def test_the_largest_change_is_of_what_may_not_move(judge: Judge, forbidden: float) -> None:
    """Whatever else moves beside it, and by however much more."""
    for column, start in ((0, 0), (4, 4), (5, 4)):
        others = {c for c in range(9) if SEGMENTS[0, c] != SEGMENTS[0, column]}
        (leak,) = judge(
            "data: { attention: { causal: false } }", facts(uneven(column, 0.5, forbidden, others)), **ARRAYS
        )
        assert (leak.code, leak.found, leak.details["count"]) == ("DAT621", f"{forbidden:.4g}", len(others))
        assert f"moves the loss of {len(others)} targets" in leak.message
        before = set(range(start, column))
        seen = judge(ROW_SCOPE, facts(uneven(column, 0.5, forbidden, before)), **ARRAYS)
        assert [(each.code, each.found) for each in seen] == [("DAT622", f"{forbidden:.4g}")] * bool(before)
    far = {2, 3}
    (one,) = judge(
        WINDOW.format(1, 2),
        facts(Moved(row=0, column=0, losses=dict.fromkeys(range(4), 0.5) | dict.fromkeys(far, forbidden))),
        **ARRAYS,
    )
    assert (one.code, one.found, one.details["count"]) == ("DAT626", f"{forbidden:.4g}", 2)


def test_facts_survive_the_process_border() -> None:
    seen = facts(
        Moved(row=0, column=1, losses={2: float("nan"), 3: float("inf"), 4: 5e-324}), terms={"a": (1, float("nan"))}
    )
    assert repr(ProbeFacts.model_validate_json(seen.model_dump_json())) == repr(seen)


ROW_SCOPE = "data: { attention: { scope: row } }"
BAD = [
    (
        "DAT621",
        facts(moved(0, ((0, 7), 0.25))),
        "document 1 (column 0) moves the loss of 3",
    ),
    (
        "DAT621",
        facts(moved(0, ((0, 4), 0.5), ((8, 9), 1e-30))),
        "largest change 1e-30, must be",
    ),
    ("DAT621", facts(moved(9, ((2, 3), 0.5))), "another token in the padding (column 9)"),
    ("DAT622", facts(moved(5, ((4, 7), 0.5))), "moves the loss of column 4, which stands"),
    ("DAT623", facts(dead=["positions"]), "the step train takes positions, and nothing it returns depends on it"),
    ("DAT624", facts(terms={"xent": (9.0, 10.0)}), "is divided by 10, and the targets that count add up to 6"),
    ("DAT625", facts(moved(0), moved(4)), "2 tokens of the batch were changed"),
]


@pytest.mark.parametrize(("code", "probe", "said"), BAD)
def test_each_breaks_its_rule_alone(judge: Judge, code: str, probe: ProbeFacts, said: str) -> None:
    (found,) = judge(probe=probe, **ARRAYS)
    assert found.code == code and said in found.message and found.severity == "error"


def test_every_rule_has_a_case() -> None:
    assert {code for code, _, _ in BAD} | {"DAT626", "DAT627"} == {
        r.code for r in builtin_rules("batch") if r.code.startswith("DAT62")
    }


def test_a_leak_explains_segment_ids_that_nothing_reads(judge: Judge) -> None:
    leak = moved(0, ((0, 9), 0.25))
    first, second = judge(probe=facts(leak, dead=["segment_ids"]), **ARRAYS)
    assert (first.code, second.code) == ("DAT621", "DAT623") and second.caused_by == first.fingerprint
    assert "segment_ids is dead in the step" in first.evidence
    (alone,) = judge(probe=facts(dead=["segment_ids"]), **ARRAYS)
    assert alone.code == "DAT623" and alone.is_root


def test_what_the_contract_allows(judge: Judge) -> None:
    leak = moved(0, ((0, 9), 0.25))
    assert judge(ROW_SCOPE, probe=facts(leak), **ARRAYS) == []
    back = moved(5, ((4, 7), 0.5))
    assert judge("data: { attention: { causal: false } }", probe=facts(back), **ARRAYS) == []
    shifted = {**ARRAYS, "targets": TOKENS}
    back = moved(5, ((4, 7), 0.5))
    assert "DAT622" not in {each.code for each in judge("data: { shift: model }", probe=facts(back), **shifted)}


@pytest.mark.parametrize(
    ("shift", "column", "found"),
    [("batch", 2, []), ("batch", 1, ["DAT627"]), ("batch", 3, ["DAT627"]), ("model", 1, []), ("model", 2, ["DAT627"])],
)
def test_a_target_answers_for_the_column_that_is_promised(
    judge: Judge, shift: str, column: int, found: list[str]
) -> None:
    arrays = ARRAYS if shift == "batch" else {**ARRAYS, "targets": TOKENS}
    seen = facts(answered=[moved(2, ((column, column + 1), 0.5))])
    assert [each.code for each in judge(f"data: {{ shift: {shift} }}", probe=seen, **arrays)] == found
    assert judge("data: {}", probe=seen, **ARRAYS) == []  # nothing is promised
    spread = facts(answered=[moved(2, ((0, 4), 0.5))])
    assert judge(f"data: {{ shift: {shift} }}", probe=spread, **arrays) == []


def test_targets_are_changed_where_they_and_their_neighbours_count() -> None:
    batch = Batch("batch.npz", ARRAYS, DataSection())
    (change,) = target_changes(batch)
    assert (change.row, change.column) == (0, 1) and change.token != 5
    alone = {"tokens": TOKENS, "targets": TARGETS, "loss_mask": np.array([[1, 1, 0, 1, 1, 0, 1, 1, 0, 0]])}
    assert target_changes(Batch("batch.npz", alone, DataSection())) == []
    assert target_changes(Batch("batch.npz", {"tokens": TOKENS}, DataSection())) == []


WINDOW = """\
model: {{ kind: dense, layers: {}, d_model: 8, heads: 2, kv_heads: 1, d_ff: 8, vocab: 64, sequence: 10 }}
data: {{ attention: {{ window: {} }} }}
"""


@pytest.mark.parametrize(
    ("layers", "window", "found"), [(1, 3, ["DAT626"]), (1, 4, []), (2, 2, ["DAT626"]), (3, 2, [])]
)
def test_a_window_reaches_so_far_in_every_layer(judge: Judge, layers: int, window: int, found: list[str]) -> None:
    far = moved(0, ((0, 4), 0.5))
    assert [each.code for each in judge(WINDOW.format(layers, window), probe=facts(far), **ARRAYS)] == found


def _windowed(tokens: np.ndarray, layers: int, window: int) -> np.ndarray:
    """One number for each token of layers of attention, of which each sees so many tokens."""
    rng = np.random.default_rng(0)
    h = rng.normal(size=(64, 4))[tokens]
    back = np.arange(tokens.shape[1])[:, None] - np.arange(tokens.shape[1])
    for _ in range(layers):
        scores = np.where((back >= 0) & (back < window), h @ h.swapaxes(1, 2), -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        h = h + (weights / weights.sum(axis=-1, keepdims=True)) @ h
    return h.sum(axis=-1)


@pytest.mark.parametrize(("window", "found"), [(3, []), (4, ["DAT626"]), (24, ["DAT626"])])
def test_layers_of_attention_keep_their_window_or_do_not(judge: Judge, window: int, found: list[str]) -> None:
    """Two layers with a promised window of 3, and what really moves where they have this one."""
    tokens = np.random.default_rng(1).integers(1, 64, (2, 24))
    arrays = {"tokens": tokens, "loss_mask": np.ones(tokens.shape, np.float32)}
    before, seen = _windowed(tokens, 2, window), []
    for change in changes(Batch("b.npz", arrays)):
        other = tokens.copy()
        other[change.row, change.column] = change.token
        seen.append(moved_losses(change.row, change.column, before, _windowed(other, 2, window)))
    assert seen
    terms = {"xent": (9.0, float(tokens.size))}
    assert [each.code for each in judge(WINDOW.format(2, 3), probe=facts(*seen, terms=terms), **arrays)] == found


def test_the_farthest_loss_is_named(judge: Judge) -> None:
    far = moved(0, ((0, 2), 0.5), ((3, 4), 1e-20))
    (one,) = judge(WINDOW.format(2, 2), probe=facts(far), **ARRAYS)
    assert "moves the loss of column 3" in one.message and "2 layers with a window of 2 reach 2" in one.message
    assert one.found == "1e-20" and one.key == "data.attention.window"
    alone = {name: array for name, array in ARRAYS.items() if name not in ("segment_ids", "positions")}
    row = moved(2, ((2, 10), 0.5))
    assert [each.code for each in judge(WINDOW.format(1, 2), probe=facts(row), **alone)] == ["DAT626"]
    assert judge("data: { attention: { window: 2 } }", probe=facts(row), **alone) == []


OBJECTIVE = "objective: {{ terms: [{{ name: xent, normaliser: {} }}] }}\ndata: {{}}"


@pytest.mark.parametrize(
    ("normaliser", "denominator"),
    [("global_valid_tokens", 6.0), ("batch_positions", 10.0), ("sequences", 1.0), ("experts", 8.0)],
)
def test_the_denominator_is_the_promised_one(judge: Judge, normaliser: str, denominator: float) -> None:
    promise = OBJECTIVE.format(normaliser)
    assert judge(promise, probe=facts(terms={"xent": (9.0, denominator)}), **ARRAYS) == []
    found = judge(promise, probe=facts(terms={"xent": (9.0, denominator + 1)}), **ARRAYS)
    assert [each.code for each in found] == ["DAT624"] * (normaliser != "experts")


def test_changes_are_where_a_leak_would_show() -> None:
    batch = Batch("b.npz", {name: np.repeat(array, 2, axis=0) for name, array in ARRAYS.items()})
    np.asarray(batch.arrays["segment_ids"])[0] = 1
    made = changes(batch)
    assert {change.row for change in made} == {1}
    assert [change.column for change in made] == [0, 4, 7, 2, 5, 8, 9]
    assert all(change.token != TOKENS[0, change.column] for change in made)
    assert changes(Batch("b.npz", {"segment_ids": SEGMENTS})) == []


def test_no_special_token_is_put_anywhere() -> None:
    data = DataSection.model_validate({"tokenizer": {"vocab": 12, "pad_id": 0, "eos_id": 3, "bos_id": 4}})
    made = changes(Batch("b.npz", ARRAYS, data))
    assert made and not {change.token for change in made} & {0, 3, 4}
