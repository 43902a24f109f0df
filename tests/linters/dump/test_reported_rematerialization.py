"""SHD509: every wording of the partitioner's message, whole and cut."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from contract_lint.hlo_tools.remat_messages import RematMessage, remat_messages, tiles_of
from contract_lint.linters.dump.evidence import DumpEvidence
from contract_lint.linters.dump.judge import judge_dump

OLD = (
    "E0101 00:00:00.1 7 partitioner.cc:1] [spmd] Involuntary full rematerialization. The compiler was not able to go "
    "from sharding {devices=[4,1]<=[4]} to {devices=[1,4]<=[4]} without doing a full rematerialization of the tensor"
)
ADVICE = " You probably want to enrich the sharding annotations to prevent this from happening."
NEW = (
    "W0101 00:00:00.1 7 partitioner.cc:2] [SPMD] Involuntary full rematerialization. The compiler cannot go from "
    "sharding {devices=[4,1]<=[4]} to {devices=[1,4]<=[4]} efficiently for HLO operation %mul = f32[8,64]{1,0} "
    'multiply(%a, %b), metadata={op_name="jit(f)/mul" source_file="/src/m.py" source_line=7}. As the last resort, SPMD '
    "will replicate the tensor"
)
NAMED = OLD + " for HLO operation: %mul = f32[8,64]{1,0} multiply(%a, %b), sharding={devices=[4,1]<=[4]}." + ADVICE


def one(text: str) -> RematMessage:
    (found,) = remat_messages(text)
    return found


@pytest.mark.parametrize("text", [NAMED, NEW], ids=["until 2025", "since 2026"])
def test_a_message_that_names_the_operation(text: str) -> None:
    found = one(f"before\n{text}\nafter\n")
    assert (found.line, found.name, found.opcode) == (2, "mul", "multiply")
    assert (found.before, found.after) == ("{devices=[4,1]<=[4]}", "{devices=[1,4]<=[4]}")
    assert (found.bytes, found.whole_bytes, found.kept_bytes) == (8 * 64 * 4, 8 * 64 * 4 * 4, 8 * 64 * 4)


def test_the_oldest_names_none_and_any_may_be_cut() -> None:
    found = one(OLD + "." + ADVICE)
    assert (found.before, found.name, found.bytes) == ("{devices=[4,1]<=[4]}", "", None)
    for text in (OLD, NAMED, NEW):
        for end in range(text.index("Involuntary full rematerialization") + 34, len(text), 7):
            assert len(remat_messages(text[:end])) == 1


def test_a_line_of_source_and_the_log_as_place() -> None:
    new, old = judge_dump(DumpEvidence("log.txt", messages=remat_messages(f"{OLD}.\n{NEW}\n{NEW}\n")))
    assert {(str(new.location), new.details["times"]), (str(old.location), old.details["times"])} == {
        ("/src/m.py:7", 2),
        ("log.txt:1", 1),
    }


@pytest.mark.parametrize(
    ("placement", "tiles"),
    [
        ("{devices=[2,1,4]<=[4,2]T(1,0)}", (2, 1, 4)),
        ("{devices=[2,2,2]<=[8] last_tile_dim_replicate}", (2, 2)),
        ("{devices=[2,2,2]<=[8] last_tile_dims={manual}}", (2, 2)),
        ("{replicated}", None),
        ("{devices=[2,", None),
    ],
)
def test_parts_of_a_placement(placement: str, tiles: tuple[int, ...] | None) -> None:
    assert tiles_of(placement) == tiles


def test_another_log_is_clean() -> None:
    assert remat_messages("I0101 1 pjrt.cc:1] compiled\nrematerialization saved 3 MiB\n") == ()


def test_long_lines_take_linear_time() -> None:
    text = NAMED.replace("f32[8,64]", "f32[" + "8," * 500_000) + "{" * 1_000_000
    assert one(text).name == ""


def test_the_four_public_messages() -> None:
    if (corpus := os.environ.get("CONTRACT_LINT_CORPUS")) is None:
        pytest.skip("CONTRACT_LINT_CORPUS is not set")
    text = (Path(corpus) / "cases/hlo/02_involuntary_remat_messages.txt").read_text()
    found = remat_messages(text)
    assert [each.name for each in found] == ["", "pad", "get-tuple-element", "add.2"]
    assert [each.bytes for each in found] == [None, 768, 2_106_589_184, 2_048]
    assert [each.whole_bytes for each in found] == [None, None, 2_106_589_184, 16_384]
    assert [each.kept_bytes for each in found] == [None, None, 526_647_296, 2_048]
