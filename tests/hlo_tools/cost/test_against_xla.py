"""Our counts against XLA's own cost analysis: every product of the corpus alone, every kind of instruction, and whole
programs without loops (XLA counts the body of a loop once)."""

from __future__ import annotations

import gzip
import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.cost import cost
from contract_lint.hlo_tools.module import HloModule, Instruction, parse_hlo

pytest.importorskip("jaxlib")

CORPUS = os.environ.get("CONTRACT_LINT_CORPUS")
needs_corpus = pytest.mark.skipif(not CORPUS, reason="CONTRACT_LINT_CORPUS is not set: no corpus to read")
CHILD = Path(__file__).with_name("xla_cost_child.py")
# What XLA counts otherwise, on purpose: loops once, calls it does not know as -1, an all-reduce as one addition, the
# rows of a ragged dot by one of its dimensions. TPU modules keep sub-programs that other tools do not run.
OTHERWISE = frozenset(("while", "conditional", "custom-call", "ragged-dot", "scan"))
KEPT = ("lhs_batch_dims", "rhs_batch_dims", "lhs_contracting_dims", "rhs_contracting_dims", "window", "dim_labels")
KEPT += ("feature_group_count", "batch_group_count")


def xla(texts: list[str]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, str(CHILD)], input=json.dumps(texts), capture_output=True, text=True, timeout=500, check=False
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(texts), f"XLA died of text {len(found)}: {done.stderr[-2000:]}"
    return found


def float32(value: int) -> float:
    """XLA adds up in single precision."""
    return struct.unpack("f", struct.pack("f", value))[0]


def corpus(longest: int = 1_000_000) -> dict[str, str]:
    found = {}
    root = Path(CORPUS or "", "corpus")
    for path in sorted([*root.glob("hlo/*.hlo"), *root.glob("compiled/*.gz")]):
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        for number, part in enumerate(re.split(r"^// -----.*$", text, flags=re.MULTILINE)):
            if len(part) <= longest:
                found[f"{path.name}#{number}"] = part
    return found


def alone(instruction: Instruction) -> str:
    """A program that does nothing but this."""
    lines = [f"p{i} = {operand.shape.text} parameter({i})" for i, operand in enumerate(instruction.operands)]
    names = ", ".join(f"p{i}" for i in range(len(instruction.operands)))
    kept = "".join(f", {key}={instruction.attributes[key]}" for key in KEPT if key in instruction.attributes)
    lines.append(f"ROOT r = {instruction.shape.text} {instruction.opcode}({names}){kept}")
    return "HloModule alone\nENTRY e {\n  " + "\n  ".join(lines) + "\n}\n"


@needs_corpus
def test_every_product_of_the_corpus_alone() -> None:
    texts: dict[str, str] = {}
    for name, text in corpus().items():
        try:
            module = parse_hlo(text)
        except ContractLintError:
            continue
        for computation in module.computations:
            for position, opcode in enumerate(computation.opcodes()):
                if opcode in ("dot", "convolution"):
                    texts.setdefault(alone(computation.instruction_at(position)), name)
    assert len(texts) > 300
    theirs = xla(list(texts))
    assert not [row["error"] for row in theirs if row["error"]]
    wrong = [
        f"{texts[text]}: XLA {row['flops']}, ours {mine}\n{text}"
        for text, row in zip(texts, theirs, strict=True)
        if float32(mine := cost(parse_hlo(text)).matrix) != row["flops"]
    ]
    assert wrong == []


