"""Hot spots: found by what follows from what, with bytes that can be worked out by hand; kernels are none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from contract_lint import parse_hlo
from contract_lint.hlo_tools.hotspots import HotSpot, HotSpots, hot_spots

REDUCERS = """\
add { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT s = f32[] add(a, b)
}
largest { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT m = f32[] maximum(a, b)
}
"""


def ledger(entry: str, others: str = "") -> HotSpots:
    text = f"HloModule twin, is_scheduled=true\n\n{REDUCERS}\n{others}\nENTRY main {{\n{entry}\n}}\n"
    return hot_spots(parse_hlo(text))


def only(entry: str, others: str = "") -> HotSpot:
    (spot,) = ledger(entry, others).rows
    return spot


SOFTMAX = """\
  nil = f32[] constant(0)
  low = f32[] constant(-inf)
  m = f32[{rows}] reduce({of}, low), dimensions={{{dim}}}, to_apply=largest
  mb = f32[{all}] broadcast(m), dimensions={{{kept}}}
  d = f32[{all}] subtract({of}, mb)
  e = f32[{all}] exponential(d)
  t = f32[{rows}] reduce(e, nil), dimensions={{{dim}}}, to_apply=add
"""
ROWS = SOFTMAX.format(rows="4,64", all="4,64,64", of="s", dim=2, kept="0,1")
QKV = "  q = f32[4,64,16] parameter(0)\n  k = f32[4,64,16] parameter(1)\n  v = f32[4,64,16] parameter(2)\n"
SCORES = (
    "  s = f32[4,64,64] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
    "rhs_contracting_dims={2}\n"
)
DIVIDED = "  tb = f32[4,64,64] broadcast(t), dimensions={0,1}\n  p = f32[4,64,64] divide(e, tb)\n"
OUT = (
    "  ROOT o = f32[4,64,16] dot(p, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
    "rhs_contracting_dims={1}"
)
ARRAY, HEAD = 4 * 64 * 64 * 4, 4 * 64 * 16 * 4


def test_attention_that_writes_its_scores() -> None:
    spot = only(QKV + SCORES + ROWS + DIVIDED + OUT)
    assert (spot.kind, spot.shape, spot.count) == ("attention", "f32[4,64,64]", 1)
    # Written: s, mb, d, e, tb, p. Read: s twice, mb, d, e twice, tb, p.
    assert spot.moved_bytes - spot.least_bytes == (6 + 8) * ARRAY
    assert spot.least_bytes == 4 * HEAD


FUSED = """\
scale {{
  x = f32[4,64,64] parameter(0)
  low = f32[] constant(-inf)
  ROOT m = f32[4,64] reduce(x, low), dimensions={{2}}, to_apply=largest
}}
raise {{
  x = f32[4,64,64] parameter(0)
  m = f32[4,64] parameter(1)
  nil = f32[] constant(0)
  mb = f32[4,64,64] broadcast(m), dimensions={{0,1}}
  d = f32[4,64,64] subtract(x, mb)
  e = f32[4,64,64] exponential(d)
  t = f32[4,64] reduce(e, nil), dimensions={{2}}, to_apply=add
  ROOT both = (f32[4,64,64], f32[4,64]) tuple(e, t)
}}
divided {{
  e = f32[4,64,64] parameter(0)
  t = f32[4,64] parameter(1)
  tb = f32[4,64,64] broadcast(t), dimensions={{0,1}}
  ROOT p = f32[4,64,64] divide(e, tb)
}}
""".replace("{{", "{").replace("}}", "}")
FUSIONS = """\
  m = f32[4,64] fusion(s), kind=kInput, calls=scale
  et = (f32[4,64,64], f32[4,64]) fusion(s, m), kind=kInput, calls=raise
  e = f32[4,64,64] get-tuple-element(et), index=0
  t = f32[4,64] get-tuple-element(et), index=1
  p = f32[4,64,64] fusion(e, t), kind=kLoop, calls=divided
