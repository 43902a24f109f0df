"""Cells break where a reader would."""

from __future__ import annotations

import pytest
from contract_lint.plugins.report.columns import Columns, in_pieces
from contract_lint.plugins.report.text import to_text
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("embedding-gradient", 12, ["embedding-", "gradient"]),
        ("/src/model.py:69", 12, ["/src/model.", "py:69"]),
        ("bf16[4,8,128]{2,1,0}", 12, ["bf16[4,8,", "128]{2,1,0}"]),
        ("all-reduce.167", 14, ["all-reduce.167"]),
        ("multiply_tanh_fusion.1", 21, ["multiply_tanh_", "fusion.1"]),
        ("/src/many.py:67", 13, ["/src/many.", "py:67"]),
        ("f32[1,1,1,32,128]{4,3,2,1,0}", 22, ["f32[1,1,1,32,128]", "{4,3,2,1,0}"]),
        ("replica_groups={{0,1},{2,3}}", 16, ["replica_groups={", "{0,1},{2,3}}"]),
        ("{", 1, ["{"]),
        ("indivisible", 5, ["indivisible"]),
        ("short a-rather-long-one", 8, ["short a-", "rather-", "long-one"]),
    ],
)
def test_pieces(text: str, width: int, lines: list[str]) -> None:
    assert in_pieces(text, width).split("\n") == lines


@given(st.text(alphabet="ab1-./,: {}", max_size=60), st.integers(1, 30))
def test_nothing_is_lost(text: str, width: int) -> None:
    assert in_pieces(text, width).replace("\n", "") == text


def test_a_table_that_is_too_narrow() -> None:
    table = Columns()
    for name in ("kind", "source"):
        table.add_column(name, overflow="fold")
    table.add_column("bytes", justify="right", no_wrap=True)
    table.add_row("embedding-gradient", Text("/src/a_model/of_ours/model.py:69", style="dim"), "8.00 MiB")
    lines = to_text([table], 40, color=False).splitlines()
    words = {word for line in lines[2:] for word in line.split()}
    assert max(map(len, lines)) <= 40 and "8.00" in words
    assert "".join(line[: lines[0].index("source")].strip() for line in lines[2:]) == "embedding-gradient"
    assert all(word[-1] in "-/_.:" or word in "embedding-gradient model.py:69 8.00 MiB" for word in words)
