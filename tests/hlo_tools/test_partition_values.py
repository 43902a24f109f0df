"""Which slice a device takes, worked out for many devices at once."""

from __future__ import annotations

import pytest
from contract_lint.hlo_tools.module import parse_hlo
from contract_lint.hlo_tools.partition_values import NotConstant, NotPrinted, values_on

HEAD = """\
  id = u32[] partition-id()
  me = s32[] convert(id)
  zero = s32[] constant(0)
  two = s32[] constant(2)
  three = s32[] constant(3)
  x = s32[] parameter(0)
"""


def values(lines: str, devices: int = 6) -> list[int]:
    root = parse_hlo(f"HloModule m\n\nENTRY main {{\n{HEAD}  {lines}\n}}\n").entry.root
    found = values_on(root, range(devices))
    assert found == [values_on(root, (device,))[0] for device in range(devices)]
    return found


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("ROOT r = s32[] multiply(me, three)", [0, 3, 6, 9, 12, 15]),
        ("ROOT r = s32[] remainder(me, three)", [0, 1, 2, 0, 1, 2]),
        ("ROOT r = s32[] maximum(me, two)", [2, 2, 2, 3, 4, 5]),
        ("ROOT r = s32[] minimum(me, two)", [0, 1, 2, 2, 2, 2]),
        ("ROOT r = s32[] clamp(two, me, three)", [2, 2, 2, 3, 3, 3]),
        ("ROOT r = pred[] compare(me, two), direction=GE", [0, 0, 1, 1, 1, 1]),
        ("p = pred[] compare(me, two), direction=EQ\n  ROOT r = s32[] select(p, zero, three)", [3, 3, 0, 3, 3, 3]),
        (
            "d = s32[] subtract(me, three)\n  p = pred[] compare(d, zero), direction=LT\n"
            "  e = s32[] add(d, three)\n  ROOT r = s32[] select(p, e, d)",
            [0, 1, 2, 0, 1, 2],
        ),
        (
            "t = s32[4] constant({7, 5, 3, 1})\n  s = s32[1] dynamic-slice(t, me), dynamic_slice_sizes={1}\n"
            "  ROOT r = s32[] reshape(s)",
            [7, 5, 3, 1, 1, 1],
        ),
        ("ROOT r = s32[] add(two, three)", [5] * 6),
    ],
)
def test_every_device_at_once(lines: str, expected: list[int]) -> None:
    assert values(lines) == expected


@pytest.mark.parametrize(
    "lines", ["ROOT r = s32[] add(me, x)", "ROOT r = s32[] divide(me, zero)", "ROOT r = s32[] negate(me)"]
)
def test_what_is_not_known(lines: str) -> None:
    with pytest.raises(NotConstant):
        values(lines)


def test_a_table_that_is_left_out() -> None:
    with pytest.raises(NotPrinted):
        values(
            "t = s32[12] constant({...})\n  s = s32[1] dynamic-slice(t, me), dynamic_slice_sizes={1}\n"
            "  ROOT r = s32[] reshape(s)"
        )
