"""XLA's memory-usage-report: spaces apart, sizes exact where the shape tells, prefixes and cut lines left out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from contract_lint.hlo_tools.postmortem import post_mortem
from contract_lint.hlo_tools.usage_report import usage_report, usage_report_proto

GIB = 1 << 30
REPORT = """\
Memory Space: default (color=0)
Total bytes: 23320452096 (21.72GiB)
  cumulative_size;       size;       offset; used_by_n_values; shapes_list
  ------------------------------------------------------------
    8.00GiB( 38%);    8.00GiB;        81920;                5; 5×f32[16,131072,1024]
    9.00GiB( 43%);  512.00MiB;  21474918400;                7; pred[], 6×f32[131072,1024]
   21.09GiB(100%);       512B;        65536;                1; (f32[16,131072,1024], f32[131072,1024])

Memory Space: vmem (color=1)
Total bytes: 3932160 (3.75MiB)
    1.25MiB( 33%);    1.25MiB;      2621440;                1; u32[327680]
"""


def test_spaces_are_kept_apart() -> None:
    main, vmem = usage_report(REPORT)
    assert (main.name, main.color, main.total_bytes) == ("default", 0, 23_320_452_096)
    assert [(place.bytes, place.values) for place in main.places] == [(8 * GIB, 5), (GIB // 2, 7), (512, 1)]
    assert (vmem.color, vmem.total_bytes, len(vmem.places)) == (1, 3_932_160, 1)


def test_a_sum_that_is_cut_is_not_taken_for_a_small_one() -> None:
    assert usage_report(REPORT[: REPORT.index("20452096")]) == ()


@pytest.mark.parametrize("prefix", ["[rank0] ", "INFO:root:", "2026-05-04 09:05:40 "])
def test_any_loggers_prefix_is_left_out(prefix: str) -> None:
    assert usage_report("".join(prefix + line + "\n" for line in REPORT.splitlines())) == usage_report(REPORT)


def test_of_the_values_of_a_place_the_largest_is_named() -> None:
    (main, _) = usage_report(REPORT)
    assert [place.shape and place.shape.text for place in main.places][:2] == [
        "f32[16,131072,1024]",
        "f32[131072,1024]",
    ]


def test_a_logger_in_front_of_each_line_changes_nothing() -> None:
    logged = "".join(f"I0504 09:05:40.1 15 xla/service/dump.cc:76] {line}\n" for line in REPORT.splitlines())
    assert usage_report(logged) == usage_report(REPORT)


def test_a_cut_report_gives_the_rows_that_are_whole() -> None:
    cut = REPORT[: REPORT.index("6×f32")].rsplit("\n", 1)[0] + "\n    9.00GiB( 43%);  512.0"
    (main,) = usage_report(cut)
    assert [place.bytes for place in main.places] == [8 * GIB]


@pytest.mark.parametrize("text", ["", "Memory Space", "Total bytes: 5", "x;" * 100_000])
def test_other_texts_are_no_report(text: str) -> None:
    assert usage_report(text) == ()


def test_as_a_post_mortem_only_the_main_memory_counts() -> None:
    found = post_mortem(REPORT)
    assert found is not None and found.largest is not None
    assert (found.largest.bytes, found.largest.shape) == (8 * GIB, "f32[16,131072,1024]")
    assert [each.total_bytes for each in found.usage] == [23_320_452_096, 3_932_160]


def test_the_report_of_the_case_of_the_newest_compiler() -> None:
    path = Path(os.environ.get("CONTRACT_LINT_CORPUS") or ".") / "cases/hlo/11_oom_e1000_memory_usage_report.txt"
    if not path.is_file():
        pytest.skip("CONTRACT_LINT_CORPUS does not hold cases/hlo/11_oom_e1000_memory_usage_report.txt")
    found = post_mortem(path.read_text())
    assert found is not None
    assert found.usage[0].total_bytes == 322_122_547_200
    assert [buffer.bytes for buffer in found.buffers] == [327_680**2 * 2, 327_680**2]


def field(number: int, content: bytes | int) -> bytes:
    """One field of a message, a number or bytes."""
    if isinstance(content, int):
        return bytes([number << 3]) + varint(content)
    return bytes([number << 3 | 2]) + varint(len(content)) + content


def varint(value: int) -> bytes:
    low, high = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + varint(high) if high else bytes([low])


def as_message(report: str) -> bytes:
    """REPORT as XLA writes it beside the text: a table in each allocation."""
    made = b""
    for space in report.split("Memory Space: ")[1:]:
        color, total = int(space.partition("color=")[2][0]), int(space.partition("bytes: ")[2].split()[0])
        table = "  cumulative_size;       size;\n" + space.partition("iB)\n")[2]
        made += field(1, field(1, total) + field(2, color) + field(3, field(1, 7) + field(6, table.encode())))
    return made


def test_the_message_says_the_same_as_the_text() -> None:
    assert usage_report_proto(as_message(REPORT)) == usage_report(REPORT)


@pytest.mark.parametrize("data", [b"", b"cumulative_size;", as_message(REPORT)[:-9], b"\n\x03abc"])
def test_other_messages_are_no_report(data: bytes) -> None:
    assert usage_report_proto(data) == ()


def test_text_and_message_of_the_case_agree() -> None:
    folder = Path(os.environ.get("CONTRACT_LINT_CORPUS") or ".") / "cases/hlo"
    path = folder / "11_oom_e1000_memory_usage_report.pb"
    if not path.is_file():
        pytest.skip("CONTRACT_LINT_CORPUS does not hold cases/hlo/11_oom_e1000_memory_usage_report.pb")
    assert usage_report_proto(path.read_bytes()) == usage_report(path.with_suffix(".txt").read_text())
