"""Collectives over slices are explained as one, whatever steps they run in and however their arrays are packed."""

import pytest
from contract_lint.contracts.manifest import MeshFact
from contract_lint.hlo_tools.canonical import Explanation, canonical, explain
from contract_lint.hlo_tools.module import parse_hlo

IDS = [100000, 100001, 200000, 200001]
MESH = MeshFact(axes={"data": 2, "fsdp": 2}, dcn={"data": 2}, device_ids=IDS)
ADD = """%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}
"""
EVERYWHERE = "channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true"
INSIDE = "channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true"


def module(devices: int, arguments: str, lines: str) -> str:
    return f"HloModule m, num_partitions={devices}\n{ADD}ENTRY %main ({arguments}) -> f32[] {{\n{lines}\n}}\n"


def exchange(kind: str, operand: str, shape: str, result: str | None = None) -> str:
    """A transfer between slices of `%operand`; what comes back is `%back`."""
    attributes = (
        'frontend_attributes={_xla_host_transfer_handler_name="xla_megascale_runtime",_xla_host_transfer_rendezvous="r",'
        f'_xla_megascale_target="{{1,2}}x{{0:1}}",_xla_megascale_transfer_type="{kind}"}}'
    )
    back = result or shape
    return f"""  %t = token[] after-all()
  %send = ({shape}, u32[], token[]) send({operand}, %t), channel_id=3, is_host_transfer=true, {attributes}
  %recv = ({back}, u32[], token[]) recv(%t), channel_id=4, is_host_transfer=true, {attributes}
  %came = ({back}, token[]) recv-done(%recv), channel_id=4, is_host_transfer=true
  %back = {back} get-tuple-element(%came), index=0
"""


END = "  ROOT %end = f32[] constant(0)"
SCATTER = f"f32[1024] reduce-scatter(%whole), dimensions={{0}}, {INSIDE}, to_apply=%add"
GATHER = f"  %all = f32[2048] all-gather(%back), dimensions={{0}}, {INSIDE}\n"


def explained(before: str, after: str) -> Explanation:
    return explain(canonical(parse_hlo(before), MESH), canonical(parse_hlo(after), MESH))


def sums(*sizes: int) -> str:
    """The partitioned program: one sum over all devices for each array."""
    arguments = ", ".join(f"x{i}: f32[{n}]" for i, n in enumerate(sizes))
    lines = "".join(
        f"  %x{i} = f32[{n}] parameter({i})\n  %s{i} = f32[{n}] all-reduce(%x{i}), {EVERYWHERE}, to_apply=%add\n"
        for i, n in enumerate(sizes)
    )
    outputs = ", ".join(f"%s{i}" for i in range(len(sizes)))
    shapes = ", ".join(f"f32[{n}]" for n in sizes)
    return module(4, arguments, f"{lines}  ROOT %out = ({shapes}) tuple({outputs})")


def in_steps(packing: str, arguments: str) -> str:
    """One slice's program: a scatter of the packed `%whole`, a sum between slices, a gather."""
    steps = f"  %part = {SCATTER}\n" + exchange("ALL_REDUCE", "%part", "f32[1024]") + GATHER
    return module(2, arguments, packing + steps + END)


PACKINGS = {
    "concatenated": "  %whole = f32[2048] concatenate(%x0, %x1), dimensions={0}\n",
    "updated": (
        '  %buffer = f32[2048] custom-call(), custom_call_target="AllocateBuffer"\n'
        "  %at0 = s32[] constant(0)\n  %at1 = s32[] constant(1280)\n"
        "  %one = f32[2048] dynamic-update-slice(%buffer, %x0, %at0)\n"
        "  %whole = f32[2048] dynamic-update-slice(%one, %x1, %at1)\n"
    ),
    "padded": (
        "  %low = f32[] constant(-inf)\n  %p0 = f32[2048] pad(%x0, %low), padding=0_768\n"
        "  %p1 = f32[2048] pad(%x1, %low), padding=1280_0\n  %whole = f32[2048] maximum(%p0, %p1)\n"
    ),
}
TWO = "  %x0 = f32[1280] parameter(0)\n  %x1 = f32[768] parameter(1)\n"
TWO_ARGUMENTS = "x0: f32[1280], x1: f32[768]"


@pytest.mark.parametrize("packing", PACKINGS)
def test_packed_sums_in_three_steps(packing: str) -> None:
    found = explained(sums(1280, 768), in_steps(TWO + PACKINGS[packing], TWO_ARGUMENTS))
    assert found.complete, found.as_json()
    assert found.used() == {"combined": 2, "hierarchical": 2}
    assert sum(step.elements_after for step in found.steps) == 2048


def test_another_array_is_not_explained() -> None:
    found = explained(sums(1280, 512), in_steps(TWO + PACKINGS["concatenated"], TWO_ARGUMENTS))
    assert [share.elements for share in found.vanished] == [512]
    assert [share.elements for share in found.appeared] == [768]