UNARY = "abs ceil floor is-finite negate round-nearest-afz round-nearest-even sign cbrt cosine exponential "
UNARY += "exponential-minus-one log log-plus-one logistic rsqrt sine sqrt tan tanh erf copy"
BINARY = "add subtract multiply divide maximum minimum power remainder atan2 compare complex"
WHOLE_NUMBERS = "and or xor shift-left shift-right-arithmetic shift-right-logical not popcnt count-leading-zeros"
HELPERS = """
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  m = f32[] multiply(a, b)
  ROOT s = f32[] add(m, b)
}
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = pred[] compare(a, b), direction=LT
}
two {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] parameter(2)
  d = f32[] parameter(3)
  s = f32[] add(a, c)
  q = f32[] multiply(b, d)
  ROOT x = (f32[], f32[]) tuple(s, q)
}
fused {
  a = f32[6,8] parameter(0)
  e = f32[6,8] exponential(a)
  z = f32[] constant(0)
  ROOT r = f32[6] reduce(e, z), dimensions={1}, to_apply=add
}
called {
  a = f32[6,8] parameter(0)
  ROOT r = f32[6,8] add(a, a)
}
"""
INPUTS = """
  p = f32[6,8] parameter(0)
  n = s32[6,8] parameter(1)
  i = s32[3,1] parameter(2)
  u = f32[3,8] parameter(3)
  k = s32[] parameter(4)
  w = f32[2,3] parameter(5)
  t = f32[8,8] parameter(6)
  z = f32[] constant(0)
"""
SPECIAL = {
    "convert": "ROOT r = bf16[6,8] convert(p)",
    "bitcast-convert": "ROOT r = s32[6,8] bitcast-convert(p)",
    "select": "c = pred[6,8] compare(p, p), direction=EQ\n ROOT r = f32[6,8] select(c, p, p)",
    "clamp": "ROOT r = f32[6,8] clamp(p, p, p)",
    "reduce-precision": "ROOT r = f32[6,8] reduce-precision(p), exponent_bits=5, mantissa_bits=10",
    "reduce": "ROOT r = f32[6] reduce(p, z), dimensions={1}, to_apply=add",
    "reduce of two": "ROOT r = (f32[6], f32[6]) reduce(p, p, z, z), dimensions={1}, to_apply=two",
    "map": "ROOT r = f32[6,8] map(p, p), dimensions={0,1}, to_apply=add",
    "window": "ROOT r = f32[6,7] reduce-window(p, z), window={size=1x2}, to_apply=add",
    "window over all": "ROOT r = f32[6,8] reduce-window(p, z), window={size=1x15 pad=0_0x7_7}, to_apply=add",
    "cumulative": "ROOT r = f32[6,8] reduce-window(p, z), window={size=1x8 pad=0_0x7_0}, to_apply=add",
    "scatter": "ROOT r = f32[6,8] scatter(p, i, u), update_window_dims={1}, inserted_window_dims={0}, "
    "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
    "gather": "ROOT r = f32[3,8] gather(p, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
    "index_vector_dim=1, slice_sizes={1,8}",
    "select-and-scatter": "s = f32[3,4] constant({...})\n ROOT r = f32[6,8] select-and-scatter(p, s, z), "
    "window={size=2x2 stride=2x2}, select=less, scatter=add",
    "sort": "ROOT r = f32[6,8] sort(p), dimensions={1}, to_apply=less",
    "slices": "s = f32[2,8] dynamic-slice(p, k, k), dynamic_slice_sizes={2,8}\n "
    "ROOT r = f32[6,8] dynamic-update-slice(p, s, k, k)",
    "rng": "ROOT r = f32[6,8] rng(z, z), distribution=rng_uniform",
    "bits": "s = u64[2] constant({1,2})\n ROOT r = (u64[2], u32[5]) rng-bit-generator(s), algorithm=rng_default",
    "fft": "c = c64[6,8] complex(p, p)\n ROOT r = c64[6,8] fft(c), fft_type=FFT, fft_length={8}",
    "cholesky": "ROOT r = f32[8,8] cholesky(t), lower=true",
    "solve": "b = f32[8,5] constant({...})\n ROOT r = f32[8,5] triangular-solve(t, b), left_side=true, lower=true, "
    "unit_diagonal=false, transpose_a=NO_TRANSPOSE",
    "complex dot": "c = c64[6,8] complex(p, p)\n ROOT r = c64[6,6] dot(c, c), lhs_contracting_dims={1}, "
    "rhs_contracting_dims={1}",
    "fusion": "ROOT r = f32[6] fusion(p), kind=kInput, calls=fused",
    "call": "ROOT r = f32[6,8] call(p), to_apply=called",
}


def every_kind() -> dict[str, str]:
    lines = {op: f"ROOT r = {'pred' if op == 'is-finite' else 'f32'}[6,8] {op}(p)" for op in UNARY.split()}
    for op in BINARY.split():
        dtype = {"compare": "pred", "complex": "c64"}.get(op, "f32")
        lines[op] = f"ROOT r = {dtype}[6,8] {op}(p, p)" + (", direction=LT" if op == "compare" else "")
    for op in WHOLE_NUMBERS.split():
        both = "n" if op in ("not", "popcnt", "count-leading-zeros") else "n, n"
        lines[op] = f"ROOT r = s32[6,8] {op}({both})"
    return {**lines, **SPECIAL}


def test_every_kind_of_instruction() -> None:
    texts = {name: f"HloModule m\n{HELPERS}\nENTRY e {{{INPUTS}  {line}\n}}\n" for name, line in every_kind().items()}
    theirs = xla(list(texts.values()))
    found = {}
    for name, row in zip(texts, theirs, strict=True):
        mine = cost(parse_hlo(texts[name]))
        assert row["error"] == 0, (name, row["error"])
        assert mine.not_counted == {}
        found[name] = ((mine.flops, mine.transcendentals), (row["flops"], row["transcendentals"]))
    assert {name: pair for name, pair in found.items() if pair[0] != pair[1]} == {}


def added_up(module: HloModule) -> int:
    """What XLA counts for the all-reduces of a program, and we do not."""
    opcodes = ("all-reduce", "all-reduce-start")
    return sum(i.shape.elements for c in module.computations for i in c if i.opcode in opcodes)


@needs_corpus
def test_programs_without_loops() -> None:
    texts = {}
    for name, text in corpus(longest=300_000).items():
        try:
            module = parse_hlo(text)
            opcodes = {opcode for computation in module.computations for opcode in computation.opcodes()}
            if OTHERWISE.isdisjoint(opcodes) and cost(module).flops > 1000:
                texts[name] = text
        except ContractLintError:
            continue
    wrong = {}
    compared = 0
    for name, row in zip(texts, xla(list(texts.values())), strict=True):
        if row["error"]:
            continue
        module = parse_hlo(texts[name])
        mine = cost(module)
        compared += 1
        # Single precision loses a little of every sum.
        if mine.flops + added_up(module) != pytest.approx(row["flops"], rel=1e-5):
            wrong[name] = (mine.flops + added_up(module), row["flops"])
    assert wrong == {}
    assert compared >= 10
