"""Bytes of kernels: whole operands, slices of them, updates in place, values handed on, memory that is not HBM."""

from __future__ import annotations

import pytest
from contract_lint.hlo_tools.cost import CostLedger, cost
from contract_lint.hlo_tools.module import parse_hlo

STACK, ROW = 16 * 8 * 4, 8 * 4


def entry(*lines: str, helpers: str = "") -> CostLedger:
    return cost(parse_hlo(f"HloModule m\n{helpers}\nENTRY e {{\n  " + "\n  ".join(lines) + "\n}\n"))


def fusion(body: str, result: str, *operands: str) -> int:
    """Bytes of one fusion of `body`, on operands of these shapes."""
    lines = [f"p{i} = {shape} parameter({i})" for i, shape in enumerate(operands)]
    inside = "fused {\n  " + "\n  ".join([*lines, *body.strip().splitlines()]) + "\n}\n"
    names = ", ".join(f"p{i}" for i in range(len(operands)))
    lines.append(f"ROOT r = {result} fusion({names}), kind=kLoop, calls=fused")
    return entry(*lines, helpers=inside).hbm_bytes


def test_a_slice_reads_what_it_takes() -> None:
    found = entry(
        "p = f32[16,8] parameter(0)",
        "i = s32[] parameter(1)",
        "ROOT s = f32[1,8] dynamic-slice(p, i, i), dynamic_slice_sizes={1,8}",
    )
    assert found.hbm_bytes == ROW + ROW + 4 + 4


def test_a_layer_taken_out_of_a_stack_inside_a_fusion() -> None:
    """The loop over layers: each round reads its own layer, whatever is computed on the way."""
    body = """
      c = bf16[16,8] convert(p0)
      s = bf16[1,8] dynamic-slice(c, p1, p1), dynamic_slice_sizes={1,8}
      ROOT r = bf16[8] bitcast(s)
    """
    assert fusion(body, "bf16[8]", "f32[16,8]", "s32[]") == ROW + 4 + 16


def test_two_slices_add_up_and_never_exceed_the_whole() -> None:
    two = """
      a = f32[4,8] slice(p0), slice={[0:4],[0:8]}
      b = f32[4,8] slice(p0), slice={[4:8],[0:8]}
      ROOT r = f32[4,8] add(a, b)
    """
    assert fusion(two, "f32[4,8]", "f32[16,8]") == 8 * ROW + 4 * ROW
    beside = """
      a = f32[4,8] slice(p0), slice={[0:4],[0:8]}
      n = f32[16,8] negate(p0)
      ROOT r = (f32[4,8], f32[16,8]) tuple(a, n)
    """
    assert fusion(beside, "(f32[4,8], f32[16,8])", "f32[16,8]") == STACK + 4 * ROW + STACK


def test_a_product_needs_all_of_its_operands() -> None:
    body = """
      d = f32[16,16] dot(p0, p0), lhs_contracting_dims={1}, rhs_contracting_dims={1}
      ROOT r = f32[1,16] slice(d), slice={[0:1],[0:16]}
    """
    assert fusion(body, "f32[1,16]", "f32[16,8]") == STACK + 64


def test_an_update_in_place_touches_what_it_changes() -> None:
    body = """
      u = f32[1,8] bitcast(p1)
      ROOT r = f32[16,8] dynamic-update-slice(p0, u, p2, p2)
    """
    assert fusion(body, "f32[16,8]", "f32[16,8]", "f32[8]", "s32[]") == ROW + 4 + ROW
    copied = body.replace("dynamic-update-slice(p0", "dynamic-update-slice(c").replace(
        "u = ", "c = f32[16,8] negate(p0)\n      u = "
    )
    assert fusion(copied, "f32[16,8]", "f32[16,8]", "f32[8]", "s32[]") == STACK + ROW + 4 + STACK


def test_a_fusion_inside_a_fusion_may_take_a_slice() -> None:
    helpers = """inner {
  p = f32[16,8] parameter(0)
  ROOT s = f32[2,8] slice(p), slice={[0:2],[0:8]}
}
outer {
  p = f32[16,8] parameter(0)
  f = f32[2,8] fusion(p), kind=kLoop, calls=inner
  ROOT n = f32[2,8] negate(f)
}
"""
    found = entry("p = f32[16,8] parameter(0)", "ROOT r = f32[2,8] fusion(p), kind=kLoop, calls=outer", helpers=helpers)
    assert found.hbm_bytes == 4 * ROW


def test_what_an_asynchronous_collective_hands_through_a_fusion_is_not_moved_by_it() -> None:
    """libtpu repeats the all-gather in every kernel that it runs beside: the kernel itself moves its own operands."""
    body = """
      g = f32[32,8] all-gather(p0), dimensions={0}, replica_groups={{0,1}}
      n = f32[8] negate(p1)
      ROOT r = (f32[16,8], f32[32,8], f32[8]) tuple(p0, g, n)
    """
    assert fusion(body, "(f32[16,8], f32[32,8], f32[8])", "f32[16,8]", "f32[8]") == 2 * ROW


def test_vmem_and_flags_are_not_hbm_and_host_memory_is_apart() -> None:
    found = entry(
        "p = f32[16,8]{1,0:T(8,128)} parameter(0)",
        "v = f32[16,8]{1,0:T(8,128)S(1)} negate(p)",
        "h = f32[16,8]{1,0:T(8,128)S(5)} copy(v)",
        'ROOT f = s32[]{:S(2)} custom-call(h), custom_call_target="x"',
    )
    assert (found.hbm_bytes, found.host_bytes) == (STACK, 2 * STACK)


def test_memory_of_collectives_on_a_gpu_is_hbm() -> None:
    """XLA numbers it 1 too, without the tiles of a TPU."""
    assert entry("p = f32[16,8]{1,0} parameter(0)", "ROOT v = f32[16,8]{1,0:S(1)} negate(p)").hbm_bytes == 2 * STACK


@pytest.mark.parametrize(
    ("lines", "moved"),
    [
        (("s = (f32[16,8], f32[16,8], u32[]) copy-start(p)", "ROOT d = f32[16,8] copy-done(s)"), 2 * STACK),
        (
            (
                "s = ((f32[16,8]), f32[4,8], s32[]) slice-start(p), slice={[0:4],[0:8]}",
                "ROOT d = f32[4,8] slice-done(s)",
            ),
            8 * ROW,
        ),
        (("b = f32[128] bitcast(p)", "ROOT t = (f32[128], f32[16,8]) tuple(b, p)"), 0),
        (("ROOT t = f32[8,16] transpose(p), dimensions={1,0}",), 2 * STACK),
    ],
)
def test_copies_and_names(lines: tuple[str, ...], moved: int) -> None:
    assert entry("p = f32[16,8] parameter(0)", *lines).hbm_bytes == moved
