"""A sum over two axes that is sliced along one runs as a scatter there and a smaller sum along the other."""

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
