"""Errors that show only when something is asked for still name the file and the line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.collectives import collectives
from contract_lint.hlo_tools.frames import FrameTable
from contract_lint.hlo_tools.module import HloModule, parse_hlo

ADD = "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n\n"


def program(line: str, header: str = "HloModule m, num_partitions=8") -> str:
    return f"{header}\n\n{ADD}ENTRY e {{\n  x = f32[8]{{0}} parameter(0)\n{line}\n}}\n"


REDUCE = "  ROOT r = f32[8]{{0}} all-reduce(x), channel_id=1, replica_groups={}, to_apply=add"
ASKED: dict[str, tuple[str, Callable[[HloModule], Any], int, str]] = {
    "groups of no spelling": (program(REDUCE.format("[2,4]<=[9]")), collectives, 11, "instruction 'r': "),
    "groups on no mesh": (program(REDUCE.format("mesh['a'=8] {'b'}")), collectives, 11, "instruction 'r': axis 'b'"),
    "groups without a header": (
        program(REDUCE.format("[2,4]<=[9]"), "HloModule m"),
        collectives,
        11,
        "instruction 'r': 8 places for 9 devices",
    ),
    "partitions of no number": (
        program("  ROOT r = f32[8] copy(x)", "HloModule m, num_partitions=x"),
        collectives,
        1,
        "num_partitions: ",
    ),
    "no partition": (
        program("  ROOT r = f32[8] copy(x)", "HloModule m, num_partitions=0"),
        collectives,
        1,
        "num_partitions is 0",
    ),
    "too many partitions": (
        program(REDUCE.format("{}"), "HloModule m, num_partitions=999999999999"),
        collectives,
        1,
        "num_partitions is 999999999999",
    ),
    "too many together": (
        program(REDUCE.format("{}"), "HloModule m, num_partitions=16777216, replica_count=16777216"),
        collectives,
        1,
        "no machine that exists",
    ),
    "an operand that is nowhere": (
        program("  ROOT r = f32[8]{0} negate(nowhere)"),
        lambda module: module.entry.root.operands[0].shape,
        11,
        "the shape of 'nowhere' is not known",
    ),
    "an operand of no shape": (
        program("  ROOT r = f32[8]{0} negate(f32[? nowhere)"),
        lambda module: module.entry.root.operands,
        11,
        "instruction 'r': ",
    ),
    "a layout of no numbers": (
        program("  ROOT r = f32[8]{0:S(x)} negate(x)"),
        lambda module: module.entry.root.shape.bytes,
        11,
        "instruction 'r': not a size in a shape: 'x'",
    ),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_late_error_has_its_place(name: str) -> None:
    text, ask, line, words = ASKED[name]
    module = parse_hlo(text, "p.hlo")
    with pytest.raises(ContractLintError) as caught:
        ask(module)
    place = caught.value.location
    assert place is not None and (place.path, place.line) == ("p.hlo", line)
    assert words in caught.value.message


def test_a_line_number_that_no_file_has_is_no_place() -> None:
    locations = [{"file_name_id": 1, "function_name_id": 0, "line": (1 << 64) - 1, "column": (1 << 64) - 1}]
    (frame,) = FrameTable(["a.py"], [], locations, [(1, 0)]).stack(1)
    assert (frame.line, frame.column) == (0, None)


def test_a_layout_that_is_no_order_pads_nothing() -> None:
    module = parse_hlo(program("  ROOT r = f32[4,8]{9,7:T(8,128)} negate(x)"), "p.hlo")
    assert module.entry.root.shape.padded_bytes == 8 * 128 * 4
