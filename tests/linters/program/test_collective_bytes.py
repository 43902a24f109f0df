"""A promise of bytes: as many executions and elements that send others are found."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_lint.linters.judge import judge

from .small_captures import CUDA, GIB, PARTITIONED, capture, contract

PROMISE = "{ kind: all-reduce, axes: data, count: 1, elements: 8%s }"
SENT = 2 * 8 * 4 * (2 - 1) // 2
"""An all-reduce of 8 float32 between two devices, by a ring."""


def found(folder: Path, more: str, partitioned: str = PARTITIONED) -> list[tuple[str, str]]:
    text = f"mesh: {{ axes: {{ data: 2 }} }}\ncollectives: {{ expect: [{PROMISE % more}] }}\n"
    loaded = contract(folder, CUDA, more=text)
    findings = judge(loaded, [capture(folder / "c", CUDA, GIB, partitioned=partitioned)])
    return [(finding.code, finding.message) for finding in findings if finding.code in ("SHD206", "NUM203")]


def test_what_is_sent_is_promised(tmp_path: Path) -> None:
    assert found(tmp_path, f", ring_bytes: {SENT}") == []


@pytest.mark.parametrize("promised", [SENT - 1, SENT + 1, SENT // 2])
def test_other_bytes(tmp_path: Path, promised: int) -> None:
    said = f"all-reduce over data sends {SENT} bytes, promised {promised} bytes"
    assert found(tmp_path, f", ring_bytes: {promised}") == [("SHD206", said)]


def test_half_as_wide(tmp_path: Path) -> None:
    narrow = PARTITIONED.replace("f32", "bf16")
    ((code, said),) = found(tmp_path, f", ring_bytes: {SENT}", narrow)
    assert code == "SHD206" and f"sends {SENT // 2} bytes" in said


def test_a_dtype_that_is_not_promised_comes_first(tmp_path: Path) -> None:
    codes = [code for code, _ in found(tmp_path, f", ring_bytes: {SENT // 2}, dtype: bfloat16")]
    assert sorted(codes) == ["NUM203", "SHD206"]
