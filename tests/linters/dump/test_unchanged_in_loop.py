"""SHD502: the same value in every round, and values that do change."""

from __future__ import annotations

from collections.abc import Callable

import pytest

LOOP = """\
body {{
  p = (s32[], f32[512], f32[4096]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  w = f32[512] get-tuple-element(p), index=1
  t = f32[4096] get-tuple-element(p), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
{inside}
  u = f32[4096] add(t, g)
  ROOT out = (s32[], f32[512], f32[4096]) tuple(j, {kept}, u)
}}

condition {{
  q = (s32[], f32[512], f32[4096]) parameter(0)
  k = s32[] get-tuple-element(q), index=0
  n = s32[] constant({rounds})
  ROOT less = pred[] compare(k, n), direction=LT
}}
"""
ENTRY = """\
  x = f32[512] parameter(0)
  z = f32[4096] parameter(1)
  zero = s32[] constant(0)
  init = (s32[], f32[512], f32[4096]) tuple(zero, x, z)
  ROOT loop = (s32[], f32[512], f32[4096]) while(init), condition=condition, body=body
"""
GROUPS = "channel_id=1, replica_groups=[1,8]<=[8], use_global_device_ids=true"
GATHER = f"  g = f32[4096] all-gather({{of}}), {GROUPS}, dimensions={{{{0}}}}"


def loop(inside: str, kept: str = "w", rounds: int = 12) -> str:
    return LOOP.format(inside=inside, kept=kept, rounds=rounds)


@pytest.mark.parametrize(
    "inside",
    [
        GATHER.format(of="w"),
        "  v = f32[512] negate(w)\n" + GATHER.format(of="v"),
        f"  f = f32[4096] broadcast(w), dimensions={{0}}\n  g = f32[4096] all-reduce(f), {GROUPS}, to_apply=add",
    ],
    ids=["argument", "made of the argument", "sum"],
)
def test_bad(lint: Callable[..., list], inside: str) -> None:
    (found,) = lint("SHD502", ENTRY, loop(inside))
    assert found.details["count"] == 12 and "12 executions" in found.message


@pytest.mark.parametrize(
    "others",
    [
        loop(GATHER.format(of="v"), "v").replace("  one =", "  v = f32[512] negate(w)\n  one ="),
        loop("  m = f32[4096] dynamic-slice(t, i), dynamic_slice_sizes={4096}\n  g = f32[4096] copy(m)"),
        loop("  f = f32[] convert(i)\n  v = f32[512] broadcast(f), dimensions={}\n" + GATHER.format(of="v")),
        loop("  v = f32[512] rng(w, w), distribution=rng_uniform\n" + GATHER.format(of="v")),
        loop(GATHER.format(of="w"), rounds=1),
    ],
    ids=["changed by the loop", "no collective", "of the counter", "random", "one round"],
)
def test_good(lint: Callable[..., list], others: str) -> None:
    assert lint("SHD502", ENTRY, others) == []
