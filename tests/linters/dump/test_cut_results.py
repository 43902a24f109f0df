"""SHD503, SHD504 and SHD508: collectives of whose result a device uses one part."""

from __future__ import annotations

from collections.abc import Callable

import pytest

GROUPS = "channel_id=1, replica_groups=[1,8]<=[8], use_global_device_ids=true"
HEAD = """\
  x = f32[64,128] parameter(0)
  id = u32[] partition-id()
  me = s32[] convert(id)
  zero = s32[] constant(0)
  rows = s32[] constant(64)
  columns = s32[] constant(16)
"""
GATHER = HEAD + f"  g = f32[512,128] all-gather(x), {GROUPS}, dimensions={{0}}\n"
OWN = "  o = s32[] multiply(me, rows)\n"
ACROSS = "  o = s32[] multiply(me, columns)\n"
NEXT = """\
  one = s32[] constant(1)
  eight = s32[] constant(8)
  n = s32[] add(me, one)
  m = s32[] remainder(n, eight)
  o = s32[] multiply(m, rows)
"""
FROM_THE_END = """\
  i = s32[] multiply(me, rows)
  negative = pred[] compare(i, zero), direction=LT
  all = s32[] constant(512)
  j = s32[] add(i, all)
  o = s32[] select(negative, j, i)
"""
ROW = "dynamic-slice({of}, o, zero), dynamic_slice_sizes={{64,128}}"
COLUMN = "dynamic-slice({of}, zero, o), dynamic_slice_sizes={{512,16}}"
FUSED = """\
fused {
  p = f32[512,128] parameter(0)
  i = u32[] parameter(1)
  c = s32[] convert(i)
  n = s32[] constant(64)
  z = s32[] constant(0)
  o = s32[] multiply(c, n)
  d = f32[64,128] dynamic-slice(p, o, z), dynamic_slice_sizes={64,128}
  ROOT r = f32[64,128] negate(d)
}
"""


@pytest.mark.parametrize(
    ("body", "others", "said"),
    [
        (OWN + "  ROOT r = f32[64,128] " + ROW.format(of="g"), "", "takes its own part back"),
        ("  ROOT r = f32[64,128] fusion(g, id), kind=kLoop, calls=fused", FUSED, "takes its own part back"),
        (
            OWN
            + "  h = f32[512,128] multiply(g, g)\n  c = f32[512,128] copy(h)\n  ROOT r = f32[64,128] "
            + ROW.format(of="c"),
            "",
            "takes its own part back",
        ),
        (NEXT + "  ROOT r = f32[64,128] " + ROW.format(of="g"), "", "takes the part of one other"),
        (FROM_THE_END + "  ROOT r = f32[64,128] " + ROW.format(of="g"), "", "takes its own part back"),
        ("  ROOT r = f32[64,128] slice(g), slice={[0:64], [0:128]}", "", "take one and the same part"),
    ],
    ids=["own", "own in a fusion", "own after arithmetic", "another's", "own as JAX indexes", "the first"],
)
def test_gathered_for_a_part(lint: Callable[..., list], body: str, others: str, said: str) -> None:
    (found,) = lint("SHD503", GATHER + body, others)
    assert said in found.message and found.confidence == "certain"
    assert found.details["ring_bytes"] == 512 * 128 * 4 * 7 // 8 and "32.00 KiB of it used" in found.message
    assert not lint("SHD508", GATHER + body, others)


@pytest.mark.parametrize(
    "body",
    [
        OWN + "  s = f32[64,128] " + ROW.format(of="g") + "\n  ROOT r = (f32[64,128], f32[512,128]) tuple(s, g)",
        "  k = s32[] parameter(1)\n  ROOT r = f32[64,128] dynamic-slice(g, k, zero), dynamic_slice_sizes={64,128}",
        "  ROOT r = f32[256,128] slice(g), slice={[0:256], [0:128]}",
        "  ROOT r = f32[512,512] dot(g, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
        "  a = f32[64,128] slice(g), slice={[0:64], [0:128]}\n  b = f32[64,128] slice(g), slice={[64:128], [0:128]}\n"
        "  ROOT r = f32[64,128] add(a, b)",
    ],
    ids=["also used whole", "a place that data decides", "half of it", "all of it", "two parts"],
)
def test_a_gather_that_is_needed(lint: Callable[..., list], body: str) -> None:
    assert not lint("SHD503", GATHER + body) and not lint("SHD508", GATHER + body)