def test_rounding_up_to_tiles_is_left_out() -> None:
    packing = "  %x0 = f32[1500] parameter(0)\n  %zero = f32[] constant(0)\n" + (
        "  %whole = f32[2048] pad(%x0, %zero), padding=0_548\n"
    )
    assert explained(sums(1500), in_steps(packing, "x0: f32[1500]")).complete


def test_a_small_sum_in_two_steps() -> None:
    lines = "  %x0 = f32[] parameter(0)\n  %tile = f32[1,1,128] bitcast(%x0)\n" + (
        f"  %in = f32[1,1,128] all-reduce(%tile), {INSIDE}, to_apply=%add\n"
    )
    after = module(2, "x0: f32[]", lines + exchange("ALL_REDUCE", "%in", "f32[1,1,128]") + END)
    found = explained(sums(1), after)
    assert found.complete and found.used() == {"hierarchical": 1}


def test_a_gather_in_two_steps() -> None:
    before = module(
        4,
        "x0: f32[512]",
        f"  %x0 = f32[512] parameter(0)\n  %g = f32[2048] all-gather(%x0), dimensions={{0}}, {EVERYWHERE}\n" + END,
    )
    lines = "  %x0 = f32[512] parameter(0)\n" + exchange("ALL_GATHER", "%x0", "f32[512]", "f32[1024]") + GATHER
    found = explained(before, module(2, "x0: f32[512]", lines + END))
    assert found.complete and found.used() == {"hierarchical": 1}
    (step,) = found.steps
    assert step.elements_before == step.elements_after == 2048


def test_a_step_that_is_missing_is_a_remainder() -> None:
    after = in_steps(TWO + PACKINGS["concatenated"], TWO_ARGUMENTS).replace(GATHER, "")
    found = explained(sums(1280, 768), after)
    assert not found.complete and found.remainder_elements > 2048


def aligned(size: int = 2048, permuted: str = "%tail") -> str:
    """Shards of 1028 where 1024 are an equal part: the last 4 of the device before stand in front of each."""
    steps = (
        f"  %x0 = f32[{size}] parameter(0)\n  %zero = f32[] constant(0)\n"
        f"  %whole = f32[2056] pad(%x0, %zero), padding=0_{2056 - size}\n"
        f"  %long = {SCATTER.replace('f32[1024]', 'f32[1028]')}\n"
        "  %tail = f32[4] slice(%long), slice={[1024:1028]}\n  %other = f32[4] slice(%x0), slice={[0:4]}\n"
        f"  %before = f32[4] collective-permute({permuted}), channel_id=7, source_target_pairs={{{{0,1}}}}\n"
        "  %joined = f32[1032] concatenate(%before, %long), dimensions={0}\n"
        "  %me = u32[] partition-id()\n  %part = f32[1024] dynamic-slice(%joined, %me), dynamic_slice_sizes={1024}\n"
    )
    return module(2, f"x0: f32[{size}]", steps + exchange("ALL_REDUCE", "%part", "f32[1024]") + GATHER + END)


def test_shards_that_are_aligned_between_the_steps() -> None:
    found = explained(sums(2048), aligned())
    assert found.complete and found.used() == {"hierarchical": 1}
    (step,) = found.steps
    assert step.elements_before == step.elements_after == 2048


def test_shards_that_do_not_make_up_the_array_are_a_remainder() -> None:
    assert not explained(sums(2048), aligned(2040)).complete


def test_a_permute_of_something_else_aligns_nothing() -> None:
    assert not explained(sums(2048), aligned(permuted="%other")).complete


OUTSIDE = "channel_id=2, replica_groups={{0,2},{1,3}}, use_global_device_ids=true, to_apply=%add"


def scatters(*sizes: int) -> str:
    """The partitioned program: one scatter over all devices for each array."""
    arguments = ", ".join(f"x{i}: f32[{n}]" for i, n in enumerate(sizes))
    lines = "".join(
        f"  %x{i} = f32[{n}] parameter({i})\n"
        f"  %s{i} = f32[{n // 4}] reduce-scatter(%x{i}), dimensions={{0}}, {EVERYWHERE}, to_apply=%add\n"
        for i, n in enumerate(sizes)
    )
    return module(4, arguments, lines + END)


def scattered(size: int = 2048, filled: int = 0, taken: int = 2, before: str = "") -> str:
    """One slice's program: a sum of which each device takes its part, and a scatter between slices of that part.

    The part is filled up to `filled` elements, if any.
    """
    part = size // taken
    lines = (
        f"  %x0 = f32[{size}] parameter(0)\n{before}  %in = f32[{size}] all-reduce(%x0), {INSIDE}, to_apply=%add\n"
        "  %me = u32[] partition-id()\n"
        f"  %part = f32[{part}] dynamic-slice(%in, %me), dynamic_slice_sizes={{{part}}}\n"
    )
    if filled:
        lines += f'  %full = f32[{filled}] custom-call(%part), custom_call_target="ZeroCrop"\n'
    operand, sent = ("%full", filled) if filled else ("%part", part)
    shape = f"f32[{sent}]"
    return module(2, f"x0: f32[{size}]", lines + exchange("REDUCE_SCATTER", operand, shape, f"f32[{sent // 2}]") + END)


