"""Matrix products of every spelling: dots, convolutions, library calls, kernels that state their cost."""

from __future__ import annotations

import pytest
from contract_lint.hlo_tools.cost import CostLedger, cost
from contract_lint.hlo_tools.module import parse_hlo


def ledger(*lines: str) -> CostLedger:
    return cost(parse_hlo("HloModule m\nENTRY e {\n  " + "\n  ".join(lines) + "\n}\n"))


def of_call(target: str, config: str, result: str = "(bf16[64,256]{1,0}, s8[4194304]{0})") -> CostLedger:
    return ledger(
        "a = bf16[64,128]{1,0} parameter(0)",
        "b = bf16[128,256]{1,0} parameter(1)",
        f'ROOT c = {result} custom-call(a, b), custom_call_target="{target}", backend_config={config}',
    )


GEMM = '{"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],'
GEMM += '"rhs_contracting_dimensions":["0"],"lhs_batch_dimensions":[],"rhs_batch_dimensions":[]}}}'


def test_a_batched_dot_counts_two_for_each_multiplication() -> None:
    found = ledger(
        "a = bf16[4,64,128]{2,1,0} parameter(0)",
        "b = bf16[4,128,256]{2,1,0} parameter(1)",
        "ROOT c = f32[4,64,256]{2,1,0} dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
        "rhs_contracting_dims={1}",
    )
    assert found.matrix_flops == {"bf16": 2 * 4 * 64 * 128 * 256}
    (product,) = found.products
    assert (product.name, product.count, product.flops) == ("c", 1, found.matrix)


@pytest.mark.parametrize("target", ["__cublas$gemm", "__cublas$lt$matmul"])
def test_cublas_calls_count_as_the_dot_they_stand_for(target: str) -> None:
    plain = of_call(target, GEMM)
    quoted = of_call(target, '"' + GEMM.replace('"', '\\"') + '"')
    assert plain.matrix_flops == quoted.matrix_flops == {"bf16": 2 * 64 * 128 * 256}
    assert plain.products[0].opcode == target
    assert not plain.not_counted


def test_fp8_operands_give_their_own_row() -> None:
    found = ledger(
        "a = f8e4m3fn[64,128]{1,0} parameter(0)",
        "b = f8e4m3fn[128,256]{1,0} parameter(1)",
        "s = f32[] parameter(2)",
        "ROOT c = (bf16[64,256]{1,0}, s8[33]{0}) custom-call(a, b, s, s), "
        f'custom_call_target="__cublas$lt$matmul$f8", backend_config={GEMM}',
    )
    assert found.matrix_flops == {"f8e4m3fn": 2 * 64 * 128 * 256}