"""


def test_attention_in_fusions() -> None:
    spot = only(QKV + SCORES + FUSIONS + OUT, FUSED)
    assert spot.kind == "attention" and spot.kernels == ("s", "m", "et", "p", "o")
    assert spot.saved_bytes == (3 + 4) * ARRAY  # written: s, e, p; read: s twice, e, p


LOOP = """\
body {
  c = (s32[], f32[4,64,16], f32[4,64,16], f32[4,64,16]) parameter(0)
  i = s32[] get-tuple-element(c), index=0
  q = f32[4,64,16] get-tuple-element(c), index=1
  k = f32[4,64,16] get-tuple-element(c), index=2
  v = f32[4,64,16] get-tuple-element(c), index=3
  one = s32[] constant(1)
  j = s32[] add(i, one)
INSIDE
  ROOT out = (s32[], f32[4,64,16], f32[4,64,16], f32[4,64,16]) tuple(j, o, k, v)
}
condition {
  c = (s32[], f32[4,64,16], f32[4,64,16], f32[4,64,16]) parameter(0)
  i = s32[] get-tuple-element(c), index=0
  n = s32[] constant(12)
  ROOT less = pred[] compare(i, n), direction=LT
}
"""


def test_loops_multiply() -> None:
    inside = SCORES + FUSIONS + OUT.replace("ROOT ", "")
    carried = "(s32[], f32[4,64,16], f32[4,64,16], f32[4,64,16])"
    entry = (
        f"{QKV}  z = s32[] constant(0)\n  w = {carried} tuple(z, q, k, v)\n"
        f"  ROOT r = {carried} while(w), condition=condition, body=body"
    )
    spot = only(entry, FUSED + LOOP.replace("INSIDE", inside))
    assert (spot.count, spot.saved_bytes) == (12, 12 * 7 * ARRAY)


def test_a_kernel_is_no_hot_spot() -> None:
    assert not ledger(QKV + '  ROOT o = f32[4,64,16] custom-call(q, k, v), custom_call_target="tpu_custom_call"').rows


TOKENS = "  x = f32[32,16] parameter(0)\n  w = f32[16,512] parameter(1)\n"
LOGITS = "  s = f32[32,512] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
VOCABULARY = SOFTMAX.format(rows="32", all="32,512", of="s", dim=1, kept="0")


def test_a_loss_that_writes_its_logits() -> None:
    spot = only(TOKENS + LOGITS + VOCABULARY + "  a = f32[32] abs(t)\n  ROOT l = f32[32] log(a)")
    assert (spot.kind, spot.shape) == ("cross-entropy", "f32[32,512]")
    assert spot.saved_bytes == 9 * 32 * 512 * 4  # written: s, mb, d, e; read: s twice, mb, d, e
    assert spot.least_bytes == (32 * 16 + 16 * 512) * 4


def test_what_a_loss_reads_may_be_as_large_as_its_logits() -> None:
    """A vocabulary as wide as the model: the tokens are no logits, though they have as many elements."""
    lines = (TOKENS + LOGITS + VOCABULARY).replace("512", "16")
    spot = only(lines + "  a = f32[32] abs(t)\n  ROOT l = f32[32] log(a)")
    assert spot.saved_bytes == 9 * 32 * 16 * 4
    assert spot.least_bytes == (32 * 16 + 16 * 16) * 4


def test_a_call_runs_the_kernels_in_it() -> None:
    """The CPU compiler calls what it runs in parallel."""
    called = "called {\n" + QKV + SCORES + FUSIONS + OUT + "\n}\n"
    entry = QKV + "  ROOT r = f32[4,64,16] call(q, k, v), to_apply=called"
    spot = only(entry, FUSED + called)
    assert spot.kernels == ("s", "m", "et", "p", "o") and spot.saved_bytes == 7 * ARRAY


def test_a_softmax_by_itself_has_to_read_and_write() -> None:
    body = "  s = f32[32,512] parameter(0)\n" + VOCABULARY
    spot = only(body + "  tb = f32[32,512] broadcast(t), dimensions={0}\n  ROOT p = f32[32,512] divide(e, tb)")
    assert spot.kind == "softmax" and spot.least_bytes == 2 * 32 * 512 * 4
    whole = (
        "all {\n" + body + "  tb = f32[32,512] broadcast(t), dimensions={0}\n  ROOT p = f32[32,512] divide(e, tb)\n}\n"
    )
    entry = "  y = f32[32,512] parameter(0)\n  ROOT r = f32[32,512] fusion(y), kind=kCustom, calls=all"
    assert not ledger(entry, whole).rows


@pytest.mark.parametrize(
    "entry",
    [
        "  s = f32[32,512] parameter(0)\n  n = f32[32,512] negate(s)\n  e = f32[32,512] exponential(n)\n"
        "  one = f32[] constant(1)\n  b = f32[32,512] broadcast(one), dimensions={}\n  ROOT r = f32[32,512] add(e, b)",
        "  s = f32[32,512] parameter(0)\n  c = f32[512] parameter(1)\n  b = f32[32,512] broadcast(c), dimensions={1}\n"
        "  d = f32[32,512] subtract(s, b)\n  ROOT e = f32[32,512] exponential(d)",
    ],
    ids=["a sigmoid", "no sum"],
)
def test_other_exponentials(entry: str) -> None:
    assert not ledger(entry).rows


NORM = """\
  nil = f32[] constant(0)
  eps = f32[] constant(1e-06)
  sq = f32[32,128] multiply(x, x)
  t = f32[32] reduce(sq, nil), dimensions={1}, to_apply=add
  eb = f32[32] broadcast(eps), dimensions={}
  te = f32[32] add(t, eb)
  r = f32[32] rsqrt(te)
"""
SCALED = """\
  rb = f32[32,128] broadcast(r), dimensions={0}
  y = f32[32,128] multiply(x, rb)
  gb = f32[32,128] broadcast(g), dimensions={1}
  ROOT z = f32[32,128] multiply(y, gb)
