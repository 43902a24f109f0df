"""Out-of-memory messages of the TPU compiler, in every form they are known in."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from contract_lint.hlo_tools.messages import out_of_memory, parse_size, reported_allocations

EARLY = (
    "RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO temporaries (197.00G) exceeds "
    "available HBM (15.75G)."
)
EARLY_CODED = (
    "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total memory required for HLO "
    "temporaries (20.35G) exceeds available HBM (15.75G). HLO module: jit_train_step.\n"
    "See https://openxla.org/xla/errors/error_1000 for more details."
)
LATE = """\
RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. \
Used 1.19G of 1.17G hbm. Exceeded hbm capacity by 20.06M.

Total hbm usage >= 1.44G:
    reserved        258.00M
    program         757.82M
    arguments       462.24M

Output size 462.21M; shares 462.21M with arguments.

Program hbm requirement 757.82M:
    global            1.98M
    HLO temp        722.70M (100.0% utilization: Unpadded (497.56M) Padded (497.56M), 31.2% fragmentation (225.14M))

  Largest program allocations in hbm:

  1. Size: 128.00M
     Operator: op_name="jit(train_step)/transpose(jvp())/while/body/dot_general"
     Shape: bf16[4,2,2048,2048,2]{3,2,4,1,0:T(8,128)(2,1)}
     Unpadded size: 96.00M
     XLA label: fusion.503 = fusion(get-tuple-element.1276), kind=kOutput, calls=async_collective_fusion.503
     Allocation type: HLO temp
     ==========================

  2. Size: 1.00G
     Shape: f32[16384,16384]{1,0:T(8,128)}
     XLA label: Argument 0 index {}
"""
GIB = 1 << 30


@pytest.mark.parametrize("text", [EARLY, f"noise\n{EARLY}\nnoise"])
def test_early(text: str) -> None:
    found = out_of_memory(text)
    assert found is not None
    assert (found.form, found.space, found.module) == ("early", "hbm", None)
    assert (found.needed_bytes, found.available_bytes) == (197 * GIB, round(15.75 * GIB))
    assert found.exceeded_bytes is None and not found.sections and not found.allocations


def test_early_with_a_code_names_the_module() -> None:
    found = out_of_memory(EARLY_CODED)
    assert found is not None and found.module == "jit_train_step" and found.needed_bytes == round(20.35 * GIB)


@pytest.mark.parametrize("text", [LATE, LATE.replace("E1000: CompileTimeHbmOom: ", "")])
def test_late(text: str) -> None:
    found = out_of_memory(text)
    assert found is not None
    assert (found.form, found.space) == ("late", "hbm")
    assert (found.needed_bytes, found.available_bytes) == (round(1.19 * GIB), round(1.17 * GIB))
    assert found.exceeded_bytes == round(20.06 * (1 << 20))
    assert dict(found.sections)["arguments"] == round(462.24 * (1 << 20))
    first, second = found.allocations
    assert (first.size_bytes, first.unpadded_bytes, first.kind) == (128 << 20, 96 << 20, "HLO temp")
    assert first.op_name == "jit(train_step)/transpose(jvp())/while/body/dot_general"
    assert (second.size_bytes, second.shape, second.unpadded_bytes) == (GIB, "f32[16384,16384]{1,0:T(8,128)}", None)
    assert second.label == "Argument 0 index {}"


def test_the_longer_form_is_taken_where_both_stand() -> None:
    found = out_of_memory(f"{EARLY}\n{LATE}")
    assert found is not None and found.form == "late"


@pytest.mark.parametrize(
    "text", ["", "RESOURCE_EXHAUSTED: something else", "Ran out of memory on HBM", "Ran out of time"]
)
def test_other_words(text: str) -> None:
    assert out_of_memory(text) is None


@pytest.mark.parametrize(("text", "size"), [("512", 512), ("4.0K", 4096), ("1.5M", 3 << 19), ("2T", 2 << 40)])
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "G", "1.2.3G", "-x"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError):
        parse_size(text)


def test_long_hostile_text_takes_linear_time() -> None:
    parts = ("  1. Size: 1.00M\n", "Ran out of memory on ", "     Operator: " + "x" * 900 + "\n", "HLO module: ")
    seconds = []
    for count in (2_000, 8_000):
        text = LATE + "".join(part * count for part in parts)
        start = time.perf_counter()
        assert out_of_memory(text) is not None
        seconds.append(time.perf_counter() - start)
    assert seconds[1] < 40 * max(seconds[0], 0.005)


def test_a_report_from_the_field() -> None:
    corpus = os.environ.get("CONTRACT_LINT_CORPUS")
    path = Path(corpus or ".") / "cases" / "hlo" / "07_oom_padding32x_flowpm27.txt"
    if not path.is_file():
        pytest.skip("CONTRACT_LINT_CORPUS does not hold cases/hlo/07_oom_padding32x_flowpm27.txt")
    found = out_of_memory(path.read_text())
    assert found is not None and (found.form, found.needed_bytes) == ("late", round(41.74 * GIB))
    largest = found.allocations[0]
    assert (largest.size_bytes, largest.unpadded_bytes) == (32 * GIB, GIB)


@pytest.mark.parametrize("end", ["1. Size: 1", "1. Size: 128", "1. Size: 128.", "1. Size: 128.00"])
def test_a_number_cut_in_half_is_no_number(end: str) -> None:
    (entry,) = reported_allocations(LATE[: LATE.index("1. Size")] + end)
    assert (entry.number, entry.size_bytes) == (1, None)
    (whole,) = reported_allocations(LATE[: LATE.index("1. Size")] + "1. Size: 128.00M")
    assert whole.size_bytes == 128 << 20


def test_the_sentence_alone_is_enough() -> None:
    found = out_of_memory(LATE[: LATE.index(" hbm. Exceeded")])
    assert found is not None and found.available_bytes == parse_size("1.17G")


@pytest.mark.parametrize("prefix", ["[rank0] ", "INFO:root:", "2026-05-04 09:05:40 ", "train.py: "])
def test_any_loggers_prefix_is_left_out(prefix: str) -> None:
    logged = "".join(f"{prefix}{line}\n" for line in LATE.splitlines())
    assert reported_allocations(logged) == reported_allocations(LATE)
