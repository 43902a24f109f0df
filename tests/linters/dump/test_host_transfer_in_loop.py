"""JIT501: loops that talk to the host."""

from __future__ import annotations

from collections.abc import Callable

import pytest

LOOP = """\
body {{
  p = (s32[], f32[1024], f32[4,1024]{{1,0:S(5)}}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  v = f32[1024] get-tuple-element(p), index=1
  h = f32[4,1024]{{1,0:S(5)}} get-tuple-element(p), index=2
  one = s32[] constant(1)
  zero = s32[] constant(0)
  j = s32[] add(i, one)
{inside}
  ROOT out = (s32[], f32[1024], f32[4,1024]{{1,0:S(5)}}) tuple(j, w, {host})
}}
condition {{
  q = (s32[], f32[1024], f32[4,1024]{{1,0:S(5)}}) parameter(0)
  k = s32[] get-tuple-element(q), index=0
  n = s32[] constant(6)
  ROOT less = pred[] compare(k, n), direction=LT
}}
"""
ENTRY = """\
  x = f32[1024] parameter(0)
  b = f32[4,1024]{1,0:S(5)} parameter(1)
  nought = s32[] constant(0)
  init = (s32[], f32[1024], f32[4,1024]{1,0:S(5)}) tuple(nought, x, b)
  ROOT loop = (s32[], f32[1024], f32[4,1024]{1,0:S(5)}) while(init), condition=condition, body=body
"""
CALLBACK = '  w = f32[1024] custom-call(v), custom_call_target="xla_ffi_python_cpu_callback"'
SEND = """\
  w = f32[1024] negate(v)
  t = token[] after-all()
  s = (f32[1024], u32[], token[]) send(v, t), channel_id=3, is_host_transfer=true{more}
  d = token[] send-done(s), channel_id=3, is_host_transfer=true
"""
PLACED = (
    '  w = f32[1024] custom-call(v), custom_call_target="annotate_device_placement", '
    'frontend_attributes={{_xla_buffer_placement="{}"}}'
)
SLICES = ', frontend_attributes={_xla_host_transfer_handler_name="xla_megascale_runtime"}'


def loop(inside: str, host: str = "h") -> str:
    return LOOP.format(inside=inside, host=host)


@pytest.mark.parametrize(
    ("others", "said", "severity"),
    [
        (loop(CALLBACK), "calls back to Python (%w): 6 executions, 48.00 KiB", "warning"),
        (loop(SEND.format(more="")), "sends values to the host (%s): 6 executions, 24.00 KiB", "warning"),
        (
            loop(
                "  w = f32[1024] negate(v)\n  r = f32[1,1024] reshape(v)\n"
                "  u = f32[4,1024]{1,0:S(5)} dynamic-update-slice(h, r, i, zero)",
                "u",
            ),
            "moves a buffer to host memory (%u): 6 executions, 24.00 KiB",
            "info",
        ),
        (
            loop(
                "  s = f32[1,1024] dynamic-slice(h, i, zero), dynamic_slice_sizes={1,1024}\n  w = f32[1024] reshape(s)"
            ),
            "moves a buffer from host memory (%s): 6 executions, 24.00 KiB",
            "info",
        ),
        (
            loop(PLACED.format("pinned_host")),
            "moves a buffer to host memory (%w): 6 executions, 24.00 KiB",
            "info",
        ),
        (
            loop(PLACED.format("device")),
            "moves a buffer from host memory (%w): 6 executions, 24.00 KiB",
            "info",
        ),
    ],
    ids=["callback", "send", "offload", "fetch", "placed on the host", "placed on the device"],
)
def test_bad(lint: Callable[..., list], others: str, said: str, severity: str) -> None:
    (found,) = lint("JIT501", ENTRY, others)
    assert said in found.message and found.severity == severity


@pytest.mark.parametrize(
    ("text", "others"),
    [
        (ENTRY, loop("  w = f32[1024] negate(v)")),
        (ENTRY, loop(SEND.format(more=SLICES))),
        ("  v = f32[1024] parameter(0)\n" + CALLBACK.replace("  w", "  ROOT w"), ""),
        (ENTRY, loop('  w = f32[1024] custom-call(v), custom_call_target="my_kernel"')),
        (ENTRY, loop(PLACED.format("somewhere"))),
    ],
    ids=["nothing", "between slices", "outside of a loop", "a kernel", "another placement"],
)
def test_good(lint: Callable[..., list], text: str, others: str) -> None:
    assert lint("JIT501", text, others) == []
