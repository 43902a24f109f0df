"""TPU fusions: an async chain is one collective, and a sum that its fusion slices is a reduce-scatter."""

from contract_lint.contracts.manifest import MeshFact
from contract_lint.hlo_tools.collectives import CollectiveLedger, collectives
from contract_lint.hlo_tools.module import parse_hlo

MESH = MeshFact(axes={"data": 2, "fsdp": 2})
GROUPS = "replica_groups={{0,1},{2,3}}, use_global_device_ids=true"
GATHER = f"f32[8] all-gather(%shard), dimensions={{0}}, {GROUPS}"


def fused(name: str, channel: int, chain: str, use: str = "") -> str:
    """A fused computation with one copy of a gather, handed to a custom call where `use` names one."""
    end = f'ROOT %c = f32[8] custom-call(%g), custom_call_target="{use}"' if use else "ROOT %c = f32[8] negate(%g)"
    return f"""%{name} (shard: f32[4]) -> f32[8] {{
  %shard = f32[4] parameter(0)
  %g = {GATHER}, channel_id={channel}, frontend_attributes={{chain_id="{chain}"}}
  {end}
}}
"""


def read(computations: str, entry: str) -> CollectiveLedger:
    lines = "\n".join(f"  {line}" for line in entry.splitlines())
    text = f"HloModule m, num_partitions=4\n{computations}ENTRY %main (x: f32[4]) -> f32[8] {{\n{lines}\n}}\n"
    return collectives(parse_hlo(text), MESH)


CHAIN = fused("a", 7, "3", "AsyncCollectiveStart") + fused("b", 7, "3") + fused("c", 7, "3", "AsyncCollectiveDone")
CALLS = """%x = f32[4] parameter(0)
%start = f32[8] fusion(%x), kind=kCustom, calls=%a
%step = f32[8] fusion(%x), kind=kOutput, calls=%b
ROOT %done = f32[8] fusion(%x), kind=kCustom, calls=%c"""


def test_a_chain_is_counted_where_it_starts() -> None:
    (row,) = read(CHAIN, CALLS).rows
    assert (row.computation, row.kind, row.count, row.elements, row.async_) == ("a", "all-gather", 1, 8, True)


def test_another_chain_on_the_same_channel_is_another_collective() -> None:
    again = CHAIN + fused("d", 7, "4")
    entry = CALLS.replace("ROOT %done", "%done") + "\nROOT %other = f32[8] fusion(%x), kind=kLoop, calls=%d"
    assert [row.computation for row in read(again, entry).rows] == ["a", "d"]


def test_outside_of_fusions_a_channel_proves_nothing() -> None:
    entry = (
        CALLS.replace("ROOT %done", "%done").replace("%x = f32[4] parameter(0)", "%shard = f32[4] parameter(0)")
    ).replace(
        "fusion(%x)", "fusion(%shard)"
    ) + f'\nROOT %g = {GATHER}, channel_id=7, frontend_attributes={{chain_id="3"}}'
    assert [row.computation for row in read(CHAIN, entry).rows] == ["a", "main"]


def test_without_a_start_nothing_is_a_copy() -> None:
    entry = "%x = f32[4] parameter(0)\n%one = f32[8] fusion(%x), kind=kLoop, calls=%b\n" + (
        "ROOT %two = f32[8] fusion(%x), kind=kLoop, calls=%d"
    )
    assert len(read(fused("b", 7, "3") + fused("d", 7, "3"), entry).rows) == 2


def scatter(call: str, start: str = "%mine", arrays: int = 1) -> CollectiveLedger:
    """One sum (or a combined one) over `fsdp` and its slices, in a computation that `call` runs."""
    shapes = ", ".join(["f32[8]"] * arrays)
    outs = ", ".join(["f32[4]"] * arrays)
    takes = "\n".join(
        f"  %take{i} = f32[8] get-tuple-element(%sum), index={i}\n"
        f"  %slice{i} = f32[4] dynamic-slice(%take{i}, {start}), dynamic_slice_sizes={{4}}"
        for i in range(arrays)
    )
    names = ", ".join(f"%slice{i}" for i in range(arrays))
    operands = ", ".join(["%x"] * arrays)
    text = f"""HloModule m, num_partitions=4
%add (a: f32[], b: f32[]) -> f32[] {{
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}}
%all-reduce-scatter (x: f32[8]) -> ({outs}) {{
  %x = f32[8] parameter(0)
  %sum = ({shapes}) all-reduce({operands}), channel_id=1, {GROUPS}, to_apply=%add
  %table = s32[4] constant({{0, 4, 0, 4}})
  %me = u32[] partition-id()
  %cell = s32[1] dynamic-slice(%table, %me), dynamic_slice_sizes={{1}}
  %mine = s32[] reshape(%cell)
  %zero = s32[] constant(0)
{takes}
  ROOT %out = ({outs}) tuple({names})
}}
ENTRY %main (x: f32[8]) -> ({outs}) {{
  %x = f32[8] parameter(0)
  ROOT %f = ({outs}) {call.format("%x")}
}}
"""
    return collectives(parse_hlo(text), MESH)


def test_a_fusion_that_sums_and_slices_is_a_reduce_scatter() -> None:
    for arrays in (1, 2):
        (row,) = scatter("fusion({}), kind=kCustom, calls=%all-reduce-scatter", arrays=arrays).rows
        assert (row.kind, row.elements, row.operand_bytes) == ("reduce-scatter", 8 * arrays, 32 * arrays)
        assert (row.result_bytes, row.ring_bytes) == (16 * arrays, 16 * arrays)


def test_a_sum_sliced_elsewhere_or_at_one_place_stays_a_sum() -> None:
    (called,) = scatter("call({}), to_apply=%all-reduce-scatter").rows
    (fixed,) = scatter("fusion({}), kind=kCustom, calls=%all-reduce-scatter", start="%zero").rows
    assert called.kind == fixed.kind == "all-reduce"
