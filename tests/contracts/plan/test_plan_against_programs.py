"""The plan of a random contract and the program of the same step: equal to the element, in both directions.

For each drawn step: state bytes equal XLA's own argument bytes; planned collectives equal the canonical ledger of the
partitioned program in kind, axes, dtype, size, executions and elements; and the collectives of the optimised program
follow from the partitioned ones by named rewrites without remainder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import version
from math import prod
from typing import Any

import pytest
from contract_lint.contracts.manifest import MeshFact
from contract_lint.contracts.plan import plan_collectives, plan_tensors, without_allowed
from contract_lint.hlo_tools.canonical import canonical, explain
from contract_lint.hlo_tools.module import parse_hlo
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

TARGET = "cpu:8"
Drawn = dict[str, Any]


@st.composite
def steps(draw: st.DrawFn) -> Drawn:
    """A step: parallel plan, axis sizes, model, batch, accumulation, dtypes and optimizer."""
    names = draw(st.sampled_from(PLANS))
    sizes = draw(st.sampled_from([s for s in SIZES[len(names)]]))
    axes = dict(zip(names, sizes, strict=True))
    inner = {}
    if "tp" in axes:
        inner = draw(st.sampled_from(INNER))
    tensor = axes.get("tp", 1)
    batch_axes = [name for name in names if name != "tp"]
    slots = ["data"] if "data" in axes and draw(st.booleans()) else []
    fsdp = ["fsdp"] if "fsdp" in axes else []
    if fsdp and "data" in axes and not slots and draw(st.booleans()):
        fsdp = ["data", "fsdp"]
    split = prod(axes[name] for name in {*fsdp, *slots})
    microbatches = draw(st.integers(1, 3))
    kv_heads = tensor * draw(st.integers(1, 2))
    return {
        "axes": axes,
        "logical": {"embed": fsdp or None, **inner},
        "batch_axes": batch_axes,
        "slots": slots,
        "microbatches": microbatches,
        "batch": prod(axes[name] for name in batch_axes) * microbatches * draw(st.integers(1, 3)),
        "optimizer": draw(st.sampled_from(["adamw", "adam", "momentum", "sgd"])),
        "compute": draw(st.sampled_from(["bfloat16", "bfloat16", "float32", "float64"])),
        "warmup": draw(st.sampled_from([0, 10])),
        "model": {
            "layers": draw(st.integers(1, 4)),
            "d_model": split * draw(st.integers(2, 6)),
            "kv_heads": kv_heads,
            "heads": kv_heads * draw(st.integers(1, 3)),
            "head_dim": draw(st.sampled_from([2, 4, 6])),
            "d_ff": tensor * draw(st.integers(5, 17)),
            "vocab": tensor * draw(st.integers(9, 29)),
            "sequence": draw(st.integers(3, 17)),
            "mlp": draw(st.sampled_from(["gated", "plain"])),
            "tied": draw(st.booleans()),
            "remat": draw(st.sampled_from(["full", "none"])),
        },
    }


PLANS = (
    ("data",),
    ("fsdp",),
    ("tp",),
    ("data", "tp"),
    ("fsdp", "tp"),
    ("data", "fsdp"),
    ("data", "fsdp", "tp"),
)
SIZES = {
    1: [(8,), (3,), (5,)],
    2: [(2, 4), (4, 2), (3, 2), (2, 3), (1, 4), (4, 1)],
    3: [(2, 2, 2), (1, 2, 3), (2, 1, 4)],
}
INNER = (
    {"heads": "tp", "mlp": "tp", "vocab": "tp"},
    {"heads": "tp", "mlp": "tp", "vocab": "tp"},
    {"heads": "tp", "mlp": "tp"},
    {"mlp": "tp", "vocab": "tp"},
    {"heads": "tp", "vocab": "tp"},
)


def sums(rows: Iterable[Any]) -> dict[tuple[Any, ...], tuple[int, int]]:
    """Executions and elements by kind, axes, dtype and size of one execution."""
    found: dict[tuple[Any, ...], tuple[int, int]] = {}
    for row in rows:
        key = (row.kind, row.axes, row.dtype, row.elements // row.count)
        count, elements = found.get(key, (0, 0))
        found[key] = (count + row.count, elements + row.elements)
    return found


def check(drawn: Drawn, compile_step: Callable[..., Any], make_contract: Callable[..., Any]) -> None:
    build = {
        **drawn["model"],
        "batch": drawn["batch"],
        "microbatches": drawn["microbatches"],
        "compute": drawn["compute"],
        "optimizer": drawn["optimizer"],
        "warmup": drawn["warmup"],
        "logical_axes": drawn["logical"],
        "batch_axes": drawn["batch_axes"],
        "optimizer_axes": drawn["slots"],
    }
    everything = list(drawn["axes"])
    contract = make_contract(
        drawn["axes"],
        drawn["model"],
        batch=drawn["batch"],
        batch_axes=drawn["batch_axes"],
        microbatches=drawn["microbatches"],
        logical=drawn["logical"],
        placement=drawn["slots"] or "parameters",
        optimizer=drawn["optimizer"],
        compute=drawn["compute"],
        schedule=drawn["warmup"] > 0,
        collectives={"allow": [{"kind": "all-reduce", "axes": everything, "elements_max": 1, "reason": "metrics"}]},
    )
    program = compile_step(drawn["axes"], build)
    mesh = MeshFact(axes=drawn["axes"])

    assert plan_tensors(contract, TARGET).argument_bytes == program.argument_bytes

    partitioned = canonical(parse_hlo(program.partitioned), mesh)
    allow = contract.collectives.allow
    planned = sums(without_allowed(plan_collectives(contract, TARGET, version("jax")).rows, allow).kept)
    assert sums(without_allowed(partitioned.rows, allow).kept) == planned

    explanation = explain(partitioned, canonical(parse_hlo(program.optimized), mesh))
    assert explanation.complete, explanation.as_json()
    assert explanation.remainder_elements == 0


@settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None)
@given(drawn=steps())
def test_plan_equals_program(drawn: Drawn, compile_step: Callable[..., Any], make_contract: Callable[..., Any]) -> None:
    check(drawn, compile_step, make_contract)


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(drawn=steps())
def test_plan_equals_program_at_random(
    drawn: Drawn, compile_step: Callable[..., Any], make_contract: Callable[..., Any]
) -> None:
    check(drawn, compile_step, make_contract)