@pytest.mark.parametrize(("size", "filled"), [(2048, 0), (40, 256), (3000, 1536)])
def test_a_scatter_in_two_steps(size: int, filled: int) -> None:
    found = explained(scatters(size), scattered(size, filled))
    assert found.complete and found.used() == {"hierarchical": 1}, found.as_json()
    (step,) = found.steps
    assert step.elements_before == step.elements_after == size
    assert step.after[0].row.kind == "reduce-scatter" and step.after[0].row.axes == ("data", "fsdp")


def test_a_scatter_of_another_part_is_a_remainder() -> None:
    assert not explained(scatters(2048), scattered(2048, taken=4)).complete


def test_a_further_sum_within_slices_is_a_remainder() -> None:
    further = f"  %more = f32[2048] all-reduce(%x0), {INSIDE}, to_apply=%add\n"
    found = explained(scatters(2048), scattered(before=further))
    assert [(share.row.name, share.elements) for share in found.appeared] == [("more", 2048)] and not found.vanished


def test_steps_that_are_asked_for_one_by_one_stay_apart() -> None:
    inside = EVERYWHERE.replace("{{0,1,2,3}}", "{{0,1},{2,3}}") + ", to_apply=%add"
    asked = module(
        4,
        "x0: f32[2048]",
        f"  %x0 = f32[2048] parameter(0)\n  %a = f32[2048] all-reduce(%x0), {inside}\n"
        "  %me = u32[] partition-id()\n  %p = f32[1024] dynamic-slice(%a, %me), dynamic_slice_sizes={1024}\n"
        f"  %b = f32[512] reduce-scatter(%p), dimensions={{0}}, {OUTSIDE}\n" + END,
    )
    found = explained(asked, scattered())
    assert found.complete and "hierarchical" not in found.used(), found.as_json()


@pytest.mark.parametrize("packing", PACKINGS)
def test_packed_sums_that_cross_slices_only(packing: str) -> None:
    """No step within a slice: the mesh has one device of each on this axis."""
    asked = sums(1280, 768).replace(EVERYWHERE, OUTSIDE.removesuffix(", to_apply=%add"))
    lines = TWO + PACKINGS[packing] + exchange("ALL_REDUCE", "%whole", "f32[2048]") + END
    found = explained(asked, module(2, TWO_ARGUMENTS, lines))
    assert found.complete and found.used() == {"combined": 2}, found.as_json()
    third = explained(asked.replace("768", "512"), module(2, TWO_ARGUMENTS, lines))
    assert [share.elements for share in third.appeared] == [768]


RING = "{{0,1},{1,2},{2,3},{3,0}}"
BRANCHES = """%of_first (p: f32[8]) -> f32[8] {
  %p = f32[8] parameter(0)
  ROOT %r = f32[8] collective-permute(%p), channel_id=5, source_target_pairs={{0,1}}
}
%of_second (q: f32[8]) -> f32[8] {
  %q = f32[8] parameter(0)
  ROOT %s = f32[8] collective-permute(%q), channel_id=5, source_target_pairs={{0,1}}
}
"""


def permuted(of: str, operand: str = "%x0", pairs: str = "{{100001->200000},{200001->100000}}") -> str:
    """One slice's program: a permute within it, the same for all or one for each, and a transfer between slices."""
    within = {
        "every slice": f"  %kept = f32[8] collective-permute({operand}), channel_id=5, "
        "source_target_pairs={{0,1}}\n",
        "each slice": '  %slice = s32[] custom-call(), custom_call_target="SliceId"\n'
        f"  %kept = f32[8] conditional(%slice, {operand}, {operand}), branch_computations={{%of_first, %of_second}}\n",
    }[of]
    sent = exchange("ONE_TO_ONE", "%x0", "f32[8]").replace('"{1,2}x{0:1}"', pairs)
    head = "  %x0 = f32[8] parameter(0)\n  %y = f32[8] negate(%x0)\n"
    return module(2, "x0: f32[8]", head + within + sent + END).replace("ENTRY", BRANCHES + "ENTRY")


@pytest.mark.parametrize(("of", "alone"), [("every slice", 1), ("each slice", 2)])
def test_a_permute_within_slices_and_between_them(of: str, alone: int) -> None:
    lines = "  %x0 = f32[8] parameter(0)\n" + (
        f"  %p = f32[8] collective-permute(%x0), channel_id=1, source_target_pairs={RING}\n"
    )
    asked = module(4, "x0: f32[8]", lines + END)
    found = explained(asked, permuted(of))
    assert found.complete and found.used() == {"hierarchical": 1}, found.as_json()
    (step,) = found.steps
    assert step.after[0].row.groups == ((0, 1), (1, 2), (2, 3), (3, 0))
    of_another_value = explained(asked, permuted(of, "%y"))
    sends_twice = explained(asked, permuted(of, pairs="{{100000->200000},{200001->100000}}"))
    for other in (of_another_value, sends_twice):
        assert [share.elements for share in other.appeared] == [8] * alone and not other.vanished
