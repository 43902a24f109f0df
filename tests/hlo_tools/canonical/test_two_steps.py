"""A sum over two axes that is sliced along one runs as a scatter there and a smaller sum along the other; a sum of a
sum runs as one over both axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from contract_lint.hlo_tools.canonical import explain

EVERYWHERE = "replica_groups={{0,1,2,3}}, channel_id=1, use_global_device_ids=true, to_apply=%add"
INNER = "replica_groups={{0,1},{2,3}}, channel_id=1, use_global_device_ids=true, to_apply=%add"
OUTER = "replica_groups={{0,2},{1,3}}, channel_id=2, use_global_device_ids=true, to_apply=%add"
HEAD = "  %x = f32[8] parameter(0)\n"

Ledger = Callable[[str], Any]
Text = Callable[..., str]


def asked(module: Text, starts: str, piece: int = 4) -> str:
    """The sum of everything, of which each device keeps `piece` elements from its place in `starts`."""
    return module(
        HEAD
        + f"  %sum = f32[8] all-reduce(%x), {EVERYWHERE}\n  %table = s32[4] constant({{{starts}}})\n"
        + "  %me = u32[] partition-id()\n  %cell = s32[1] dynamic-slice(%table, %me), dynamic_slice_sizes={1}\n"
        + "  %start = s32[] reshape(%cell)\n"
        + f"  ROOT %mine = f32[{piece}] dynamic-slice(%sum, %start), dynamic_slice_sizes={{{piece}}}",
        f"f32[{piece}]",
    )


def run(module: Text, inner: str = INNER, outer: str = OUTER) -> str:
    return module(
        HEAD
        + f"  %part = f32[4] reduce-scatter(%x), dimensions={{0}}, {inner}\n"
        + f"  ROOT %sum = f32[4] all-reduce(%part), {outer}",
        "f32[4]",
    )


def test_the_parts_along_one_axis(ledger: Ledger, module: Text) -> None:
    found = explain(ledger(asked(module, "0, 4, 0, 4")), ledger(run(module)))
    assert found.complete and found.used() == {"scattered": 1}
    (step,) = found.steps
    assert (step.elements_before, step.elements_after) == (8, 8 + 4)


def test_the_parts_along_the_other_axis(ledger: Ledger, module: Text) -> None:
    found = explain(ledger(asked(module, "0, 0, 4, 4")), ledger(run(module, OUTER, INNER)))
    assert found.complete and found.used() == {"scattered": 1}


@pytest.mark.parametrize(
    ("starts", "piece"),
    [
        pytest.param("0, 0, 4, 4", 4, id="parts along the wrong axis"),
        pytest.param("0, 4, 4, 0", 4, id="the second sum would add different parts"),
        pytest.param("0, 4, 0, 4", 2, id="smaller parts"),
    ],
)
def test_other_parts_are_left_over(ledger: Ledger, module: Text, starts: str, piece: int) -> None:
    found = explain(ledger(asked(module, starts, piece)), ledger(run(module)))
    assert found.remainder_elements == 8 + 8 + 4


def test_a_sum_that_is_read_whole_is_left_over(ledger: Ledger, module: Text) -> None:
    whole = module(HEAD + f"  ROOT %sum = f32[8] all-reduce(%x), {EVERYWHERE}")
    assert not explain(ledger(whole), ledger(run(module))).complete


def test_groups_that_are_no_grid_are_left_over(ledger: Ledger, module: Text) -> None:
    same_twice = run(module, INNER, INNER.replace("channel_id=1", "channel_id=2"))
    assert not explain(ledger(asked(module, "0, 4, 0, 4")), ledger(same_twice)).complete


HALF = "  %x = f32[8] parameter(0)\n  %table = s32[4] constant({0, 4, 0, 4})\n  %me = u32[] partition-id()\n"
CELL = "  %cell = s32[1] dynamic-slice(%table, %me), dynamic_slice_sizes={1}\n  %start = s32[] reshape(%cell)\n"


def asked_for_two(module: Text) -> str:
    """Two sums of everything, of which each device keeps its half."""
    lines = [
        f"  %sum{i} = f32[8] all-reduce({operand}), {EVERYWHERE}\n"
        f"  %mine{i} = f32[4] dynamic-slice(%sum{i}, %start), dynamic_slice_sizes={{4}}\n"
        for i, operand in enumerate(("%x", "%y"))
    ]
    head = HALF + CELL + "  %y = f32[8] negate(%x)\n"
    return module(head + "".join(lines) + "  ROOT %t = (f32[4], f32[4]) tuple(%mine0, %mine1)", "(f32[4], f32[4])")


def run_as_one(module: Text, size: int = 8, further: str = "") -> str:
    return module(
        HEAD
        + "  %y = f32[8] negate(%x)\n"
        + f"  %part0 = f32[4] reduce-scatter(%x), dimensions={{0}}, {INNER}\n"
        + f"  %part1 = f32[4] reduce-scatter(%y), dimensions={{0}}, {INNER}\n"
        + f'  %both = f32[{size}] custom-call(%part0, %part1), custom_call_target="laid"\n{further}'
        + f"  ROOT %sum = f32[{size}] all-reduce(%both), {OUTER}",
        f"f32[{size}]",
    )


def test_a_second_step_for_both(ledger: Ledger, module: Text) -> None:
    found = explain(ledger(asked_for_two(module)), ledger(run_as_one(module)))
    assert found.complete and found.used() == {"scattered": 2, "combined": 2}
    (step,) = found.steps
    assert (step.elements_before, step.elements_after) == (16, 16 + 8)


def test_a_second_step_of_another_size_is_left_over(ledger: Ledger, module: Text) -> None:
    assert not explain(ledger(asked_for_two(module)), ledger(run_as_one(module, 12))).complete
    further = f"  %more = f32[8] all-reduce(%y), {OUTER}\n"
    found = explain(ledger(asked_for_two(module)), ledger(run_as_one(module, further=further)))
    assert [share.elements for share in found.appeared] == [8] and not found.vanished


LOOP_HEAD = (
    "  %x = f32[4] get-tuple-element(%c), index=1\n  %total = f32[8] get-tuple-element(%c), index=2\n"
    "  %table = s32[4] constant({0, 4, 0, 4})\n  %me = u32[] partition-id()\n" + CELL
)
LOOP_TAIL = "  ROOT %out = (s32[], f32[4], f32[8]) tuple(%next, %new, %total)"


@pytest.mark.parametrize(("size", "complete"), [(4, True), (8, True), (12, False)])
def test_a_second_step_behind_the_loop(ledger: Ledger, loop: Text, size: int, complete: bool) -> None:
    """Four rounds of 4 elements are added up to 4, or stacked to 8 twice over; 12 are neither."""
    asked_inside = (
        f"{LOOP_HEAD}  %sum = f32[8] all-reduce(%total), {EVERYWHERE}\n"
        "  %mine = f32[4] dynamic-slice(%sum, %start), dynamic_slice_sizes={4}\n  %new = f32[4] add(%x, %mine)\n"
    )
    runs = f"{LOOP_HEAD}  %new = f32[4] reduce-scatter(%total), dimensions={{0}}, {INNER}\n"
    before = f"  %some = f32[{size}] parameter(2)\n  %second = f32[{size}] all-reduce(%some), {OUTER}"
    found = explain(
        ledger(loop(asked_inside + LOOP_TAIL, trips=4)), ledger(loop(runs + LOOP_TAIL, trips=4, before=before))
    )
    assert found.complete is complete
    assert (found.used() == {"scattered": 4, "accumulated": 4}) is complete


def in_turn(module: Text, between: str = "", root: str = "f32[8] copy(%outer)", result: str = "f32[8]") -> str:
    return module(
        HEAD + f"  %inner = f32[8] all-reduce(%x), {INNER}\n{between}"
        f"  %outer = f32[8] all-reduce({'%m' if between else '%inner'}), {OUTER}\n  ROOT %r = {root}",
        result,
    )


def over_both(module: Text, further: str = "") -> str:
    return module(HEAD + f"{further}  ROOT %sum = f32[8] all-reduce(%x), {EVERYWHERE}")


def test_a_sum_of_a_sum_is_one_over_both_axes(ledger: Ledger, module: Text) -> None:
    for between in ("", "  %m = f32[8] copy(%inner)\n"):
        found = explain(ledger(in_turn(module, between)), ledger(over_both(module)))
        assert found.complete and found.used() == {"nested": 2}
        (step,) = found.steps
        assert (step.elements_before, step.elements_after) == (16, 8)


def test_sums_that_are_no_sum_of_a_sum_are_left_over(ledger: Ledger, module: Text) -> None:
    both = ledger(over_both(module))
    changed = in_turn(module, "  %m = f32[8] multiply(%inner, %inner)\n")
    read_twice = in_turn(module, "", "(f32[8], f32[8]) tuple(%inner, %outer)", "(f32[8], f32[8])")
    for text in (changed, read_twice):
        assert not explain(ledger(text), both).complete
    more = explain(ledger(in_turn(module)), ledger(over_both(module, f"  %more = f32[8] all-reduce(%x), {INNER}\n")))
    assert not more.complete
