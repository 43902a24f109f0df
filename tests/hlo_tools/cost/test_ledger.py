"""The cost of whole programs: loops times their trip count, branches, fusions, sums by type, and what is not known."""

from __future__ import annotations

import json

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.cost import cost
from contract_lint.hlo_tools.module import parse_hlo
from contract_lint.hlo_tools.roofline.assumptions import assumptions

# One product of 2 * 4 * 4 * 4 = 128 operations in an inner loop of 3 rounds, inside an outer one of 5.
LOOPS = """HloModule loops

inner_body {
  p = (s32[], f32[4,4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[4,4] get-tuple-element(p), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = f32[4,4] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (s32[], f32[4,4]) tuple(next, y)
}

inner_condition {
  p = (s32[], f32[4,4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}

outer_body {
  p = (s32[], f32[4,4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[4,4] get-tuple-element(p), index=1
  zero = s32[] constant(0)
  start = (s32[], f32[4,4]) tuple(zero, x)
  w = (s32[], f32[4,4]) while(start), condition=inner_condition, body=inner_body
  y = f32[4,4] get-tuple-element(w), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT t = (s32[], f32[4,4]) tuple(next, y)
}

outer_condition {
  p = (s32[], f32[4,4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] BOUND
  ROOT c = pred[] compare(i, n), direction=LT
}

ENTRY e {
  x = f32[4,4] parameter(0)
  zero = s32[] constant(0)
  start = (s32[], f32[4,4]) tuple(zero, x)
  w = (s32[], f32[4,4]) while(start), condition=outer_condition, body=outer_body
  ROOT y = f32[4,4] get-tuple-element(w), index=1
}
"""


def test_loops_multiply() -> None:
    found = cost(parse_hlo(LOOPS.replace("BOUND", "constant(5)")))
    (product,) = found.products
    assert (product.flops_each, product.count, found.matrix) == (128, 15, 15 * 128)
    # In each round the counter takes a step and is compared with its bound.
    assert found.vector_flops == 2 * (15 + 5)
    assert found.unknown_loops == []
    # A round reads its operand twice and writes it once; step and comparison read two numbers and write one.
    assert found.hbm_bytes == 15 * 3 * 64 + (15 + 5) * (12 + 9)


def test_a_loop_of_unknown_length_counts_once_and_is_named() -> None:
    found = cost(parse_hlo(LOOPS.replace("BOUND", 'custom-call(), custom_call_target="length"')))
    assert found.matrix == 3 * 128
    assert found.unknown_loops == ["w"]


BRANCHES = """HloModule branches

dear {
  x = f32[4,4] parameter(0)
  ROOT y = f32[4,4] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}

cheap {
  x = f32[4,4] parameter(0)
  ROOT y = f32[4,4] negate(x)
}

ENTRY e {
  p = pred[] parameter(0)
  x = f32[4,4] parameter(1)
  ROOT y = f32[4,4] conditional(p, x, x), true_computation=cheap, false_computation=dear
}
"""


def test_a_conditional_costs_its_dearest_branch_and_says_what_the_cheapest_does() -> None:
    found = cost(parse_hlo(BRANCHES))
    assert (found.matrix, found.matrix_flops_min, found.vector_flops) == (128, 0, 0)
    (product,) = found.products
    assert (product.count, product.count_min) == (1, 0)
    assert found.conditional and not cost(parse_hlo(FUSIONS)).conditional
    assert "a conditional takes its dearest branch" in assumptions(None, found)


FUSIONS = """HloModule fusions

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

deep {
  x = bf16[4,4] parameter(0)
  ROOT c = f32[4,4] convert(x)
}

fused {
  x = bf16[4,4] parameter(0)
  y = bf16[4,4] parameter(1)
  d = bf16[4,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  f = f32[4,4] fusion(d), kind=kLoop, calls=deep
  z = f32[] constant(0)
  ROOT r = f32[4] reduce(f, z), dimensions={1}, to_apply=add
}

ENTRY e {
  x = bf16[4,4] parameter(0)
  y = bf16[4,4] parameter(1)
  ROOT r = f32[4] fusion(x, y), kind=kOutput, calls=fused
}
"""


def test_fusions_inside_fusions_are_counted_and_touch_memory_only_at_their_edges() -> None:
    found = cost(parse_hlo(FUSIONS))
    assert found.matrix_flops == {"bf16": 128}
    assert found.vector_flops == 16 + 12
    assert found.hbm_bytes == 32 + 32 + 16


def test_products_by_type_largest_first() -> None:
    found = cost(
        parse_hlo(
            """HloModule m
ENTRY e {
  a = f32[4,4] parameter(0)
  b = bf16[8,8] parameter(1)
  c = f32[4,4] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  d = bf16[8,8] dot(b, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (f32[4,4], bf16[8,8]) tuple(c, d)
}
"""
        )
    )
    assert list(found.matrix_flops.items()) == [("bf16", 1024), ("f32", 128)]
    assert [product.name for product in found.products] == ["d", "c"]


def test_json_has_every_number_and_no_program() -> None:
    data = json.loads(json.dumps(cost(parse_hlo(LOOPS.replace("BOUND", "constant(5)"))).as_json()))
    assert data["schema_version"] == 1
    assert data["flops"] == data["vector_flops"] + sum(data["matrix_flops"].values())
    assert data["products"][0]["flops"] == 15 * 128


def test_opcodes_of_a_later_compiler_are_listed() -> None:
    text = "HloModule m\nENTRY e {\n  a = f32[4] parameter(0)\n  ROOT b = f32[4] fresh-idea(a)\n}\n"
    assert cost(parse_hlo(text)).not_counted == {"fresh-idea": 1}


def test_computations_in_a_circle_are_an_error() -> None:
    text = """HloModule m
one {
  a = f32[4] parameter(0)
  ROOT b = f32[4] fusion(a), kind=kLoop, calls=two
}
two {
  a = f32[4] parameter(0)
  c = f32[4] negate(a)
  ROOT b = f32[4] fusion(c), kind=kLoop, calls=one
}
ENTRY e {
  a = f32[4] parameter(0)
  ROOT b = f32[4] fusion(a), kind=kLoop, calls=one
}
"""
    with pytest.raises(ContractLintError, match="circle"):
        cost(parse_hlo(text))