"""
ROOTS = "roots {\n  x = f32[32,128] parameter(0)\n" + NORM.replace("  r =", "  ROOT r =") + "}\n"
REST = (
    "rest {\n  x = f32[32,128] parameter(0)\n  r = f32[32] parameter(1)\n  g = f32[128] parameter(2)\n" + SCALED + "}\n"
)
INPUTS = "  x = f32[32,128] parameter(0)\n  g = f32[128] parameter(1)\n"


def test_a_norm_in_two_kernels_reads_its_row_twice() -> None:
    entry = (
        "  r = f32[32] fusion(x), kind=kInput, calls=roots\n"
        "  ROOT z = f32[32,128] fusion(x, r, g), kind=kLoop, calls=rest"
    )
    spot = only(INPUTS + entry, ROOTS + REST)
    assert (spot.kind, spot.kernels) == ("norm", ("r", "z"))
    assert (spot.moved_bytes, spot.least_bytes) == (3 * 32 * 128 * 4, 2 * 32 * 128 * 4)


def test_a_norm_in_one_kernel_is_as_it_should_be() -> None:
    whole = "whole {\n" + INPUTS + NORM + SCALED + "}\n"
    assert not ledger(INPUTS + "  ROOT z = f32[32,128] fusion(x, g), kind=kInput, calls=whole", whole).rows


def test_the_norm_of_a_gradient_is_no_norm_of_rows() -> None:
    entry = (
        "  x = f32[32,128] parameter(0)\n  nil = f32[] constant(0)\n  sq = f32[32,128] multiply(x, x)\n"
        "  t = f32[] reduce(sq, nil), dimensions={0,1}, to_apply=add\n  r = f32[] rsqrt(t)\n"
        "  rb = f32[32,128] broadcast(r), dimensions={}\n  ROOT y = f32[32,128] multiply(x, rb)"
    )
    assert not ledger(entry).rows


GATHER = (
    "gather({of}, n), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, index_vector_dim=1, "
    "slice_sizes={{1,16}}"
)


def test_gathered_rows_of_a_product() -> None:
    entry = (
        "  y = f32[64,16] parameter(0)\n  w = f32[16,32] parameter(1)\n  n = s32[256,1] parameter(2)\n"
        f"  x = f32[64,16] negate(y)\n  r = f32[256,16] {GATHER.format(of='x')}\n"
        "  ROOT o = f32[256,32] dot(r, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    )
    spot = only(entry)
    assert spot.kind == "gathered-product" and spot.kernels == ("r", "o")
    assert (spot.moved_bytes, spot.least_bytes) == (3 * 256 * 16 * 4, 64 * 16 * 4)
    assert not ledger(entry.replace("f32[64,16] negate(y)", "f32[64,16] copy(y)")).rows  # a table that is given


SCATTER = (
    "scatter(z, n, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
    "index_vector_dim=1, to_apply=add"
)


def test_gradients_of_an_embedding() -> None:
    entry = (
        "  u = f32[256,16] parameter(0)\n  n = s32[256,1] parameter(1)\n  nil = f32[] constant(0)\n"
        f"  z = f32[512,16] broadcast(nil), dimensions={{}}\n  ROOT g = f32[512,16] {SCATTER}"
    )
    spot = only(entry)
    assert spot.kind == "embedding-gradient"
    updates, table, numbers = 256 * 16 * 4, 512 * 16 * 4, 256 * 4
    assert (spot.moved_bytes, spot.least_bytes) == (3 * updates + table + numbers, updates + table)
    kept = entry.replace("f32[512,16] broadcast(nil), dimensions={}", "f32[512,16] parameter(2)")
    assert not ledger(kept).rows  # an update of a table that is there


def test_programs_of_the_corpus() -> None:
    if (corpus := os.environ.get("CONTRACT_LINT_CORPUS")) is None:
        pytest.skip("CONTRACT_LINT_CORPUS is not set")
    folder = Path(corpus) / "corpus"

    def kinds(name: str) -> dict[str, int]:
        (path,) = folder.glob(name)
        found = hot_spots(parse_hlo(path.read_bytes()))
        return {kind: sum(row.kind == kind for row in found.rows) for kind in dict.fromkeys(r.kind for r in found.rows)}

    # Forward and backward; the backward pass recomputes its scores. One layer of them is 3 x 512 MiB forward.
    for name in ("train_1b.tpu*", "train_1b.cuda*", "train_1b.cpu*", "train_7b.tpu_v6e*"):
        assert kinds(f"compiled/{name}")["attention"] == 2
    (path,) = folder.glob("compiled/train_1b.tpu*")
    forward = min(
        (r for r in hot_spots(parse_hlo(path.read_bytes())).rows if r.kind == "attention"),
        key=lambda r: r.count * r.saved_bytes,
    )
    assert forward.saved_bytes == 16 * 3 * (16 * 4096 * 4096 * 2)
    # Attention is a cuDNN kernel there.
    found = kinds("hlo/xla__hlo_llama31_405b_bf16_16x8.hlo")
    assert found["cross-entropy"] == 1 and "attention" not in found
