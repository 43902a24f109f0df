"""What a training loop carries over from one step to the next, where the step does not say."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import jax

from .leaves import argument_leaves
from .step import NormalisedStep


def settled(step: NormalisedStep) -> NormalisedStep:
    """The step with the arguments it donates, and with the carry that follows from them.

    A function that came jitted says what it donates only when it is traced. Each donated argument, in order, is
    replaced by the first output of the same structure, shapes and dtypes that replaces none before it; where no output
    fits any, the step stays as it is. Exceptions of the trace pass through.
    """
    if step.carry_given or (step.jitted is not step.fn and len(step.donate) < 2):
        return step
    with nullcontext() if step.mesh is None else jax.set_mesh(step.mesh):
        traced = step.jitted.trace(*step.args, **step.kwargs)
    if hasattr(getattr(traced, "traced", None), "jaxpr"):
        return step  # `nnx.jit`: objects are changed in place
    names, _ = argument_leaves(step, traced)
    infos = jax.tree.leaves(traced.args_info)
    donated = {name.argument for name, info in zip(names, infos, strict=True) if info.donated}
    out = traced.out_info
    outputs = list(out) if type(out) in (tuple, list) else [out]
    values = dict(zip(step.argument_names, (*step.args, *step.kwargs.values()), strict=True))
    carry: dict[int, str] = {}
    for name in (name for name in step.argument_names if name in donated):
        free = (i for i, output in enumerate(outputs) if i not in carry and _same(values[name], output))
        position = next(free, None)
        if position is not None:
            carry[position] = name
    if not carry:
        return step
    return replace(step, donate=tuple(name for name in step.argument_names if name in donated), carry=carry)


def _same(one: Any, other: Any) -> bool:
    """Whether two trees hold the same arrays by shape and dtype."""
    leaves, structure = jax.tree.flatten(one)
    others, other_structure = jax.tree.flatten(other)
    if not leaves or structure != other_structure:
        return False
    return all(_kind(left) == _kind(right) for left, right in zip(leaves, others, strict=True))


def _kind(leaf: Any) -> tuple[tuple[int, ...], str] | None:
    return (tuple(leaf.shape), str(leaf.dtype)) if hasattr(leaf, "dtype") else None
