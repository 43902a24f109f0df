"""Pasted out-of-memory reports: whole, in part, behind a logger, with the arithmetic of their layouts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from contract_lint.hlo_tools.postmortem import PostMortem, advice, post_mortem

GIB = 1 << 30
MIB = 1 << 20
ENTRY = """\
  3. Size: 2.00G
     Operator: op_name="jit(step)/jvp(Net)/mlp/up/dot_general" source_file="net.py" source_line=12
     Shape: f32[16,4096,8192]{2,1,0:T(8,128)}
     Unpadded size: 2.00G
     XLA label: fusion.7.remat2 = fusion(copy.1), kind=kOutput
     Allocation type: HLO temp
     ==========================
"""


def read(text: str) -> PostMortem:
    found = post_mortem(text)
    assert found is not None
    return found


def test_an_entry_says_what_where_and_how_often_it_was_made_anew() -> None:
    (buffer,) = read(ENTRY).buffers
    assert (buffer.number, buffer.bytes, buffer.unpadded_bytes) == (3, 2 * GIB, 2 * GIB)
    assert (buffer.kind, buffer.scope, buffer.source) == ("activation of the forward pass", "Net/mlp/up", "net.py:12")
    assert buffer.rematerialized == 2 and buffer.is_complete
    assert [each.frees for each in advice(buffer)] == [2 * GIB, GIB]


def test_a_logger_in_front_of_each_line_changes_nothing() -> None:
    logged = "".join(f"2024-05-04 09:05:40.1: E  15 xla/client/util.cc:76] {line}\n" for line in ENTRY.splitlines())
    assert read(logged).buffers == read(ENTRY).buffers


def test_an_entry_that_is_cut_is_not_guessed() -> None:
    cut = ENTRY.split("Shape:")[1].split("\n", 1)[1] + ENTRY
    first, second = read(cut).buffers
    assert not first.is_complete and second.is_complete
    assert first.number is None


def test_bytes_follow_from_the_layout_and_not_from_the_last_dimension() -> None:
    padded = ENTRY.replace("f32[16,4096,8192]{2,1,0:T(8,128)}", "f32[1024,245,64]{1,2,0:T(8,128)}")
    (buffer,) = read(padded).buffers
    assert (buffer.bytes, buffer.unpadded_bytes) == (1024 * 256 * 64 * 4, 1024 * 245 * 64 * 4)


def test_an_operand_that_is_padded_is_the_thing_to_mend() -> None:
    text = ENTRY.replace("fusion(copy.1)", "reshape(f32[1048576,4]{1,0:T(8,128)} %copy.1, f32[]{:T(256)} %c)")
    (buffer,) = read(text).buffers
    (operand,) = buffer.operands
    assert (operand.bytes, operand.unpadded_bytes, operand.factor) == (1048576 * 128 * 4, 1048576 * 16, 32)


@pytest.mark.parametrize("text", ["", "HloModule m", "Shape of things to come", "x" * 100_000])
def test_other_texts_are_no_report(text: str) -> None:
    assert post_mortem(text) is None


CASES = {
    "05_oom_hbm_easylm98": (1_442_840_576, 1_442_840_576),
    "07_oom_padding32x_flowpm27": (34_359_738_368, 1_073_741_824),
    "09_oom_layout_padding_colabfold62": (67_108_864, 64_225_280),
    "10_oom_logprefix_torchxla1965": (50_331_648, 50_331_648),
}


@pytest.mark.parametrize("name", CASES)
def test_reports_from_the_field(name: str) -> None:
    path = Path(os.environ.get("CONTRACT_LINT_CORPUS") or ".") / "cases" / "hlo" / f"{name}.txt"
    if not path.is_file():
        pytest.skip(f"CONTRACT_LINT_CORPUS does not hold cases/hlo/{name}.txt")
    largest = read(path.read_text()).largest
    assert largest is not None and (largest.bytes, largest.unpadded_bytes) == CASES[name]
    if name.startswith("10"):
        assert [(each.bytes, each.unpadded_bytes) for each in largest.operands] == [(1_610_612_736, 50_331_648)]
