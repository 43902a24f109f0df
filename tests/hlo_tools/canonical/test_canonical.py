"""What the canonical ledger changes, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from contract_lint.hlo_tools.canonical import canonical_ledger

SUM = "replica_groups={{0,1},{2,3}}, channel_id=1, use_global_device_ids=true, to_apply=%add"
SUM_ALL = "replica_groups={{0,1,2,3}}, channel_id=1, use_global_device_ids=true, to_apply=%add"
TABLE = """  %table = s32[4] constant({0, 4, 0, 4})
  %me = u32[] partition-id()
  %cell = s32[1] dynamic-slice(%table, %me), dynamic_slice_sizes={1}
  %start = s32[] reshape(%cell)
"""
HEAD = "  %x = f32[8] parameter(0)\n"

Ledger = Callable[[str], Any]
Text = Callable[..., str]


def kinds(ledger: Ledger, text: str) -> list[tuple[str, Any, int, int]]:
    return [(r.kind, r.axes, r.elements, r.result_bytes) for r in canonical_ledger(ledger(text)).rows]


def test_sum_that_is_only_sliced_is_a_reduce_scatter(ledger: Ledger, module: Text) -> None:
    text = module(
        HEAD
        + f"  %sum = f32[8] all-reduce(%x), {SUM}\n"
        + TABLE
        + "  %copy = f32[8] copy(%sum)\n"
        + "  %narrow = bf16[8] convert(%copy)\n"
        + "  ROOT %mine = bf16[4] dynamic-slice(%narrow, %start), dynamic_slice_sizes={4}",
        "bf16[4]",
    )
    assert kinds(ledger, text) == [("reduce-scatter", ("fsdp",), 8, 16)]
    (row,) = canonical_ledger(ledger(text)).rows
    assert row.ring_bytes == 8 * 4 // 2


FUSED = """
%halved (sum: f32[8], at: s32[]) -> f32[4] {
  %sum = f32[8] parameter(0)
  %at = s32[] parameter(1)
  %half = f32[8] add(%sum, %sum)
  ROOT %mine = f32[4] dynamic-slice(%half, %at), dynamic_slice_sizes={4}
}
"""


@pytest.mark.parametrize(
    ("fusion", "used", "kind"),
    [
        (FUSED, "", "reduce-scatter"),
        (FUSED, "(%fused, %sum)", "all-reduce"),
        (
            FUSED.replace("(%half, %at)", "(%sum, %at)")
            .replace("ROOT %mine", "%mine")
            .replace("{4}\n", "{4}\n  ROOT %out = f32[4] slice(%half), slice={[0:4]}\n"),
            "",
            "all-reduce",
        ),
    ],
    ids=["sliced in the fusion", "used whole beside it", "used whole in it"],
)
def test_slices_are_looked_for_in_fusions(ledger: Ledger, module: Text, fusion: str, used: str, kind: str) -> None:
    """CPU programs have the slice in the fusion that reads the sum."""
    text = module(
        HEAD
        + f"  %sum = f32[8] all-reduce(%x), {SUM}\n"
        + TABLE
        + "  %fused = f32[4] fusion(%sum, %start), kind=kLoop, calls=%halved\n"
        + (f"  ROOT %both = (f32[4], f32[8]) tuple{used}" if used else "  ROOT %sin = f32[4] sine(%fused)"),
        "(f32[4], f32[8])" if used else "f32[4]",
    )
    assert [found for found, *_ in kinds(ledger, text.replace("ENTRY", f"{fusion}ENTRY"))] == [kind]


@pytest.mark.parametrize(("size", "kind"), [(4, "reduce-scatter"), (2, "all-reduce")])
def test_table_that_is_not_printed_leaves_the_size_to_decide(
    ledger: Ledger, module: Text, size: int, kind: str
) -> None:
    text = module(
        HEAD
        + f"  %sum = f32[8] all-reduce(%x), {SUM}\n"
        + TABLE.replace("{0, 4, 0, 4}", "{...}")
        + f"  ROOT %mine = f32[{size}] dynamic-slice(%sum, %start), dynamic_slice_sizes={{{size}}}",
        f"f32[{size}]",
    )
    assert [found for found, *_ in kinds(ledger, text)] == [kind]


def test_arithmetic_on_the_partition_number_is_followed(ledger: Ledger, module: Text) -> None:
    text = module(
        HEAD
        + f"  %sum = f32[8] all-reduce(%x), {SUM}\n"
        + "  %me = u32[] partition-id()\n  %two = u32[] constant(2)\n  %mod = u32[] remainder(%me, %two)\n"
        + "  %four = u32[] constant(4)\n  %start = u32[] multiply(%mod, %four)\n"
        + "  ROOT %mine = f32[4] dynamic-slice(%sum, %start), dynamic_slice_sizes={4}",
        "f32[4]",
    )
    assert kinds(ledger, text) == [("reduce-scatter", ("fsdp",), 8, 16)]


def test_sums_added_before_the_slice_are_reduce_scatters(ledger: Ledger, module: Text) -> None:
    text = module(
        HEAD
        + f"  %one = f32[8] all-reduce(%x), {SUM}\n  %two = f32[8] all-reduce(%x), {SUM.replace('=1', '=2')}\n"
        + TABLE
        + "  %both = f32[8] add(%one, %two)\n"
        + "  ROOT %mine = f32[4] dynamic-slice(%both, %start), dynamic_slice_sizes={4}",
        "f32[4]",
    )
    assert [kind for kind, *_ in kinds(ledger, text)] == ["reduce-scatter", "reduce-scatter"]


@pytest.mark.parametrize(
    ("lines", "result"),
    [
        pytest.param(  # the whole result is read as well
            "  %mine = f32[4] dynamic-slice(%sum, %start), dynamic_slice_sizes={4}\n"
            "  ROOT %both = (f32[4], f32[8]) tuple(%mine, %sum)",
            "(f32[4], f32[8])",
            id="whole",
        ),
        pytest.param("  ROOT %out = f32[8] negate(%sum)", "f32[8]", id="root"),
        pytest.param(  # a quarter by two devices
            "  ROOT %mine = f32[2] dynamic-slice(%sum, %start), dynamic_slice_sizes={2}", "f32[2]", id="quarter"
        ),
        pytest.param(  # a slice that is the same on every device
            "  %fixed = s32[] constant(4)\n  ROOT %mine = f32[4] dynamic-slice(%sum, %fixed), dynamic_slice_sizes={4}",
            "f32[4]",
            id="same",
        ),
        pytest.param(  # the result is the start of a slice, not what is sliced
            "  %scalar = f32[1] slice(%sum), slice={[0:1]}\n  ROOT %out = f32[1] negate(%scalar)",
            "f32[1]",
            id="static",
        ),
    ],
)
def test_sum_that_is_used_otherwise_stays(ledger: Ledger, module: Text, lines: str, result: str) -> None:
    text = module(HEAD + f"  %sum = f32[8] all-reduce(%x), {SUM}\n" + TABLE + lines, result)
    assert [kind for kind, *_ in kinds(ledger, text)] == ["all-reduce"]


def test_sum_over_more_axes_than_it_is_sliced_over_stays(ledger: Ledger, module: Text) -> None:
    text = module(
        HEAD
        + f"  %sum = f32[8] all-reduce(%x), {SUM_ALL}\n"
        + TABLE
        + "  ROOT %mine = f32[4] dynamic-slice(%sum, %start), dynamic_slice_sizes={4}",
        "f32[4]",
    )
    assert kinds(ledger, text) == [("all-reduce", ("data", "fsdp"), 8, 32)]


def test_combined_collective_is_one_row_for_each_array(ledger: Ledger, module: Text) -> None:
    text = module(
        HEAD + "  %one = f32[] constant(1)\n" + f"  ROOT %sum = (f32[8], f32[]) all-reduce(%x, %one), {SUM_ALL}",
        "(f32[8], f32[])",
    )
    rows = canonical_ledger(ledger(text)).rows
    assert [(row.name, row.elements, row.operand_bytes, row.ring_bytes) for row in rows] == [
        ("sum.part.0", 8, 32, 48),
        ("sum.part.1", 1, 4, 6),
    ]


def test_all_to_all_of_pieces_is_one_array(ledger: Ledger, module: Text) -> None:
    pair = "(f32[4], f32[4])"
    text = module(
        HEAD
        + "  %a = f32[4] slice(%x), slice={[0:4]}\n  %b = f32[4] slice(%x), slice={[4:8]}\n"
        + f"  ROOT %s = {pair} all-to-all(%a, %b), channel_id=1, replica_groups={{{{0,1}},{{2,3}}}}",
        pair,
    )
    assert kinds(ledger, text) == [("all-to-all", ("fsdp",), 8, 32)]


def test_collective_of_one_device_is_none(ledger: Ledger, module: Text) -> None:
    alone = SUM.replace("{{0,1},{2,3}}", "{{0},{1},{2},{3}}")
    assert kinds(ledger, module(HEAD + f"  ROOT %sum = f32[8] all-reduce(%x), {alone}")) == []


def test_canonical_twice_is_canonical(ledger: Ledger, module: Text) -> None:
    text = module(
        HEAD + "  %one = f32[] constant(1)\n" + f"  ROOT %s = (f32[8], f32[]) all-reduce(%x, %one), {SUM_ALL}",
        "(f32[8], f32[])",
    )
    once = canonical_ledger(ledger(text))
    assert canonical_ledger(once).as_json() == once.as_json()


def test_long_chains_of_users_cost_linear_time(ledger: Ledger, module: Text) -> None:
    """Three thousand sums that each run into the next: the search for slices gives up early in each."""
    lines = [HEAD.rstrip()]
    last = "x"
    for number in range(3_000):
        lines.append(f"  %s{number} = f32[8] all-reduce(%{last}), {SUM}")
        lines.append(f"  %a{number} = f32[8] add(%s{number}, %x)")
        last = f"a{number}"
    lines.append(f"  ROOT %out = f32[8] copy(%{last})")
    assert len(canonical_ledger(ledger(module("\n".join(lines)))).rows) == 3_000


def test_array_of_a_combined_sum_that_is_only_sliced_is_a_reduce_scatter(ledger: Ledger, module: Text) -> None:
    text = module(
        HEAD
        + f"  %sum = (f32[8], f32[8]) all-reduce(%x, %x), {SUM}\n"
        + TABLE
        + "  %one = f32[8] get-tuple-element(%sum), index=0\n  %two = f32[8] get-tuple-element(%sum), index=1\n"
        + "  %mine = f32[4] dynamic-slice(%one, %start), dynamic_slice_sizes={4}\n"
        + "  ROOT %t = (f32[4], f32[8]) tuple(%mine, %two)",
        "(f32[4], f32[8])",
    )
    assert [kind for kind, *_ in kinds(ledger, text)] == ["reduce-scatter", "all-reduce"]


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        pytest.param("%mine = f32[4] broadcast(%number), dimensions={}", 0, id="the device's number"),
        pytest.param("%mine = f32[4] slice(%x), slice={[0:4]}", 1, id="the step's data"),
        pytest.param("%mine = f32[4] rng(%zero, %one), distribution=rng_uniform", 1, id="chance"),
        pytest.param("%mine = f32[4] fusion(%number, %one), kind=kLoop, calls=%add", 0, id="a fusion of it"),
        pytest.param("%mine = f32[4] fusion(%number, %x), kind=kLoop, calls=%add", 1, id="a fusion with the data"),
        pytest.param('%mine = f32[4] custom-call(%me), custom_call_target="f"', 1, id="something not looked into"),
    ],
)
def test_gather_of_what_every_device_knows_is_left_out(ledger: Ledger, module: Text, line: str, rows: int) -> None:
    text = module(
        HEAD
        + "  %me = u32[] partition-id()\n  %number = f32[] convert(%me)\n"
        + "  %zero = f32[] constant(0)\n  %one = f32[] constant(1)\n"
        + f"  {line}\n  ROOT %all = f32[8] all-gather(%mine), {SUM.partition(', to_apply')[0]}, dimensions={{0}}"
    )
    assert len(canonical_ledger(ledger(text)).rows) == rows


def aligned(cut: str = "%long", padded: str = "%pad") -> str:
    """Shards of 6 where 4 are an equal part: the last 2 of the device before stand in front of each."""
    scatter = SUM.replace("to_apply", "dimensions={0}, to_apply")
    return (
        f"{HEAD}  %zero = f32[] constant(0)\n  %pad = f32[12] pad(%x, %zero), padding=0_4\n"
        f"  %made = f32[12] concatenate(%x, %x), dimensions={{0}}\n"
        f"  %long = f32[6] reduce-scatter({padded}), {scatter}\n  %tail = f32[2] slice({cut}), slice={{[0:2]}}\n"
        "  %before = f32[2] collective-permute(%tail), channel_id=7, source_target_pairs={{0,1},{2,3}}\n"
        "  %both = f32[8] concatenate(%before, %long), dimensions={0}\n  %me = u32[] partition-id()\n"
        "  ROOT %mine = f32[4] dynamic-slice(%both, %me), dynamic_slice_sizes={4}"
    )


def test_scatter_whose_shards_are_aligned_counts_with_its_array(ledger: Ledger, module: Text) -> None:
    assert kinds(ledger, module(aligned(), "f32[4]")) == [("reduce-scatter", ("fsdp",), 8, 16)]
    (row,) = canonical_ledger(ledger(module(aligned(), "f32[4]"))).rows
    assert (row.operand_bytes, row.ring_bytes) == (32, 16)


@pytest.mark.parametrize("change", [{"cut": "%x"}, {"padded": "%made"}])
def test_other_permutes_and_scatters_stay_as_they_are(ledger: Ledger, module: Text, change: dict[str, str]) -> None:
    found = [kind for kind, *_ in kinds(ledger, module(aligned(**change), "f32[4]"))]
    assert found == ["reduce-scatter", "collective-permute"]