def test_a_mask_is_no_type_of_a_product() -> None:
    found = ledger(
        "a = pred[64,128]{1,0} parameter(0)",
        "b = bf16[128,256]{1,0} parameter(1)",
        "ROOT c = bf16[64,256]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    )
    assert list(found.matrix_flops) == ["bf16"]


def test_a_gemm_without_dimensions_and_unknown_calls_are_listed_not_guessed() -> None:
    assert of_call("__cublas$gemm", "{}").not_counted == {"__cublas$gemm": 1}
    found = of_call("te_fused_attn_forward_ffi", "{}")
    assert (found.matrix, found.not_counted) == (0, {"te_fused_attn_forward_ffi": 1})


def test_what_a_kernel_states_is_counted_and_kept_apart() -> None:
    config = '{"custom_call_config":{"body":"TUxJUg==","cost_estimate":{"transcendentals":"5","flops":"1234"}}}'
    found = of_call("tpu_custom_call", config, "bf16[64,256]{1,0}")
    assert (found.matrix_flops, found.stated_flops, found.not_counted) == ({"bf16": 1234}, 1234, {})
    assert found.products[0].stated


def test_markers_of_the_compiler_cost_nothing() -> None:
    found = of_call("Sharding", '""', "bf16[64,256]{1,0}")
    assert (found.flops, found.hbm_bytes, found.not_counted) == (0, 0, {})


CONVOLUTION = "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"


def test_a_convolution_does_not_count_its_padding() -> None:
    """3x3 over 8x8 with one element of padding: along each side 3 * 8 - 2 positions meet data."""
    found = ledger(
        "x = bf16[2,8,8,16]{3,2,1,0} parameter(0)",
        "k = bf16[3,3,16,32]{3,2,1,0} parameter(1)",
        f"ROOT c = bf16[2,8,8,32]{{3,2,1,0}} convolution(x, k), {CONVOLUTION}",
    )
    assert found.matrix == 2 * 2 * 16 * 32 * 22 * 22


@pytest.mark.parametrize(
    ("target", "operands", "result"),
    [
        ("__cudnn$convForward", "x, k", "bf16[2,8,8,32]"),
        ("__cudnn$convBackwardInput", "y, k", "bf16[2,8,8,16]"),
        ("__cudnn$convBackwardFilter", "x, y", "bf16[3,3,16,32]"),
    ],
)
def test_cudnn_passes_cost_as_much_as_the_forward_one(target: str, operands: str, result: str) -> None:
    found = ledger(
        "x = bf16[2,8,8,16]{3,2,1,0} parameter(0)",
        "k = bf16[3,3,16,32]{3,2,1,0} parameter(1)",
        "y = bf16[2,8,8,32]{3,2,1,0} parameter(2)",
        f"ROOT c = ({result}{{3,2,1,0}}, u8[0]{{0}}) custom-call({operands}), {CONVOLUTION}, "
        f'custom_call_target="{target}"',
    )
    assert found.matrix == 2 * 2 * 16 * 32 * 22 * 22


def test_depthwise_convolutions_multiply_within_their_group() -> None:
    found = ledger(
        "x = f32[1,8,16]{2,1,0} parameter(0)",
        "k = f32[1,1,16]{2,1,0} parameter(1)",
        "ROOT c = f32[1,8,16]{2,1,0} convolution(x, k), window={size=1}, dim_labels=b0f_0io->b0f, "
        "feature_group_count=16",
    )
    assert found.matrix == 2 * 8 * 16


def test_ragged_products_do_each_row_once() -> None:
    """Six rows dealt out to two experts: as much work as one product; its gradient adds up each expert's part."""
    rows = "p = bf16[6,8]{1,0} parameter(0)", "s = s32[2]{0} parameter(2)"
    forward = ledger(
        *rows,
        "w = bf16[2,8,5]{2,1,0} parameter(1)",
        "ROOT r = bf16[6,5]{1,0} ragged-dot(p, w, s), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
        "lhs_ragged_dims={0}, rhs_group_dims={0}",
    )
    backward = ledger(
        *rows,
        "g = bf16[6,5]{1,0} parameter(1)",
        "ROOT r = bf16[2,8,5]{2,1,0} ragged-dot(p, g, s), lhs_contracting_dims={0}, rhs_contracting_dims={0}, "
        "lhs_ragged_dims={0}",
    )
    assert forward.matrix == backward.matrix == 2 * 6 * 8 * 5


@pytest.mark.parametrize(
    "line",
    [
        "ROOT c = f32[2,2] dot(a, a), lhs_contracting_dims={7}, rhs_contracting_dims={0}",
        "ROOT c = f32[2,2] convolution(a, a), dim_labels=b0f_0io->b0f",
        "ROOT c = f32[2,2] convolution(a, a), dim_labels=00_00->00",
        "ROOT c = f32[2,2] dot(a)",
        "ROOT c = f32[2,2] convolution(a), dim_labels=bf_io->bf",
        'ROOT c = f32[2,2] custom-call(a), custom_call_target="__cudnn$convForward"',
    ],
)
def test_dimensions_that_make_no_sense_are_not_counted(line: str) -> None:
    found = ledger("a = f32[2,2] parameter(0)", line)
    assert found.matrix == 0
    assert sum(found.not_counted.values()) == 1
