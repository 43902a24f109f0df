"""Every rule on batches: batches that break it, and twins that do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from contract_lint.contracts.finding import Finding
from contract_lint.linters.registry import builtin_rules

Judge = Callable[..., list[Finding]]
TOKENIZER = "data: { tokenizer: { vocab: 50, pad_id: 0, eos_id: 2 } }\n"
TEXT = np.arange(3, 23).reshape(2, 10)
SEGMENTS = np.array([[1, 1, 1, 1, 2, 2, 2, 3, 3, 0], [1] * 10])
POSITIONS = np.array([[0, 1, 2, 3, 0, 1, 2, 0, 1, 0], list(range(10))])
INSIDE = np.array([[1, 1, 1, 0, 1, 1, 0, 1, 0, 0], [1] * 9 + [0]], np.float32)
"""Targets of SEGMENTS that are in the document of their token."""


def following(tokens: np.ndarray, by: int = 1) -> np.ndarray:
    return np.concatenate([tokens[:, by:], np.zeros_like(tokens[:, :by])], axis=1)


LEFT = np.array([[0, 0, 0, *range(3, 10)], list(range(10, 20))])
"""A row that is padded on the left."""
LEFT_POSITIONS = np.array([[7, 0, 7, *range(7)], list(range(10))])
BOTH = np.arange(3, 25).reshape(2, 11)
"""Inputs and targets in one."""


def ignored(tokens: np.ndarray, where: np.ndarray, by: int = 1, value: int = -100) -> np.ndarray:
    """Targets that say by an id below 0 that they are not counted."""
    return np.where(where > 0, following(tokens, by), value)


BAD: dict[str, list[tuple[str, dict[str, Any], str]]] = {
    "DAT601": [
        ("data: { fields: { tokens: {}, loss_mask: {} } }", {"tokens": TEXT}, "loss_mask is not in the batch"),
        ("data: { fields: { tokens: {} } }", {"tokens": TEXT, "extra": TEXT}, "extra is in the batch and not in"),
    ],
    "DAT602": [
        ("data: { fields: { tokens: { dtype: int32 } } }", {"tokens": TEXT}, "is int64, promised is int32"),
        ("data: { fields: { tokens: { shape: [4, s] } } }", {"tokens": TEXT}, "is [2, 10], promised is [4, 10]"),
        ("data: { fields: { tokens: { shape: [b] } } }", {"tokens": TEXT}, "is [2, 10], promised is [2]"),
        ("data: { fields: { tokens: { shape: [b, b] } } }", {"tokens": TEXT}, "promised is [2, 2]"),
        (
            "batch: { size: 4 }\ndata: { fields: { tokens: { shape: [batch, s] } } }",
            {"tokens": TEXT},
            "promised is [4, 10]",
        ),
        ("", {"tokens": TEXT, "loss_mask": np.ones((2, 8))}, "loss_mask is [2, 8], and the tokens are [2, 10]"),
        ("", {"tokens": TEXT, "positions": POSITIONS.astype(float)}, "positions are whole numbers"),
        ("", {"tokens": TEXT[None]}, "nothing was checked but names and numbers: tokens is [1, 2, 10]: not [rows"),
        (
            "",
            {"pictures": TEXT},
            "nothing was checked but names and numbers: no array has a name or role that is known",
        ),
        ("", {"tokens": BOTH, "targets": TEXT}, "targets is [2, 10], and the tokens are [2, 11]"),
        ("", {"tokens": BOTH, "loss_mask": INSIDE, "positions": POSITIONS[:, :9]}, "loss_mask is [2, 10], and"),
    ],
    "DAT603": [
        ("data: { tokenizer: { vocab: 22 } }", {"tokens": TEXT}, "1 of 20 values of tokens are outside the vocabulary"),
        ("data: { tokenizer: { vocab: 50 } }", {"tokens": TEXT - 4}, "row 0, column 0: -1"),
        (
            "data: { fields: { tokens: { range: [3, 21] } } }",
            {"tokens": TEXT},
            "outside 3 to 21 (first: row 1, column 9",
        ),
        ("", {"tokens": TEXT, "loss_mask": np.where(TEXT == 7, np.nan, 1)}, "loss_mask are NaN or infinite"),
        ("", {"tokens": TEXT, "loss_weights": np.where(TEXT == 7, -0.5, 1)}, "loss_weights are below 0"),
        ("", {"tokens": -TEXT}, "20 of 20 values of tokens are below 0 (first: row 0, column 0: -3)"),
        (
            "",
            {"tokens": TEXT, "targets": np.where(TEXT == 7, -2, ignored(TEXT, INSIDE))},
            "values of targets are below 0",
        ),
        (
            "data: { fields: { tokens: {}, targets: { range: [-1, 49] } }, tokenizer: { vocab: 50 } }",
            {"tokens": TEXT, "targets": ignored(TEXT, INSIDE)},
            "outside the vocabulary of 50 (first: row 0, column 3: -100)",
        ),
    ],
    "DAT604": [
        ("", {"tokens": TEXT, "attention_mask": LEFT > 0, "positions": POSITIONS}, "tokens have another position"),
        (
            TOKENIZER,
            {"tokens": LEFT, "positions": np.broadcast_to(np.arange(10), (2, 10))},
            "1 of 2 documents begin at",
        ),
        (
            "",
            {"segment_ids": SEGMENTS, "positions": np.broadcast_to(np.arange(10), (2, 10))},
            "2 of 4 documents begin at a position other than 0 (first: row 0, column 4: position 4)",
        ),
        ("", {"segment_ids": SEGMENTS, "positions": POSITIONS + (SEGMENTS == 2)}, "3 of 19 tokens"),
        ("", {"segment_ids": SEGMENTS, "positions": np.where(POSITIONS == 3, 4, POSITIONS)}, "column 3: 4, not 3"),
        ("data: { packing: { positions: row } }", {"segment_ids": SEGMENTS, "positions": POSITIONS}, "in their row"),
    ],
    "DAT605": [
        ("", {"segment_ids": [[1, 1, 2, 2, 1, 0]]}, "1 document go"),
        ("", {"segment_ids": [[0, 1, 1, 0, 2, 0], [1] * 6]}, "2 padding tokens in 1 rows have text behind them"),
        ("data: { packing: { padding_segment: -1 } }", {"segment_ids": [[0, -1, 0, -1]]}, "1 padding tokens"),
    ],
    "DAT606": [
        ("", {"tokens": TEXT, "labels": ignored(TEXT, INSIDE * following(INSIDE), 2)}, "the token after the next"),
        ("data: { shift: model }", {"tokens": TEXT, "labels": ignored(TEXT, INSIDE)}, "promised is the same token"),
        (
            "data: { shift: batch }",
            {"input_ids": TEXT, "labels": ignored(TEXT, INSIDE, 0)},
            "are the same token, promised",
        ),
        ("", {"tokens": TEXT, "targets": TEXT}, "all 20 counted targets are the same token"),
        ("", {"tokens": TEXT, "targets": following(TEXT, 2)}, "all 16 counted targets are the token after the next"),
        ("", {"tokens": TEXT, "targets": TEXT}, "counted targets are the same token"),
        ("data: { shift: model }", {"tokens": TEXT, "targets": following(TEXT)}, "promised is the same token"),
        (
            "data: { shift: batch }",
            {"tokens": TEXT, "targets": np.where(TEXT == 9, 1, following(TEXT))},
            "1 of 18 counted targets are not the next token (first: row 0, column 6)",
        ),
        (
            "",
            {
                "tokens": TEXT,
                "targets": following(TEXT, 2),
                "segment_ids": SEGMENTS,
                "loss_mask": (SEGMENTS != 0).astype(int),
            },
            "the token after the next",
        ),
    ],
    "DAT607": [
        (
            "data: { tokenizer: { vocab: 50, pad_id: 2, eos_id: 2 }, shift: model }",
            {"tokens": [[5, 6, 2, 7, 8, 2, 2, 2]], "labels": [[5, 6, -100, 7, 8, -100, -100, -100]]},
            "2 of 2 ends of documents among the targets do not count in the loss (first: row 0, column 2)",
        ),
        (
            TOKENIZER.replace(" } }", " }, counted: { eos: true } }"),
            {"tokens": [[5, 6, 2, 0]], "labels": [[6, -1, -1, -1]]},
            "1 of 1 ends of documents among the targets do not count in the loss (first: row 0, column 1)",
        ),
        (
            "data: { tokenizer: { vocab: 50, pad_id: 2, eos_id: 2 } }",
            {
                "tokens": [[5, 6, 2, 7, 8, 2, 2, 2]],
                "targets": [[6, 2, 7, 8, 2, 2, 2, 2]],
                "loss_mask": [[1, 0, 1, 1] + [0] * 4],
            },
            "2 of 2 ends of documents among the targets do not count in the loss (first: row 0, column 1): padding has",
        ),
        (
            TOKENIZER.replace(" } }", " }, counted: { eos: true } }"),
            {
                "tokens": [[5, 6, 2, 7]],
                "targets": [[6, 2, 7, 0]],
                "segment_ids": [[1] * 4],
                "loss_mask": [[1, 0, 1, 0]],
            },
            "1 of 1 ends",
        ),
    ],
    "DAT608": [
        ("", {"tokens": TEXT, "attention_mask": LEFT > 0, "loss_mask": np.ones((2, 10))}, "3 of 20 targets that count"),
        (
            "",
            {"tokens": TEXT, "segment_ids": SEGMENTS, "labels": ignored(TEXT, np.arange(10) != 3)},
            "1 of 18 targets that count in the loss are padding (first: row 0, column 9)",
        ),
        (
            TOKENIZER.replace("{ tok", "{ fields: { tokens: {}, labels: {} }, tok"),
            {"tokens": LEFT[:, ::-1], "labels": following(LEFT[:, ::-1])},
            "3 of 20 targets are padding (first: row 0, column 7), and nothing in the batch says",
        ),
        (TOKENIZER, {"tokens": BOTH * (BOTH < 23), "loss_mask": np.ones((2, 10))}, "2 of 20 targets that count"),
        ("", {"tokens": TEXT, "segment_ids": SEGMENTS, "loss_mask": np.ones((2, 10))}, "1 of 20 targets that count"),
        ("", {"tokens": TEXT, "lengths": [8, 10], "loss_mask": np.ones((2, 10))}, "2 of 20 targets that count"),
        (
            TOKENIZER,
            {"tokens": [[5, 6, 0, 0]], "targets": [[6, 0, 0, 0]], "loss_mask": [[1, 1, 0, 0]]},
            "1 of 2 targets",
        ),
    ],
    "DAT609": [
        (
            "",
            {
                "tokens": TEXT,
                "targets": following(TEXT),
                "segment_ids": SEGMENTS,
                "loss_mask": (SEGMENTS != 0).astype(int),
            },
            "2 of 2 ends of documents count the first token of the next one (first: row 0, column 3)",
        ),
    ],
    "DAT610": [
        ("", {"tokens": np.zeros((0, 8), int)}, "the batch is 0 x 8: it holds no token"),
        ("", {"tokens": np.zeros((8, 0), int), "targets": np.zeros((8, 0), int)}, "the batch is 8 x 0"),
        ("", {"tokens": TEXT, "labels": np.full((2, 10), -100)}, "no target of the batch counts"),
        ("", {"tokens": TEXT, "loss_mask": np.zeros((2, 10))}, "no target of the batch counts"),
        ("", {"tokens": TEXT, "loss_mask": INSIDE * [[0], [1]]}, "1 of 2 rows count nothing in the loss (0)"),
        ("", {"tokens": TEXT, "loss_mask": INSIDE, "loss_weights": INSIDE * [[1], [0]]}, "1 of 2 rows"),
    ],
    "DAT611": [
        (
            "mesh: { axes: { data: 4 } }\nbatch: { size: 2, axes: [data] }\ndata: {}",
            {"tokens": TEXT},
            "4 devices (data)",
        ),
        (
            "mesh: { axes: { data: 1 } }\naccumulation: { microbatches: 4 }\nbatch: { size: 4, axes: data }\ndata: {}",
            {"tokens": TEXT},
            "do not divide into 4 microbatches and 1 devices",
        ),
    ],
    "DAT612": [
        ("", {"tokens": TEXT, "targets": following(TEXT), "labels": TEXT}, "targets was checked, labels was not"),
        ("data: { fields: { tokens: {}, labels: {}, targets: {} } }", {"targets": TEXT, "labels": LEFT}, "labels was"),
        ("", {"tokens": TEXT, "mask": INSIDE, "loss_mask": INSIDE > 2}, "loss_mask was checked, mask was not"),
    ],
}
WHOLE = {
    "tokens": TEXT,
    "targets": following(TEXT),
    "segment_ids": SEGMENTS,
    "positions": POSITIONS,
    "loss_mask": INSIDE,
    "loss_weights": INSIDE * 0.5,
}
GOOD: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "DAT601": [("data: { fields: { tokens: {}, other: {} } }", {"tokens": TEXT, "other": [1, 2]})],
    "DAT602": [
        (
            "batch: { size: 2 }\ndata: { fields: { tokens: { shape: [batch, s], dtype: int64 }, x: { shape: [s] } } }",
            {"tokens": TEXT, "x": np.zeros(10)},
        ),
        (
            "data: { fields: { mask: { role: loss_mask, shape: [b, s] } } }",
            {"tokens": TEXT, "mask": np.ones((2, 10), bool)},
        ),
        ("", {"tokens": BOTH, "loss_mask": INSIDE, "segment_ids": SEGMENTS, "positions": POSITIONS}),
        ("", {"tokens": BOTH}),
        ("", {"tokens": TEXT, "attention_mask": np.ones((2, 1, 10, 10))}),
        ("data: { fields: { x: { role: tokens }, pictures: {} } }", {"x": TEXT, "pictures": np.ones(3)}),
    ],
    "DAT603": [
        ("data: { tokenizer: { vocab: 23 } }", {"tokens": TEXT}),
        (
            "data: { tokenizer: { vocab: 50 } }",
            {"tokens": TEXT, "targets": np.where(INSIDE > 0, TEXT, -100), "loss_mask": INSIDE},
        ),
        ("data: { fields: { tokens: { range: [3, 22] } } }", {"tokens": TEXT}),
        ("data: { tokenizer: { vocab: 50 } }", {"tokens": TEXT, "labels": ignored(TEXT, INSIDE)}),
        (
            "data: { fields: { tokens: {}, labels: { range: [-1, 49] } }, tokenizer: { vocab: 50 } }",
            {"tokens": TEXT, "labels": ignored(TEXT, INSIDE, value=-1)},
        ),
        ("", {"tokens": np.where(SEGMENTS, TEXT, -1), "segment_ids": SEGMENTS}),
    ],
    "DAT604": [
        (
            "data: { packing: { positions: row } }",
            {"segment_ids": SEGMENTS, "positions": np.broadcast_to(np.arange(10), (2, 10))},
        ),
        ("", {"segment_ids": SEGMENTS, "positions": np.where(SEGMENTS == 0, 77, POSITIONS)}),
        ("", {"positions": np.zeros((2, 10), int)}),
        (TOKENIZER, {"tokens": LEFT, "positions": LEFT_POSITIONS}),
        ("", {"tokens": TEXT, "attention_mask": LEFT > 0, "positions": LEFT_POSITIONS}),
        ("", {"tokens": TEXT, "attention_mask": SEGMENTS, "positions": POSITIONS}),
        # A decoder's rows begin with the padding id.
        (TOKENIZER, {"tokens": np.where(np.arange(10), TEXT, 0), "positions": [list(range(10))] * 2}),
        # What is added to the scores is no word on padding.
        ("", {"tokens": TEXT, "attention_mask": np.where(LEFT > 0, 0, -1e9), "positions": POSITIONS}),
    ],
    "DAT605": [
        ("", {"segment_ids": [[3, 3, 1, 2, 2, 0]]}),
        ("data: { packing: { padding_segment: -1 } }", {"segment_ids": [[0, 0, 1, 1, -1]]}),
    ],
    "DAT606": [
        ("", {"tokens": TEXT, "targets": following(TEXT)}),
        ("data: { shift: batch }", {"tokens": TEXT, "labels": ignored(TEXT, INSIDE)}),
        ("", {"tokens": TEXT, "targets": ignored(TEXT, INSIDE, 0)}),
        ("", {"input_ids": TEXT, "labels": TEXT}),
        ("data: { shift: model }", {"tokens": LEFT, "labels": ignored(LEFT, LEFT, 0), "attention_mask": LEFT > 0}),
        ("data: { shift: model }", {"tokens": BOTH, "loss_mask": INSIDE}),
        ("data: { shift: model }", {"tokens": TEXT, "targets": TEXT}),
        ("", {"tokens": TEXT, "targets": TEXT[::-1]}),
        ("", {"tokens": TEXT[:, :3], "targets": TEXT[:, :3]}),
        (
            "data: { shift: batch }",
            {"tokens": TEXT, "targets": np.where(INSIDE > 0, following(TEXT), -100), "loss_mask": INSIDE},
        ),
    ],
    "DAT607": [
        (
            TOKENIZER.replace(" } }", " }, counted: { eos: true } }"),
            {"tokens": [[5, 6, 2, 0]], "labels": [[6, 2, -1, -1]]},
        ),
        (
            "data: { tokenizer: { vocab: 50, pad_id: 2, eos_id: 2 }, shift: model, counted: { eos: true } }",
            {"tokens": [[2, 2, 5, 6, 2]], "labels": [[-100, -100, 5, 6, 2]], "attention_mask": [[0, 0, 1, 1, 1]]},
        ),
        (
            "data: { tokenizer: { vocab: 50, pad_id: 2, eos_id: 2 } }",
            {
                "tokens": [[5, 6, 2, 7, 8, 2, 2, 2]],
                "targets": [[6, 2, 7, 8, 2, 2, 2, 2]],
                "loss_mask": [[1] * 5 + [0] * 3],
            },
        ),
        (
            TOKENIZER,
            {"tokens": [[5, 2, 7]], "targets": [[2, 7, 0]], "segment_ids": [[1] * 3], "loss_mask": [[0, 1, 0]]},
        ),
        (
            TOKENIZER.replace(" } }", " }, counted: { eos: true } }"),
            {"tokens": [[5, 2, 0]], "targets": [[2, 0, 2]], "segment_ids": [[1, 1, 0]], "loss_mask": [[1, 0, 0]]},
        ),
    ],
    "DAT608": [
        (
            "data: { counted: { padding: true } }",
            {"tokens": TEXT, "segment_ids": SEGMENTS, "loss_mask": np.ones((2, 10))},
        ),
        (TOKENIZER, {"tokens": [[5, 6, 0, 0]], "targets": [[6, 2, 0, 0]], "loss_mask": [[1, 1, 0, 0]]}),
        (TOKENIZER, {"tokens": LEFT, "labels": ignored(LEFT, (following(LEFT) > 0) * (np.arange(10) < 9))}),
        (
            TOKENIZER.replace("{ tok", "{ fields: { tokens: {}, labels: {} }, counted: { padding: true }, tok"),
            {"tokens": LEFT[:, ::-1], "labels": following(LEFT[:, ::-1])},
        ),
        (TOKENIZER, {"tokens": LEFT, "labels": following(LEFT)}),
        ("", {"tokens": TEXT, "loss_mask": np.ones((2, 10))}),
    ],
    "DAT609": [
        (
            "data: { counted: { across_documents: true } }",
            {
                "tokens": TEXT,
                "targets": following(TEXT),
                "segment_ids": SEGMENTS,
                "loss_mask": (SEGMENTS != 0).astype(int),
            },
        ),
        (
            "data: { attention: { scope: row } }",
            {
                "tokens": TEXT,
                "targets": following(TEXT),
                "segment_ids": SEGMENTS,
                "loss_mask": (SEGMENTS != 0).astype(int),
            },
        ),
        (
            "",
            {
                "tokens": TEXT,
                "targets": np.where(INSIDE > 0, following(TEXT), 2),
                "segment_ids": SEGMENTS,
                "loss_mask": (SEGMENTS != 0).astype(int),
            },
        ),
    ],
    "DAT610": [
        ("", {"tokens": TEXT, "loss_mask": INSIDE}),
        ("", {"tokens": TEXT, "labels": ignored(TEXT, INSIDE)}),
        ("", {"pictures": np.zeros((0, 8))}),
    ],
    "DAT611": [
        ("mesh: { axes: { data: 2 } }\nbatch: { size: 2, axes: [data] }\ndata: {}", {"tokens": TEXT}),
        ("batch: { size: 2 }\ndata: {}", {"tokens": TEXT}),
    ],
    "DAT612": [
        ("", {"tokens": TEXT, "inputs": TEXT}),
        ("data: { fields: { tokens: {}, labels: {}, targets: { role: targets } } }", {"targets": TEXT, "labels": LEFT}),
        ("data: { fields: { labels: { role: loss_mask } } }", {"targets": TEXT, "labels": SEGMENTS}),
    ],
}


@pytest.mark.parametrize(
    ("code", "contract", "arrays", "said"),
    [(code, *each) for code, cases in BAD.items() for each in cases],
    ids=[f"{code}-{number}" for code, cases in BAD.items() for number in range(len(cases))],
)
def test_bad(judge: Judge, code: str, contract: str, arrays: dict[str, Any], said: str) -> None:
    found = judge(contract, **arrays)
    assert [finding.message for finding in found if finding.code == code and said in finding.message], [
        (finding.code, finding.message) for finding in found
    ]
    for finding in found:
        assert finding.location is not None and finding.location.path == "batch.npz" and "\n" not in finding.message


@pytest.mark.parametrize(
    ("code", "contract", "arrays"),
    [(code, *each) for code, cases in GOOD.items() for each in cases],
    ids=[f"{code}-{number}" for code, cases in GOOD.items() for number in range(len(cases))],
)
def test_good(judge: Judge, code: str, contract: str, arrays: dict[str, Any]) -> None:
    assert [finding.message for finding in judge(contract, **arrays) if finding.code == code] == []


def test_a_whole_batch_is_clean(judge: Judge) -> None:
    contract = "batch: { size: 2 }\n" + TOKENIZER.replace(" } }", " }, shift: batch, packing: { kind: segments } }")
    assert judge(contract, **WHOLE) == judge("", **WHOLE) == []


def test_every_rule_has_twins() -> None:
    """Those on what a step did with a batch have theirs in `test_probe_rules`."""
    codes = [rule.code for rule in builtin_rules("batch") if not rule.code.startswith("DAT62")]
    assert codes == list(BAD) == list(GOOD) and all(code[:4] == "DAT6" for code in codes)


def test_a_promise_is_named_with_its_place(judge: Judge) -> None:
    (found,) = judge("data:\n  tokenizer:\n    vocab: 22\n", tokens=TEXT)
    assert found.key == "data.tokenizer.vocab"
    assert found.evidence == ("promised at batches.contract.yaml:6:5 data.tokenizer.vocab",)
