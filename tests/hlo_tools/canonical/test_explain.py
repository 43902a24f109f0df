"""Every named rewrite: what it explains, and what it must not explain without its evidence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from contract_lint.hlo_tools.canonical import explain
from contract_lint.hlo_tools.canonical.rewrites import REMOVALS, SPELLINGS

GROUPS = "replica_groups={{0,1},{2,3}}, channel_id=1, use_global_device_ids=true"
SUM = GROUPS + ", to_apply=%add"
GATHER = GROUPS + ", dimensions={0}"
HEAD = "  %x = f32[8] parameter(0)\n"

Ledger = Callable[[str], Any]
Text = Callable[..., str]


def test_the_same_program_needs_no_rewrite(ledger: Ledger, module: Text) -> None:
    text = module(HEAD + f"  ROOT %s = f32[8] all-reduce(%x), {SUM}")
    found = explain(ledger(text), ledger(text))
    assert found.complete and found.used() == {} and len(found.steps) == 1
    assert found.steps[0].elements_before == found.steps[0].elements_after == 8


def test_widened(ledger: Ledger, module: Text) -> None:
    narrow = module(
        "  %x = bf16[8] parameter(0)\n" + f"  ROOT %s = bf16[8] all-reduce(%x), {SUM}", "bf16[8]", "bf16[8]"
    )
    wide = module(HEAD + f"  ROOT %s = f32[8] all-reduce(%x), {SUM}")
    assert explain(ledger(narrow), ledger(wide)).used() == {"widened": 1}
    narrowed = explain(ledger(wide), ledger(narrow))
    assert not narrowed.complete and narrowed.remainder_elements == 16


PRODUCT = "lhs_contracting_dims={0}, rhs_contracting_dims={0}"
ROUNDED = {
    "product": f"  ROOT %r = f32[] dot(%g, %y), {PRODUCT}",
    "moved": f"  %m = f32[8] copy(%g)\n  ROOT %r = f32[] dot(%y, %m), {PRODUCT}, operand_precision={{default,default}}",
    "converted": "  %n = bf16[8] convert(%g)\n  %w = f32[8] convert(%n)\n  ROOT %r = f32[] slice(%w), slice={[0:1]}",
}
NOT_ROUNDED = {
    "precise": f"  ROOT %r = f32[] dot(%g, %y), {PRODUCT}, operand_precision={{highest,highest}}",
    "algorithm": f"  ROOT %r = f32[] dot(%g, %y), {PRODUCT}, algorithm=dot_f32_f32_f32",
    "also added": f"  %p = f32[] dot(%g, %y), {PRODUCT}\n  %q = f32[8] add(%g, %y)\n"
    f"  ROOT %r = f32[] dot(%q, %y), {PRODUCT}",
    "unread": f"  ROOT %r = f32[] dot(%y, %y), {PRODUCT}",
    "returned": "  ROOT %r = f32[8] copy(%g)",
}


def gather_read(module: Text, lines: str, dtype: str = "f32") -> str:
    return module(
        f"  %x = {dtype}[4] parameter(0)\n  %y = f32[8] parameter(1)\n"
        f"  %g = {dtype}[8] all-gather(%x), {GATHER}\n{lines}",
        "f32[]",
        f"{dtype}[4], y: f32[8]",
    )


CONVERTED = {
    "f16": "  ROOT %n = f16[8] convert(%g)",
    "f8e4m3fn": "  ROOT %n = f8e4m3fn[8] convert(%g)",
    "s8": "  ROOT %n = s8[8] convert(%g)",
    "bf16": "  %p = f32[6] slice(%g), slice={[0:6]}\n  %n = bf16[6] convert(%p)\n  %zero = f32[] constant(0)\n"
    "  %q = f32[12] pad(%g, %zero), padding=2_2\n  %m = bf16[12] convert(%q)\n"
    "  ROOT %t = (bf16[6], bf16[12]) tuple(%n, %m)",
}
NOT_CONVERTED = {
    "another type": "  ROOT %n = f16[8] convert(%g)",
    "two types": "  %n = bf16[8] convert(%g)\n  %m = f16[8] convert(%g)\n  ROOT %t = (bf16[8], f16[8]) tuple(%n, %m)",
    "widened": "  ROOT %n = f64[8] convert(%g)",
    "computed with": "  %d = f32[8] add(%g, %y)\n  ROOT %n = bf16[8] convert(%d)",
    "used as a start": "  %i = s32[] constant(0)\n  ROOT %n = f32[2] dynamic-slice(%y, %g), dynamic_slice_sizes={2}",
}


def test_narrowed_to_whatever_all_readers_convert_to(ledger: Ledger, module: Text) -> None:
    for dtype, lines in CONVERTED.items():
        found = explain(ledger(gather_read(module, lines)), ledger(gather_read(module, lines, dtype)))
        assert found.complete and found.used() == {"narrowed": 1}, dtype
        assert found.dtypes("narrowed") == (dtype,)
    for name, lines in NOT_CONVERTED.items():
        found = explain(ledger(gather_read(module, lines)), ledger(gather_read(module, lines, "bf16")))
        assert "narrowed" not in found.used() and found.remainder_elements == 16, name


def test_narrowed_among_arrays_that_travel_together(ledger: Ledger, module: Text) -> None:
    """One tuple of two types: each array is explained by its own readers, and a third one is no part of either."""
    head = "  %x = f32[4] parameter(0)\n  %y = f32[8] parameter(1)\n"
    read = "  %n = bf16[8] convert(%h)\n  ROOT %t = (f32[8], bf16[8]) tuple(%g, %n)"
    before = module(
        head + f"  %g = f32[8] all-gather(%x), {GATHER}\n  %h = f32[8] all-gather(%x), {GATHER}\n" + read,
        "(f32[8], bf16[8])",
        "f32[4], y: f32[8]",
    )

    def combined(arrays: str, shapes: str) -> str:
        lines = f"  %n = bf16[4] convert(%x)\n  ROOT %g = ({shapes}) all-gather({arrays}), {GATHER}"
        return module(head + lines, f"({shapes})", "f32[4], y: f32[8]")

    found = explain(ledger(before), ledger(combined("%x, %n", "f32[8], bf16[8]")))
    assert found.complete and found.used() == {"combined": 2, "narrowed": 1}
    extra = explain(ledger(before), ledger(combined("%x, %n, %n", "f32[8], bf16[8], bf16[8]")))
    assert [(share.row.dtype, share.elements) for share in extra.appeared] == [("bf16", 8)] and not extra.vanished


def test_narrowed_needs_readers_that_round(ledger: Ledger, module: Text) -> None:
    narrow = ledger(gather_read(module, ROUNDED["product"], "bf16"))
    for name, lines in ROUNDED.items():
        wide = ledger(gather_read(module, lines))
        found = explain(wide, narrow)
        assert found.complete and found.used() == {"narrowed": 1}, name
        assert found.dtypes("narrowed") == ("bf16",)
        assert explain(narrow, wide).used() == {"widened": 1}, name
    for name, lines in NOT_ROUNDED.items():
        found = explain(ledger(gather_read(module, lines)), narrow)
        assert "narrowed" not in found.used() and found.remainder_elements, name


def test_narrowed_on_the_way_out_of_a_loop(ledger: Ledger, loop: Text) -> None:
    head = "  %shard = f32[4] get-tuple-element(%c), index=1\n  %total = f32[8] get-tuple-element(%c), index=2\n"
    tail = "  ROOT %out = (s32[], f32[4], f32[8]) tuple(%next, %shard, %sum)"
    gathered = f"  %g = f32[8] all-gather(%shard), {GATHER}\n"
    read = f"  %p = f32[] dot(%g, %total), {PRODUCT}\n  %sum = f32[8] broadcast(%p), dimensions={{}}\n"
    added = "  %sum = f32[8] add(%g, %total)\n"
    outside = f"  %n = bf16[4] convert(%x)\n  %h = bf16[8] all-gather(%n), {GATHER}"
    left = ledger(loop(head + "  %sum = f32[8] negate(%total)\n" + tail, before=outside))
    found = explain(ledger(loop(head + gathered + read + tail)), left)
    assert found.complete and found.used() == {"hoisted": 3, "narrowed": 3}
    assert not explain(ledger(loop(head + gathered + added + tail)), left).complete


def test_narrowed_moves_only(ledger: Ledger, module: Text) -> None:
    """A sum of rounded terms is another sum."""

    def summed(dtype: str) -> str:
        return module(
            f"  %x = {dtype}[8] parameter(0)\n  %s = {dtype}[8] all-reduce(%x), {SUM}\n"
            f"  ROOT %r = f32[] dot(%s, %s), {PRODUCT}",
            "f32[]",
            f"{dtype}[8]",
        )

    found = explain(ledger(summed("f32")), ledger(summed("bf16")))
    assert not found.complete and found.remainder_elements == 16


def test_sum_spelling(ledger: Ledger, module: Text) -> None:
    scattered = module(HEAD + f"  ROOT %s = f32[4] reduce-scatter(%x), {SUM}, dimensions={{0}}", "f32[4]")
    summed = module(HEAD + f"  ROOT %s = f32[8] all-reduce(%x), {SUM}")
    assert explain(ledger(scattered), ledger(summed)).used() == {"sum-spelling": 1}
    assert explain(ledger(summed), ledger(scattered)).used() == {"sum-spelling": 1}


def padded_sum(module: Text, operand: str, lines: str, shard: str = "f32[4]") -> str:
    return module(
        f"  %x = {shard} parameter(0)\n  %zero = f32[] constant(0)\n  %one = f32[] constant(1)\n"
        + f"  %i = s32[] constant(4)\n{lines}\n  ROOT %s = f32[8] all-reduce({operand}), {SUM}",
        "f32[8]",
        shard,
    )


ZEROS = "  %zeros = f32[8] broadcast(%zero), dimensions={}\n"
UPDATE = "  %u = f32[8] dynamic-update-slice(%zeros, %x, %i)"
PADDED = {
    "update": ("%u", ZEROS + UPDATE),
    "pad": ("%p", "  %p = f32[8] pad(%x, %zero), padding=4_0"),
    "moved": ("%m", ZEROS + UPDATE + "\n  %m = f32[8] copy(%u)"),
}
NOT_PADDED = {
    "ones": ("%u", "  %zeros = f32[8] broadcast(%one), dimensions={}\n" + UPDATE),
    "pad with one": ("%p", "  %p = f32[8] pad(%x, %one), padding=4_0"),
    "other data": ("%p", "  %p = f32[8] concatenate(%x, %x), dimensions={0}"),
}


def test_gather_as_sum_needs_shards_among_zeros(ledger: Ledger, module: Text) -> None:
    gathered = ledger(
        module("  %x = f32[4] parameter(0)\n" + f"  ROOT %g = f32[8] all-gather(%x), {GATHER}", "f32[8]", "f32[4]")
    )
    for name, (operand, lines) in PADDED.items():
        summed = ledger(padded_sum(module, operand, lines))
        assert explain(gathered, summed).used() == {"gather-as-sum": 1}, name
        assert not explain(summed, gathered).complete, "a sum is no gather"
    for name, (operand, lines) in NOT_PADDED.items():
        found = explain(gathered, ledger(padded_sum(module, operand, lines)))
        assert found.used() == {} and found.remainder_elements == 16, name
    short = padded_sum(module, "%u", ZEROS + UPDATE, shard="f32[2]")
    assert not explain(gathered, ledger(short)).complete, "a piece that is no shard of 1/n"


def test_gather_as_sum_inside_a_fusion(ledger: Ledger, module: Text) -> None:
    gathered = ledger(
        module("  %x = f32[4] parameter(0)\n" + f"  ROOT %g = f32[8] all-gather(%x), {GATHER}", "f32[8]", "f32[4]")
    )
    for filling, expected in (("zero", {"gather-as-sum": 1}), ("one", {})):
        text = padded_sum(
            module,
            "%f",
            f"  %b = f32[8] broadcast(%{filling}), dimensions={{}}\n"
            "  %f = f32[8] fusion(%b, %x, %i), kind=kLoop, calls=%fused",
        )
        fused = """%fused (b: f32[8], x: f32[4], i: s32[]) -> f32[8] {
  %b = f32[8] parameter(0)
  %x = f32[4] parameter(1)
  %i = s32[] parameter(2)
  %u = f32[8] dynamic-update-slice(%b, %x, %i)
  ROOT %c = f32[8] copy(%u)
}
ENTRY"""
        assert explain(gathered, ledger(text.replace("ENTRY", fused))).used() == expected


def test_a_row_gives_up_its_partner_where_it_has_another(ledger: Ledger, loop: Text) -> None:
    """Two gathers of one size in a loop, the first of a parameter, and only that one can leave the loop."""
    kept = loop(
        f"""  %shard = f32[4] get-tuple-element(%c), index=1
  %total = f32[8] get-tuple-element(%c), index=2
  %g = f32[8] all-gather(%shard), {GATHER}
  %piece = f32[4] slice(%total), slice={{[0:4]}}
  %h = f32[8] all-gather(%piece), {GATHER}
  %sum = f32[8] add(%g, %h)
  ROOT %out = (s32[], f32[4], f32[8]) tuple(%next, %shard, %sum)"""
    )
    left = loop(
        f"""  %shard = f32[4] get-tuple-element(%c), index=1
  %total = f32[8] get-tuple-element(%c), index=2
  %piece = f32[4] slice(%total), slice={{[0:4]}}
  %h = f32[8] all-gather(%piece), {GATHER}
  ROOT %out = (s32[], f32[4], f32[8]) tuple(%next, %shard, %h)""",
        before=f"  %g = f32[8] all-gather(%x), {GATHER}",
    )
    found = explain(ledger(kept), ledger(left))
    assert found.complete and found.used() == {"hoisted": 3}
    (step,) = (step for step in found.steps if "hoisted" in step.rewrites)
    assert step.before[0].row.name == "g"


def test_a_row_gives_up_its_partner_where_it_may_be_removed(ledger: Ledger, module: Text) -> None:
    """The dead sum agrees with the program to the type, the live one only once it is widened."""
    before = module(
        "  %x = bf16[8] parameter(0)\n  %w = f32[8] convert(%x)\n"
        + f"  %dead = f32[8] all-reduce(%w), {SUM}\n  ROOT %s = bf16[8] all-reduce(%x), {SUM}",
        "bf16[8]",
        "bf16[8]",
    )
    after = module(HEAD + f"  ROOT %s = f32[8] all-reduce(%x), {SUM}")
    found = explain(ledger(before), ledger(after))
    assert found.complete and found.used() == {"dead": 1, "widened": 1}


def test_combined(ledger: Ledger, module: Text) -> None:
    pair = "(f32[8], f32[8])"
    apart = module(
        HEAD
        + f"  %s = f32[8] all-reduce(%x), {SUM}\n  %y = f32[8] negate(%x)\n  %t = f32[8] all-reduce(%y), {SUM}\n"
        + f"  ROOT %both = {pair} tuple(%s, %t)",
        pair,
    )
    together = module(HEAD + f"  %y = f32[8] negate(%x)\n  ROOT %s = {pair} all-reduce(%x, %y), {SUM}", pair)
    assert explain(ledger(apart), ledger(together)).used() == {"combined": 2}


def gather_in_loop(loop: Text, read: str, kept: str = "%shard") -> str:
    body = f"""  %shard = f32[4] get-tuple-element(%c), index=1
  %total = f32[8] get-tuple-element(%c), index=2
  %moved = f32[4] negate(%shard)
  %operand = f32[4] copy({read})
  %whole = f32[8] all-gather(%operand), {GATHER}
  %more = f32[8] add(%total, %whole)
  ROOT %out = (s32[], f32[4], f32[8]) tuple(%next, {kept}, %more)"""
    return loop(body)


def gather_before_loop(loop: Text) -> str:
    body = """  %shard = f32[4] get-tuple-element(%c), index=1
  %total = f32[8] get-tuple-element(%c), index=2
  ROOT %out = (s32[], f32[4], f32[8]) tuple(%next, %shard, %total)"""
    return loop(body, before=f"  %whole = f32[8] all-gather(%x), {GATHER}")


def test_hoisted_needs_an_operand_the_loop_does_not_change(ledger: Ledger, loop: Text) -> None:
    after = ledger(gather_before_loop(loop))
    found = explain(ledger(gather_in_loop(loop, "%shard")), after)
    assert found.used() == {"hoisted": 3} and found.complete
    assert (found.steps[0].elements_before, found.steps[0].elements_after) == (24, 8)
    assert explain(ledger(gather_in_loop(loop, "%moved")), after).complete
    changing = explain(ledger(gather_in_loop(loop, "%shard", kept="%moved")), after)
    assert not changing.complete and changing.remainder_elements == 24 + 8


def test_accumulated_sum_moves_behind_the_loop(ledger: Ledger, loop: Text) -> None:
    inside = loop(
        f"""  %shard = f32[4] get-tuple-element(%c), index=1
  %total = f32[8] get-tuple-element(%c), index=2
  %sum = f32[8] all-reduce(%total), {SUM}
  ROOT %out = (s32[], f32[4], f32[8]) tuple(%next, %shard, %sum)"""
    )
    behind = loop(
        """  %shard = f32[4] get-tuple-element(%c), index=1
  %total = f32[8] get-tuple-element(%c), index=2
  ROOT %out = (s32[], f32[4], f32[8]) tuple(%next, %shard, %total)""",
        before=f"  %sum = f32[8] all-reduce(%y), {SUM}",
    )
    assert explain(ledger(inside), ledger(behind)).used() == {"accumulated": 3}
    assert not explain(ledger(behind), ledger(inside)).complete, "into a loop is no rewrite"


def test_accumulated_sum_of_stacked_layers(ledger: Ledger, loop: Text) -> None:
    """Six rounds of eight elements, stacked by threes and accumulated twice: one sum of 24."""
    inside = loop(
        f"""  %shard = f32[4] get-tuple-element(%c), index=1
  %total = f32[8] get-tuple-element(%c), index=2
  %sum = f32[8] all-reduce(%total), {SUM}
  ROOT %out = (s32[], f32[4], f32[8]) tuple(%next, %shard, %sum)""",
        trips=6,
    )
    stacked = loop(
        """  %shard = f32[4] get-tuple-element(%c), index=1
  %total = f32[8] get-tuple-element(%c), index=2
  ROOT %out = (s32[], f32[4], f32[8]) tuple(%next, %shard, %total)""",
        before=f"  %z = f32[24] pad(%y, %zero), padding=0_16\n  %sum = f32[24] all-reduce(%z), {SUM}",
    )
    (step,) = explain(ledger(inside), ledger(stacked)).steps
    assert (step.elements_before, step.elements_after) == (48, 24)


def twice(module: Text, second: str) -> str:
    pair = "(f32[8], f32[8])"
    return module(
        HEAD
        + "  %y = f32[8] negate(%x)\n  %copy = f32[8] copy(%x)\n"
        + f"  %s = f32[8] all-reduce(%x), {SUM}\n  %t = f32[8] all-reduce({second}), {SUM}\n"
        + f"  ROOT %both = {pair} tuple(%s, %t)",
        pair,
    )


def test_duplicate_needs_the_same_value(ledger: Ledger, module: Text) -> None:
    once = ledger(module(HEAD + f"  ROOT %s = f32[8] all-reduce(%x), {SUM}"))
    assert explain(ledger(twice(module, "%copy")), once).used() == {"duplicate": 1}
    other = explain(ledger(twice(module, "%y")), once)
    assert not other.complete and other.remainder_elements == 8


def added(module: Text, operation: str) -> str:
    return module(
        HEAD
        + "  %y = f32[8] negate(%x)\n"
        + f"  %s = f32[8] all-reduce(%x), {SUM}\n  %t = f32[8] all-reduce(%y), {SUM}\n"
        + "  %moved = f32[8] copy(%s)\n"
        + f"  ROOT %both = f32[8] {operation}(%moved, %t)",
    )


def test_reassociated_needs_results_that_are_added(ledger: Ledger, module: Text) -> None:
    once = ledger(module(HEAD + f"  %y = f32[8] negate(%x)\n  ROOT %s = f32[8] all-reduce(%y), {SUM}"))
    assert explain(ledger(added(module, "add")), once).used() == {"reassociated": 1}
    assert not explain(ledger(added(module, "multiply")), once).complete


@pytest.mark.parametrize(("other", "whole"), [("%start", True), ("%end", False)])
def test_reassociated_parts_are_the_same_parts(ledger: Ledger, module: Text, other: str, whole: bool) -> None:
    parts = module(
        HEAD
        + "  %y = f32[8] negate(%x)\n  %table = s32[4] constant({0, 4, 0, 4})\n  %turned = s32[4] reverse(%table), "
        + "dimensions={0}\n  %me = u32[] partition-id()\n"
        + "  %cell = s32[1] dynamic-slice(%table, %me), dynamic_slice_sizes={1}\n  %start = s32[] reshape(%cell)\n"
        + "  %last = s32[1] dynamic-slice(%turned, %me), dynamic_slice_sizes={1}\n  %end = s32[] reshape(%last)\n"
        + f"  %s = f32[8] all-reduce(%x), {SUM}\n  %t = f32[8] all-reduce(%y), {SUM}\n"
        + "  %mine = f32[4] dynamic-slice(%s, %start), dynamic_slice_sizes={4}\n"
        + f"  %yours = f32[4] dynamic-slice(%t, {other}), dynamic_slice_sizes={{4}}\n"
        + "  ROOT %both = f32[4] add(%mine, %yours)",
        "f32[4]",
    )
    once = ledger(
        module(HEAD + f"  ROOT %s = f32[4] reduce-scatter(%x), {GATHER}, to_apply=%add", "f32[4]"),
    )
    assert explain(ledger(parts), once).complete is whole


def test_dead_needs_a_result_that_nobody_reads(ledger: Ledger, module: Text) -> None:
    none = ledger(module(HEAD + "  ROOT %y = f32[8] negate(%x)"))
    unread = module(
        HEAD + f"  %s = f32[8] all-reduce(%x), {SUM}\n  %c = f32[8] copy(%s)\n  ROOT %y = f32[8] negate(%x)"
    )
    read = module(HEAD + f"  %s = f32[8] all-reduce(%x), {SUM}\n  ROOT %y = f32[8] negate(%s)")
    assert explain(ledger(unread), none).used() == {"dead": 1}
    assert not explain(ledger(read), none).complete


def test_unrolled_loop_is_the_same_executions_in_more_rows(ledger: Ledger, loop: Text, module: Text) -> None:
    inside = gather_in_loop(loop, "%moved", kept="%moved")
    lines = [f"  %g{i} = f32[8] all-gather(%x), {GATHER}" for i in range(3)]
    triple = "(f32[8], f32[8], f32[8])"
    flat = module(
        "  %x = f32[4] parameter(0)\n" + "\n".join(lines) + f"\n  ROOT %all = {triple} tuple(%g0, %g1, %g2)",
        triple,
        "f32[4]",
    )
    found = explain(ledger(inside), ledger(flat))
    assert found.complete and found.used() == {"unrolled": 3}


def test_a_new_collective_is_left_over(ledger: Ledger, module: Text) -> None:
    one = module(HEAD + f"  ROOT %s = f32[8] all-reduce(%x), {SUM}")
    found = explain(ledger(one), ledger(twice(module, "%y")))
    (share,) = found.appeared
    assert share.row.name == "t" and found.remainder_elements == 8 and found.vanished == ()
    assert found.as_json()["appeared"][0]["axes"] == ["fsdp"]


def test_many_rows_of_two_dtypes_are_told_apart(ledger: Ledger, module: Text) -> None:
    """Four thousand float32 sums that became bfloat16 sums: no rewrite narrows, and saying so is not quadratic."""
    lines = "\n".join(f"  %a{i} = f32[8] all-reduce(%x), {SUM}" for i in range(4000))
    wide = module(HEAD + lines + "\n  ROOT %y = f32[8] negate(%a0)")
    found = explain(ledger(wide), ledger(wide.replace("f32[8]", "bf16[8]")))
    # All but the one that is read are dead code, or repeat it.
    assert len(found.appeared) == 4000 and sum(share.executions for share in found.vanished) == 1


def test_every_rewrite_is_documented() -> None:
    import sys

    for rewrite in REMOVALS:
        assert sys.modules[rewrite.__module__].__doc__
    assert len({spelling.name for spelling in SPELLINGS}) == len(SPELLINGS)
    assert all(spelling.formula for spelling in SPELLINGS)


def test_sum_of_a_concatenation_is_explained_array_by_array(ledger: Ledger, module: Text) -> None:
    head = "  %x = f32[8] parameter(0)\n  %y = f32[8] negate(%x)\n"
    apart = module(head + f"  %s = f32[8] all-reduce(%x), {SUM}\n  ROOT %t = f32[8] all-reduce(%y), {SUM}")
    joined = module(
        head
        + "  %both = f32[16] concatenate(%x, %y), dimensions={0}\n"
        + f"  ROOT %s = f32[16] all-reduce(%both), {SUM}",
        "f32[16]",
    )
    found = explain(ledger(apart), ledger(joined))
    assert found.complete and found.used() == {"combined": 2}
    longer = joined.replace("concatenate(%x, %y)", "concatenate(%x, %x, %y)").replace("f32[16]", "f32[24]")
    assert [share.elements for share in explain(ledger(apart), ledger(longer)).appeared] == [8]
