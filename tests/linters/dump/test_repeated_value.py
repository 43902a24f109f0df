"""SHD501: one value moved twice, and what only looks so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

GATHER = "all-gather({x}), channel_id={n}, replica_groups=[1,8]<=[8], dimensions={{0}}, use_global_device_ids=true"


def gather(name: str, operand: str, channel: int, more: str = "") -> str:
    return f"  {name} = f32[4096] {GATHER.format(x=operand, n=channel)}{more}\n"


HEAD = "  x = f32[512] parameter(0)\n  y = f32[512] parameter(1)\n"
NAMED = ', metadata={op_name="jit(f)/mlp/dot"}'
SUM = "  ROOT r = f32[4096] add(g1, g2)"
STARTED = """\
  s1 = (f32[512], f32[4096]) all-gather-start(x), channel_id=1, replica_groups=[1,8]<=[8], dimensions={0}, use_global_device_ids=true
  g1 = f32[4096] all-gather-done(s1)
  s2 = (f32[512], f32[4096]) all-gather-start(x), channel_id=2, replica_groups=[1,8]<=[8], dimensions={0}, use_global_device_ids=true
  g2 = f32[4096] all-gather-done(s2)
"""  # noqa: E501


@pytest.mark.parametrize(
    "body",
    [
        gather("g1", "x", 1, NAMED) + gather("g2", "x", 2, NAMED),
        "  c = f32[512] copy(x)\n  d = f32[512] copy(x)\n" + gather("g1", "c", 1, NAMED) + gather("g2", "d", 2, NAMED),
        STARTED.replace("use_global_device_ids=true", f"use_global_device_ids=true{NAMED}"),
    ],
    ids=["plain", "through copies", "asynchronous"],
)
def test_bad(lint: Callable[..., list], body: str) -> None:
    (found,) = lint("SHD501", HEAD + body + SUM)
    assert found.details["ring_bytes"] == 4096 * 4 * 7 // 8
    assert "1 execution, 14.00 KiB sent by each device" in found.message
    assert found.severity == "warning" and found.location.path == "twin.txt"


@pytest.mark.parametrize(
    "body",
    [
        gather("g1", "x", 1) + gather("g2", "y", 2),
        gather("g1", "x", 1) + gather("g2", "x", 2).replace("[1,8]<=[8]", "[1,8]<=[4,2]T(1,0)"),
        gather("g1", "x", 1) + gather("g2", "x", 2, ', metadata={op_name="jit(f)/rematted_computation/dot"}'),
        gather("g1", "x", 1, ', metadata={op_name="jit(f)/jvp(mlp)/dot"}')
        + gather("g2", "x", 2, ', metadata={op_name="jit(f)/transpose(jvp(mlp))/dot"}'),
    ],
    ids=["another value", "another order of devices", "recomputed on purpose", "gathered for the backward pass"],
)
def test_good(lint: Callable[..., list], body: str) -> None:
    assert lint("SHD501", HEAD + body + SUM) == []


def test_without_metadata_it_is_advice(lint: Callable[..., list]) -> None:
    """Whether a gather is repeated for the backward pass only names tell; a sum never is."""
    (found,) = lint("SHD501", HEAD + gather("g1", "x", 1, NAMED) + gather("g2", "x", 2) + SUM)
    assert (found.severity, found.confidence) == ("info", "likely") and "without metadata" in (found.help or "")
    sums = "".join(
        f"  g{n} = f32[512] all-reduce(x), channel_id={n}, replica_groups=[1,8]<=[8], to_apply=add, "
        "use_global_device_ids=true\n"
        for n in (1, 2)
    )
    (found,) = lint("SHD501", HEAD + sums + SUM.replace("4096", "512"))
    assert (found.severity, found.confidence) == ("warning", "certain")


def test_before_optimisation_it_is_advice(lint: Callable[..., list]) -> None:
    (found,) = lint("SHD501", HEAD + gather("g1", "x", 1) + gather("g2", "x", 2) + SUM, final=False)
    assert (found.severity, found.confidence) == ("info", "likely")
