"""Hot spots of programs that XLA compiles here: each is found with the bytes that a count by shape gives, its twin has
none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from contract_lint import parse_hlo
from contract_lint.hlo_tools.hotspots import HotSpot, hot_spots

from .sizes import TOKENS, VOCAB, WIDTH, B, D, H, S

pytestmark = pytest.mark.slow
_NO_KERNELS = ("parameter", "constant", "tuple", "get-tuple-element", "bitcast")


@pytest.fixture(scope="module")
def texts() -> dict[str, list[str]]:
    child = Path(__file__).with_name("programs_child.py")
    return json.loads(subprocess.run([sys.executable, child], capture_output=True, check=True).stdout)


def only(text: str) -> HotSpot:
    (spot,) = hot_spots(parse_hlo(text)).rows
    return spot


def touched(text: str, elements: int) -> int:
    """Bytes of f32 arrays of so many elements that the entry's kernels read and write, each operand once."""
    arrays = 0
    for kernel in parse_hlo(text).entry:
        if kernel.opcode not in _NO_KERNELS:
            operands = {id(operand): operand.shape for operand in kernel.operands}
            arrays += sum(shape.elements == elements for shape in operands.values() if not shape.is_tuple)
            arrays += sum(leaf.elements == elements for _, leaf in kernel.shape.leaves())
    return 4 * elements * arrays


def test_twins_have_none(texts: dict[str, list[str]]) -> None:
    assert {name: [row.kind for row in hot_spots(parse_hlo(twin)).rows] for name, (_, twin) in texts.items()} == {
        name: [] for name in texts
    }


@pytest.mark.parametrize("name", ["attention", "attention backward"])
def test_scores_of_attention(texts: dict[str, list[str]], name: str) -> None:
    """All that is read and written of B H S S scores; each direction at least writes them once and reads them once."""
    spot, scores = only(texts[name][0]), B * H * S * S
    assert (spot.kind, spot.shape) == ("attention", f"f32[{B},{H},{S},{S}]")
    assert spot.saved_bytes == touched(texts[name][0], scores)
    assert spot.saved_bytes >= (2 if name == "attention" else 4) * 4 * scores
    if name == "attention":
        assert spot.least_bytes == 4 * 4 * B * H * S * D  # queries, keys, values, result


def test_logits_of_a_loss(texts: dict[str, list[str]]) -> None:
    """Written by the product, read for the largest and for the sum; one of each row is looked up."""
    spot, logits = only(texts["cross-entropy"][0]), TOKENS * VOCAB
    assert (spot.kind, spot.shape) == ("cross-entropy", f"f32[{TOKENS},{VOCAB}]")
    assert spot.saved_bytes == 3 * 4 * logits
    assert spot.least_bytes == 4 * (TOKENS * WIDTH + WIDTH * VOCAB)


@pytest.mark.parametrize("name", ["softmax", "norm"])
def test_rows_are_read_and_written_once(texts: dict[str, list[str]], name: str) -> None:
    spot = only(texts[name][0])
    assert (spot.kind, spot.moved_bytes) == (name, touched(texts[name][0], TOKENS * VOCAB))
    assert spot.least_bytes == 2 * 4 * TOKENS * VOCAB


def test_gathered_rows(texts: dict[str, list[str]]) -> None:
    """Read, written and read again by the product; a grouped product reads what there is of them."""
    spot = only(texts["gathered-product"][0])
    assert (spot.kind, spot.moved_bytes) == ("gathered-product", 3 * 4 * 3 * TOKENS * WIDTH)
    assert spot.least_bytes == 4 * TOKENS * WIDTH


def test_gradient_of_a_table(texts: dict[str, list[str]]) -> None:
    """The rows read, the places read, changed and written, after zeros were written everywhere."""
    spot = only(texts["embedding-gradient"][0])
    assert spot.kind == "embedding-gradient"
    assert spot.moved_bytes == 3 * 4 * TOKENS * WIDTH + 4 * VOCAB * WIDTH + 4 * TOKENS
    assert spot.least_bytes == 4 * TOKENS * WIDTH + 4 * VOCAB * WIDTH
