import time

import pytest
from contract_lint.hlo_tools.scope import is_backward, is_forward, is_recomputed, scope_of, split_name


@pytest.mark.parametrize(
    ("op_name", "scope"),
    [
        ("jit(step)/jvp()/while/body/closed_call/attn/dot_general", "attn"),
        ("jit(step)/transpose(jvp(decoder))/layer/mlp/mul", "decoder/layer/mlp"),
        ("jit(step)/transpose(jvp())/while/body/eval_jaxpr/checkpoint/rematted_computation/attn/mul", "attn"),
        ("jit(step)/jvp()/bskgh,btkh->bkgst/dot_general", ""),
        ("jit(f)/branch_1_fun/head/add", "head"),
        ("jit(f)/vmap(jvp(a/b))/sin", "a/b"),
        ("jit(f)/attn/jit(_where)/select_n", "attn"),
        ("jit(f)/loss/mul;jit(f)/other/add", "loss"),
        ("jit(f)/norm/(transpose(jvp())/dot_general:jvp()/reduce_sum)", "norm"),
        ("state['params']['w']", ""),
        ("", ""),
    ],
)
def test_scope_is_what_the_user_named(op_name: str, scope: str) -> None:
    assert scope_of(op_name) == scope


def test_slashes_inside_parentheses_do_not_split() -> None:
    assert split_name("a(b/c)/d") == ["a(b/c)", "d"]


def test_passes_of_the_step() -> None:
    forward, backward = "jit(s)/jvp(a)/sin", "jit(s)/transpose(jvp(a))/mul"
    assert (is_forward(forward), is_backward(forward)) == (True, False)
    assert (is_forward(backward), is_backward(backward)) == (False, True)
    assert is_recomputed("jit(s)/transpose(jvp())/checkpoint/rematted_computation/sin")
    assert not is_forward("jit(s)/mul")


def test_a_million_nested_names_take_no_time() -> None:
    start = time.process_time()
    assert scope_of("jvp(" * 300_000 + ")" * 300_000 + "/x") == ""
    assert time.process_time() - start < 2
