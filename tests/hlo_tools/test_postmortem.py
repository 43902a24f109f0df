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


@pytest.mark.parametrize("text", ["", "HloModule m", "Shape of things to come", "Size: 5.00G", "x" * 100_000])
def test_other_texts_are_no_report(text: str) -> None:
    assert post_mortem(text) is None


GPU = """\
2026-05-04 09:05:40.1: W external/xla/xla/tsl/framework/bfc_allocator.cc:501] Allocator (GPU_0_bfc) ran out of memory \
trying to allocate 12.50GiB (rounded to 13421772800)requested by op
E0504 09:05:40.2 pjrt_stream_executor_client.cc:3084] Execution of replica 0 failed: RESOURCE_EXHAUSTED: Out of memory \
while trying to allocate 13421772800 bytes.
BufferAssignment OOM Debugging.
BufferAssignment stats:
             parameter allocation:    6.00GiB
              constant allocation:        16B
        maybe_live_out allocation:    6.00GiB
     preallocated temp allocation:   12.50GiB
  preallocated temp fragmentation:         0B (0.00%)
                 total allocation:   24.50GiB
              total fragmentation:         0B (0.00%)
Peak buffers:
\tBuffer 1:
\t\tSize: 3.40GiB
\t\tOperator: op_name="jit(step)/transpose(jvp(Net))/mlp/up/dot_general" source_file="net.py" source_line=42
\t\tXLA Label: fusion
\t\tShape: f32[1200,476,1600]
\t\t==========================

\tBuffer 2:
\t\tSize: 559.67MiB
\t\tEntry Parameter Subshape: f32[11,5120,2605]
\t\t==========================

\tBuffer 3:
\t\tSize: 96.00MiB
\t\tXLA Label: custom-call
\t\tShape: u8[100663296]
\t\t==========================

"""


@pytest.mark.parametrize(
    "text",
    [
        GPU,
        GPU.replace("\t", "        "),
        GPU.partition("failed: ")[2],
        "".join(f"[rank0] {line}\n" for line in GPU.partition("failed: ")[2].splitlines()),
        "".join(f"2026-05-04 09:05:4{at % 10} {line}\n" for at, line in enumerate(GPU.splitlines()[1:])),
    ],
)
def test_the_list_of_a_gpu_is_read_with_its_sums(text: str) -> None:
    found = read(text)
    first, second, third = found.buffers
    assert (first.bytes, first.kind, first.source) == (1200 * 476 * 1600 * 4, "backward pass", "net.py:42")
    assert (second.number, second.bytes, second.kind) == (2, 11 * 5120 * 2605 * 4, "argument")
    assert (third.bytes, third.kind, third.shape) == (100_663_296, "temporary or output", "u8[100663296]")
    assert all(each.is_complete for each in found.buffers) and found.largest == first
    assert dict(found.sections) == {
        "parameter": 6 * GIB,
        "constant": 16,
        "maybe_live_out": 6 * GIB,
        "preallocated temp": 25 * GIB // 2,
        "total": 49 * GIB // 2,
    }
    assert found.refused is not None and found.refused.wanted_bytes == 25 * GIB // 2 and found.is_temporaries


def test_the_list_of_a_gpu_alone_is_a_report() -> None:
    found = read(GPU[GPU.index("BufferAssignment") :])
    assert found.said is None and found.refused is None and not found.is_temporaries
    assert len(found.buffers) == 3 and len(found.sections) == 5


def test_what_is_refused_is_not_taken_for_the_temporaries_where_it_is_another_size() -> None:
    found = read(GPU.replace("13421772800 bytes", "2147483648 bytes"))
    assert found.refused is not None and not found.is_temporaries


def test_a_message_without_a_list_is_read() -> None:
    found = read("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 13421772800 bytes.")
    assert found.refused is not None and found.largest is None


LIMIT = (
    "Can't reduce memory use below 1.00GiB (1073741824 bytes) by rematerialization; only reduced to 2.00GiB "
    "(2147483648 bytes), down from 2.00GiB (2147483648 bytes) originally\n"
)


def test_a_warning_of_the_compiler_is_read_but_where_its_program_stands_beside_it() -> None:
    found = read(LIMIT)
    assert found.limit is not None and found.limit.reached_bytes == 2 * GIB
    assert post_mortem(f"{LIMIT}HloModule m\n") is None
    assert read(LIMIT + GPU).limit == found.limit


def test_a_small_entry_without_a_shape_that_has_its_end_is_not_cut() -> None:
    whole = "  1. Size: 32.0K\n     XLA label: x\n     Allocation type: scoped\n     ==========================\n"
    assert [each.is_complete for each in read(whole).buffers] == [True]
    assert [each.is_complete for each in read(whole[: whole.index("Allocation")]).buffers] == [False]


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
