"""Arrays that travel together are one row again, and what they add up to stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from contract_lint.hlo_tools.canonical import canonical_ledger, summed

SUM = "replica_groups={{0,1},{2,3}}, channel_id=1, use_global_device_ids=true, to_apply=%add"

Ledger = Callable[[str], Any]
Text = Callable[..., str]


def test_arrays_of_one_instruction_are_one_row(ledger: Ledger, module: Text) -> None:
    text = module(
        "  %x = f32[8] parameter(0)\n  %y = f32[3] slice(%x), slice={[0:3]}\n"
        + f"  %both = (f32[8], f32[3]) all-reduce(%x, %y), {SUM}\n"
        + "  ROOT %s = f32[8] get-tuple-element(%both), index=0"
    )
    apart = canonical_ledger(ledger(text))
    (row,) = summed(apart).rows
    assert len(apart.rows) == 2 and row.name == "both" and row.elements == 11
    assert row.ring_bytes == sum(each.ring_exact for each in apart.rows)
    assert summed(summed(apart)).as_json() == summed(apart).as_json()
    assert [(t.count, t.elements) for t in summed(apart).totals()] == [(1, 11)]
