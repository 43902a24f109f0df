"""SHD506, SHD507 and NUM501: what only a schedule and layouts can show."""

from __future__ import annotations

from collections.abc import Callable

import pytest

GROUPS = "replica_groups=[1,8]<=[8], use_global_device_ids=true"


def gathers(count: int, size: int = 512, last: str = "") -> str:
    lines = [f"  x{n} = f32[{size}] parameter({n})" for n in range(count)]
    for n in range(count):
        of = last if last and n == count - 1 else f"x{n}"
        lines += ["  n0 = f32[512] slice(g0), slice={[0:512]}"] if of == "n0" else []
        lines += [f"  g{n} = f32[{8 * size}] all-gather({of}), channel_id={n + 1}, {GROUPS}, dimensions={{0}}"]
    result = ", ".join(f"f32[{8 * size}]" for _ in range(count))
    return "\n".join([*lines, f"  ROOT r = ({result}) tuple({', '.join(f'g{n}' for n in range(count))})"])


def test_small_collectives(lint: Callable[..., list]) -> None:
    (found,) = lint("SHD506", gathers(5))
    assert "5 x all-gather" in found.message and "10.00 KiB together, could be 1: 4 fewer" in found.message
    assert (found.severity, found.confidence) == ("info", "likely") and "psum" not in (found.help or "")


def test_sums_could_surely_be_one(lint: Callable[..., list]) -> None:
    text = gathers(5).replace("f32[4096]", "f32[512]").replace("all-gather(", "all-reduce(")
    (found,) = lint("SHD506", text.replace("dimensions={0}", "to_apply=add"))
    assert found.confidence == "certain" and "lax.psum" in (found.help or "")


@pytest.mark.parametrize(
    ("text", "final"),
    [(gathers(2), True), (gathers(5, 64 << 10), True), (gathers(3, last="n0"), True), (gathers(5), False)],
    ids=["two", "large", "the last needs the first", "not optimised yet"],
)
def test_collectives_that_stay_apart(lint: Callable[..., list], text: str, final: bool) -> None:
    assert lint("SHD506", text, final=final) == []


def test_what_is_joined_stays_small(lint: Callable[..., list]) -> None:
    (found,) = lint("SHD506", gathers(20, 31 << 10))
    assert "could be 3: 17 fewer" in found.message  # eight of 124 KiB fit in 1 MiB


ROWS, COLUMNS, TURNED = "f32[1024,1024]{1,0}", "f32[1024,1024]{0,1}", "f32[8192,1024]{0,1}"


def around(before: str, after: str, argument: str = ROWS) -> str:
    """A gather of `c`, with a line in front of it and lines behind."""
    gather = f"all-gather(c), channel_id=1, {GROUPS}, dimensions={{0}}"
    return f"  x = {argument} parameter(0)\n  c = {before}\n  g = f32[8192,1024]{{1,0}} {gather}\n{after}"


AS_IS = f"{ROWS} negate(x)"
USED = "  ROOT r = f32[8192,1024] negate(g)"
FUSED = "turned {\n p = f32[8192,1024] parameter(0)\n ROOT t = f32[1024,8192]{1,0} transpose(p), dimensions={1,0}\n}\n"


@pytest.mark.parametrize(
    ("text", "others", "said"),
    [
        (around(f"{ROWS} copy(x)", USED, COLUMNS), "", "operand rewritten in another order in memory (%c): 1 exec"),
        (around(AS_IS, f"  ROOT t = {TURNED} copy(g)"), "", "(%t): 1 execution, 64.00 MiB read and written"),
        (
            around(AS_IS, "  ROOT f = f32[1024,8192] fusion(g), kind=kLoop, calls=turned"),
            FUSED,
            "result rewritten in another order in memory (%f)",
        ),
    ],
    ids=["before", "after", "in a fusion of its own"],
)
def test_relaid_collective(lint: Callable[..., list], text: str, others: str, said: str) -> None:
    (found,) = lint("SHD507", text, others)
    assert said in found.message


@pytest.mark.parametrize(
    "text",
    [
        around(f"{ROWS} copy(x)", USED),
        around(AS_IS, "  ROOT t = f32[1024,8192]{0,1} transpose(g), dimensions={1,0}"),
        around(
            AS_IS,
            f"  t = {TURNED} copy(g)\n  n = f32[8192,1024] negate(g)\n"
            f"  ROOT r = ({TURNED}, f32[8192,1024]) tuple(t, n)",
        ),
        around(f"{ROWS} copy(x)", USED, COLUMNS).replace("8192,1024", "64,8").replace("1024,1024", "8,8"),
    ],
    ids=["the same order", "no transpose in memory", "needed in both orders", "small"],
)
def test_copies_that_stay(lint: Callable[..., list], text: str) -> None:
    assert lint("SHD507", text) == []


TILED = "{1,0:T(8,128)}"
NARROW = f"  x = bf16[512,128]{TILED} parameter(0)\n  w = f32[512,128] convert(x)\n"
WIDE_GATHER = f"  g = f32[4096,128] all-gather(w), channel_id=1, {GROUPS}, dimensions={{0}}\n"
WIDE_SUM = f"  g = f32[512,128] all-reduce(w), channel_id=1, {GROUPS}, to_apply=add\n"


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        (NARROW + WIDE_GATHER + "  ROOT r = bf16[4096,128] convert(g)", "warning"),
        (
            NARROW + WIDE_GATHER + "  c = f32[4096,128] copy(g)\n  s = f32[8,128] slice(c), slice={[0:8], [0:128]}\n"
            "  ROOT r = f8e5m2[8,128] convert(s)",
            "warning",
        ),
        (NARROW + WIDE_SUM + "  ROOT r = bf16[512,128] convert(g)", "info"),
        ((NARROW + WIDE_GATHER + "  ROOT r = bf16[4096,128] convert(g)").replace(TILED, ""), "info"),
    ],
    ids=["gather", "moved and cut", "sum", "on CPU"],
)
def test_wide_collective(lint: Callable[..., list], text: str, severity: str) -> None:
    (found,) = lint("NUM501", text)
    assert found.severity == severity and "value that is bf16 before and after" in found.message
    sent = 512 * 128 * 4 * 7 // 8 * (2 if "all-reduce" in text else 8)
    assert found.details["ring_bytes"] == sent and f"{sent / 2 / 1024:.2f} KiB of it for nothing" in found.message


NARROWED = "  ROOT r = bf16[4096,128] convert(g)"
COMPUTED = "  y = bf16[512,128] negate(x)\n  u = f32[512,128] convert(y)\n  w = f32[512,128] multiply(u, u)\n"


@pytest.mark.parametrize(
    "text",
    [
        NARROW + WIDE_GATHER + "  ROOT r = f32[4096,128] negate(g)",
        NARROW
        + WIDE_GATHER
        + "  c = bf16[4096,128] convert(g)\n  ROOT r = (bf16[4096,128], f32[4096,128]) tuple(c, g)",
        "  w = f32[512,128] parameter(0)\n" + WIDE_GATHER + NARROWED,
        "  x = bf16[512,128] parameter(0)\n" + COMPUTED + WIDE_GATHER + NARROWED,
    ],
    ids=["used wide", "also used wide", "wide before", "computed wide"],
)
def test_collectives_that_are_wide_for_a_reason(lint: Callable[..., list], text: str) -> None:
    assert lint("NUM501", text) == []
