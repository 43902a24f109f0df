"""Compiler warnings are found in what reached file descriptor 2, with frames from the unoptimised module's tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_lint.runtime.frames import FramePaths
from contract_lint.runtime.stderr import StackFrames, cleaned, compiler_warnings, donation_warnings

TABLES = """HloModule jit_f

FileNames
1 "train.py"
2 "optax/_src/base.py"

FunctionNames
1 "<module>"
2 "step"

FileLocations
1 {file_name_id=1 function_name_id=1 line=20 end_line=20 column=0 end_column=3}
2 {file_name_id=1 function_name_id=2 line=13 end_line=13 column=11 end_column=50}
3 {file_name_id=2 function_name_id=2 line=7 end_line=7 column=4 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}
3 {file_location_id=3 parent_frame_id=3}

ENTRY %main (x: f32[]) -> f32[] {
}
"""
WARNING = (
    "W1129 18:03:48.103254    7293 spmd_partitioner.cc:656] [SPMD] Involuntary full rematerialization. The compiler "
    "cannot go from sharding {devices=[8,1]<=[8]} to {devices=[1,8]<=[8]} efficiently for HLO operation "
    "%copy.1 = f32[2,16]{1,0} copy(%x), sharding={devices=[8,1]<=[8]}, "
    'metadata={op_name="jit(f)/x" stack_frame_id=3}. As the last resort, ...\n'
)


@pytest.fixture
def paths(tmp_path: Path) -> FramePaths:
    (tmp_path / "train.py").touch()
    return FramePaths(tmp_path)


def test_parents_are_printed_plus_one() -> None:
    frames = StackFrames(TABLES)
    assert [(f.path, f.line, f.column) for f in frames.stack(3)] == [
        ("optax/_src/base.py", 7, 5),
        ("train.py", 13, 12),
        ("train.py", 20, 1),
    ]
    assert [f.line for f in frames.stack(1)] == [20]
    assert frames.stack(99) == []


def test_a_circle_of_frames_ends() -> None:
    text = TABLES.replace("1 {file_location_id=1 parent_frame_id=1}", "1 {file_location_id=1 parent_frame_id=4}")
    assert len(StackFrames(text).stack(3)) == 3


def test_warning_is_found_once_with_the_users_frames(paths: FramePaths) -> None:
    found = compiler_warnings(WARNING + "other\n" + WARNING, TABLES, paths)
    assert [(w.kind, [f.line for f in w.frames]) for w in found] == [("involuntary-rematerialization", [13, 20])]
    assert "from sharding {devices=[8,1]<=[8]} to {devices=[1,8]<=[8]} for %copy.1" in found[0].message


def test_mesh_spelling_of_shardings(paths: FramePaths) -> None:
    text = WARNING.replace("{devices=[8,1]<=[8]} to", "{mesh['a'=2,'b'=4], [{'a'}, {}]} to").replace(
        " stack_frame_id=3", ""
    )
    (warning,) = compiler_warnings(text, TABLES, paths)
    assert "{mesh['a'=2,'b'=4], [{'a'}, {}]} to" in warning.message and warning.frames == []


def test_cleaning_removes_times_process_numbers_and_machine_paths(paths: FramePaths) -> None:
    early = "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
    text = cleaned(f"{WARNING}  File {paths.root}/train.py, line 3\n{early}", paths)
    assert text.startswith("W spmd_partitioner.cc:656] [SPMD]")
    assert "File train.py, line 3" in text
    assert "InitializeLog" not in text


def test_only_unusable_donations_are_kept() -> None:
    found = donation_warnings(["Some donated buffers were not usable: f32[4].\nSee ...", "other"], [])
    assert [(w.kind, w.message) for w in found] == [
        ("donation-unusable", "Some donated buffers were not usable: f32[4].")
    ]


def test_long_lines_are_read_in_linear_time(paths: FramePaths) -> None:
    text = "[SPMD] Involuntary full rematerialization." + "x" * 5_000_000 + "\n" + "/a" * 1_000_000
    assert len(compiler_warnings(text, TABLES, paths)) == 1
    assert cleaned(text, paths)
