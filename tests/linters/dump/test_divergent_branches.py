"""SHD505: branches that only some devices of a group take, and predicates that all of them work out alike."""

from __future__ import annotations

from collections.abc import Callable

import pytest

GROUPS = "replica_groups=[2,4]<=[8], use_global_device_ids=true"
SUM = f"all-reduce({{of}}), channel_id={{n}}, {GROUPS}, to_apply=add"
OTHERS = f"""\
largest {{ a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT s = f32[] maximum(a, b)
}}
summing {{
  v = f32[512] parameter(0)
  ROOT r = f32[512] {SUM.format(of="v", n=7)}
}}
plain {{
  v = f32[512] parameter(0)
  ROOT r = f32[512] negate(v)
}}
summing_too {{
  v = f32[512] parameter(0)
  w = f32[512] negate(v)
  ROOT r = f32[512] {SUM.format(of="w", n=8)}
}}
"""
SPLIT = "sharding={devices=[8]<=[8]}"
ALIKE = "sharding={devices=[2,4]<=[8] last_tile_dim_replicate}"
THREE = "plain, summing, summing_too"
HEAD = """\
  x = f32[512] parameter(0), {placement}
  nil = f32[] constant(0)
  ten = s32[] constant(10)
  zero = s32[] constant(0)
"""
COND = "  ROOT r = f32[512] conditional({by}, x, x), branch_computations={{{branches}}}"
OF_DATA = "  m = f32[] reduce(x, nil), dimensions={0}, to_apply=largest\n  p = pred[] compare(m, nil), direction=GT\n"
OF_SUM = (
    "  m = f32[] reduce(x, nil), dimensions={0}, to_apply=largest\n"
    f"  t = f32[] {SUM.format(of='m', n=1)}\n  p = pred[] compare(t, nil), direction=GT\n"
)


CALLED = '  m = f32[] custom-call(x, nil), custom_call_target="f"\n  p = pred[] compare(m, nil), direction=GT\n'
COUNTER = """\
  s = s32[] parameter(1), sharding={replicated}
  i = s32[] remainder(s, ten)
  p = pred[] compare(i, zero), direction=EQ
"""


def number(opcode: str) -> str:
    """A predicate of the device's number: along the axis of the groups (`and`), or along the other (a shift)."""
    return (
        "  id = u32[] partition-id()\n  k = u32[] constant(3)\n  two = u32[] constant(2)\n"
        f"  a = u32[] {opcode}(id, {'k' if opcode == 'and' else 'two'})\n"
        "  i = s32[] convert(a)\n  p = pred[] compare(i, zero), direction=EQ\n"
    )


def entry(predicate: str, branches: str = "summing, plain", placement: str = SPLIT, by: str = "p") -> str:
    return HEAD.format(placement=placement) + predicate + COND.format(by=by, branches=branches)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (entry(OF_DATA), "argument %x"),
        (entry(number("and")), "partition-id"),
        (
            entry(OF_DATA.replace("p = pred[] compare(m, nil), direction=GT", "i = s32[] convert(m)"), THREE, by="i"),
            "%x",
        ),
    ],
    ids=["of its own data", "of its own number", "one of three"],
)
def test_bad(lint: Callable[..., list], text: str, cause: str) -> None:
    (found,) = lint("SHD505", text, OTHERS)
    assert (found.severity, found.confidence) == ("error", "likely") and cause in found.found
    assert "branches" in found.message and found.instruction == "r"


def test_bad_in_a_loop(lint: Callable[..., list]) -> None:
    loop = f"""\
body {{
  s = (s32[], f32[512]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[512] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  nil = f32[] constant(0)
{OF_DATA}{COND.format(by="p", branches="summing, plain").replace("ROOT r", "y")}
  ROOT out = (s32[], f32[512]) tuple(j, y)
}}
condition {{
  s = (s32[], f32[512]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT less = pred[] compare(i, n), direction=LT
}}
"""
    whole = f"""\
  x = f32[512] parameter(0), {SPLIT}
  zero = s32[] constant(0)
  init = (s32[], f32[512]) tuple(zero, x)
  ROOT r = (s32[], f32[512]) while(init), condition=condition, body=body
"""
    (found,) = lint("SHD505", whole, OTHERS + loop)
    assert "5 executions" in found.message
    assert not lint("SHD505", whole, OTHERS + loop.replace("compare(m, nil)", "compare(i, one)"))


@pytest.mark.parametrize(
    "text",
    [
        entry(OF_SUM),
        entry(number("shift-right-logical")),
        entry(OF_DATA, placement=ALIKE),
        entry(OF_DATA, placement="sharding={replicated}"),
        entry(OF_DATA, "summing, summing_too"),
        entry(OF_DATA, "plain, plain"),
        entry(CALLED),
        entry(COUNTER),
    ],
    ids=[
        "summed over the group",
        "an index along the other axis",
        "the group holds the same part",
        "replicated",
        "the same collectives in both",
        "no collective",
        "unknown",
        "a step counter",
    ],
)
def test_good(lint: Callable[..., list], text: str) -> None:
    assert lint("SHD505", text, OTHERS) == []