def test_gathered_to_reshard(lint: Callable[..., list]) -> None:
    entry = GATHER + ACROSS + "  ROOT r = f32[512,16] " + COLUMN.format(of="g")
    (found,) = lint("SHD508", entry)
    assert "full rematerialization" in found.message
    assert found.details["ring_bytes"] == 512 * 128 * 4 * 7 // 8 and found.details["needed_bytes"] == 512 * 16 * 4
    assert not lint("SHD503", entry)


def test_a_chain_of_gathers_is_one_change_of_placement(lint: Callable[..., list]) -> None:
    entry = f"""{HEAD}
  a = f32[64,512] all-gather(x), channel_id=1, replica_groups=[2,4]<=[8], dimensions={{1}}, use_global_device_ids=true
  t = f32[64,512] copy(a)
  b = f32[128,512] all-gather(t), channel_id=2, replica_groups=[4,2]<=[2,4]T(1,0), dimensions={{0}}, use_global_device_ids=true
  o = s32[] multiply(me, rows)
  ROOT r = f32[128,64] dynamic-slice(b, zero, o), dynamic_slice_sizes={{128,64}}
"""  # noqa: E501
    (found,) = lint("SHD508", entry)
    assert found.details["instructions"] == ["a", "b"]
    assert found.details["ring_bytes"] == 64 * 512 * 4 * 3 // 4 + 128 * 512 * 4 // 2


SUM = f"""{HEAD}
  y = f32[512,128] parameter(1)
  g = f32[512,128] all-reduce(y), {GROUPS}, to_apply=add
"""


def on_tpu(body: str) -> str:
    """The same program, as TPU's compiler lays out its first array."""
    assert "f32[64,128] parameter" in body
    return body.replace("f32[64,128] parameter", "f32[64,128]{1,0:T(8,128)} parameter")


@pytest.mark.parametrize(
    ("body", "others"),
    [
        (OWN + "  ROOT r = f32[64,128] " + ROW.format(of="g"), ""),
        (OWN + "  h = f32[512,128] add(g, y)\n  ROOT r = f32[64,128] " + ROW.format(of="h"), ""),
        ("  ROOT r = f32[64,128] fusion(g, id), kind=kLoop, calls=fused", FUSED),
    ],
    ids=["sliced", "added and sliced", "sliced in a fusion"],
)
def test_sum_only_sliced(lint: Callable[..., list], body: str, others: str) -> None:
    (found,) = lint("SHD504", on_tpu(SUM + body), others)
    assert found.severity == "warning" and found.confidence == "certain"
    assert "448.00 KiB sent" in found.message and "sends 224.00 KiB" in found.message


def test_what_the_cpu_compiler_always_writes_is_no_finding(lint: Callable[..., list]) -> None:
    body = SUM + OWN + "  ROOT r = f32[64,128] " + ROW.format(of="g")
    assert not lint("SHD504", body) and lint("SHD504", on_tpu(body))


def test_arrays_of_a_combined_sum_are_one_instruction(lint: Callable[..., list]) -> None:
    both = f"(f32[512,128], f32[512,128], f32[512,128]) all-reduce(y, y, y), {GROUPS}, to_apply=add"
    part = "  g{n} = f32[512,128] get-tuple-element(both), index={n}\n"
    sliced = "  s{n} = f32[64,128] dynamic-slice(g{n}, o, zero), dynamic_slice_sizes={{64,128}}\n"
    body = f"{HEAD}  y = f32[512,128] parameter(1)\n  both = {both}\n{OWN}"
    body += "".join(line.format(n=n) for line in (part, sliced) for n in (0, 1)) + part.format(n=2)
    body += "  ROOT r = (f32[64,128], f32[64,128], f32[512,128]) tuple(s0, s1, g2)"
    (found,) = lint("SHD504", on_tpu(body))
    assert "(%both): 1 execution, 896.00 KiB sent" in found.message and found.instruction == "both"
    assert "%both (2 of its 3 arrays): f32, 1 execution" in str(found.evidence)
    assert (found.details["instructions"], found.details["count"]) == (["both"], 1)


@pytest.mark.parametrize(
    "body",
    [
        OWN + "  s = f32[64,128] " + ROW.format(of="g") + "\n  ROOT r = (f32[64,128], f32[512,128]) tuple(s, g)",
        "  ROOT r = f32[64,128] slice(g), slice={[0:64], [0:128]}",
        "  two = s32[] constant(2)\n  h = s32[] divide(me, two)\n  o = s32[] multiply(h, rows)\n  ROOT r = f32[64,128] "
        + ROW.format(of="g"),
    ],
    ids=["also used whole", "the same slice for all", "two devices share a slice"],
)
def test_a_sum_that_is_needed(lint: Callable[..., list], body: str) -> None:
    assert not lint("SHD504", on_tpu(SUM + body))
