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
        ("", {"tokens": TEXT, "loss_mask": np.ones((2, 9))}, "loss_mask is [2, 9], and the tokens are [2, 10]"),
        ("", {"tokens": TEXT, "positions": POSITIONS.astype(float)}, "positions are whole numbers"),
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
    ],
    "DAT604": [
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
    ],
    "DAT603": [
        ("data: { tokenizer: { vocab: 23 } }", {"tokens": TEXT}),
        (
            "data: { tokenizer: { vocab: 50 } }",
            {"tokens": TEXT, "targets": np.where(INSIDE > 0, TEXT, -100), "loss_mask": INSIDE},
        ),
        ("data: { fields: { tokens: { range: [3, 22] } } }", {"tokens": TEXT}),
    ],
    "DAT604": [
        (
            "data: { packing: { positions: row } }",
            {"segment_ids": SEGMENTS, "positions": np.broadcast_to(np.arange(10), (2, 10))},
        ),
        ("", {"segment_ids": SEGMENTS, "positions": np.where(SEGMENTS == 0, 77, POSITIONS)}),
        ("", {"positions": np.zeros((2, 10), int)}),
    ],
    "DAT605": [
        ("", {"segment_ids": [[3, 3, 1, 2, 2, 0]]}),
        ("data: { packing: { padding_segment: -1 } }", {"segment_ids": [[0, 0, 1, 1, -1]]}),
    ],
    "DAT606": [
        ("", {"tokens": TEXT, "targets": following(TEXT)}),
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
    "DAT610": [("", {"tokens": TEXT, "loss_mask": INSIDE})],
    "DAT611": [
        ("mesh: { axes: { data: 2 } }\nbatch: { size: 2, axes: [data] }\ndata: {}", {"tokens": TEXT}),
        ("batch: { size: 2 }\ndata: {}", {"tokens": TEXT}),
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
