"""Where in the model an operation stands: the part of JAX's name stack that the user gave."""

from __future__ import annotations

import re
from functools import lru_cache

# Wrappers of transformations: `jvp(attn)` stands for `attn`. A jit call names a function, not a part of the model.
_WRAPPER = re.compile(r"(?:jvp|transpose|vmap|pmap|checkpoint|remat|custom_jvp|custom_vjp|shard_map)\((.*)\)")
_CALL = re.compile(r"p?jit\(.*\)")
# Steps that control flow and call primitives leave in the stack.
_STRUCTURE = frozenset(
    (
        *("while", "body", "cond", "scan", "closed_call", "core_call", "eval_jaxpr", "checkpoint"),
        *("rematted_computation", "remat", "remat2", "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"),
        *("pjit", "jit", "shard_map", "named_call", "true_fun", "false_fun", "xla_call", "branch", "run_state"),
    )
)
# Longer names are no name stacks; cutting them keeps the work linear.
_LONGEST = 4096
_BRANCH = re.compile(r"branch_\d+_fun")


@lru_cache(maxsize=16384)
def scope_of(op_name: str) -> str:
    """`jit(step)/transpose(jvp())/while/body/closed_call/attn/dot_general` -> `attn`.

    Loops, calls, transformations and the primitive at the end are left out; empty where the user named nothing. Merged
    names (`a;b`, `a/(b:c)`) count as their first.
    """
    parts = split_name(op_name[:_LONGEST].split(";", 1)[0])
    kept: list[str] = []
    for part in parts[:-1]:
        kept += _named_parts(part)
    return "/".join(kept)


def split_name(op_name: str) -> list[str]:
    """The components of a name stack; a `/` inside parentheses does not split."""
    parts: list[str] = []
    depth = start = 0
    for at, character in enumerate(op_name):
        if character == "(":
            depth += 1
        elif character == ")":
            depth -= depth > 0
        elif character == "/" and depth == 0:
            parts.append(op_name[start:at])
            start = at + 1
    parts.append(op_name[start:])
    return parts


def _named_parts(part: str) -> list[str]:
    """The user's names in one component, out of any number of transformations; an einsum's formula is none."""
    while (match := _WRAPPER.fullmatch(part)) is not None:
        part = match[1]
    if "/" in part and "(" not in part:
        return [name for name in part.split("/") if name and name not in _STRUCTURE]
    if not part or part in _STRUCTURE or "->" in part or _CALL.fullmatch(part) or _BRANCH.fullmatch(part):
        return []
    return [part]


def is_backward(op_name: str) -> bool:
    """Whether JAX made the operation by transposing: part of the backward pass."""
    return "transpose(" in op_name


def is_forward(op_name: str) -> bool:
    """Whether the operation is in a function that is differentiated, in its forward pass."""
    return "jvp(" in op_name and "transpose(" not in op_name


def is_recomputed(op_name: str) -> bool:
    """Whether the operation is recomputed for the backward pass by `jax.checkpoint`."""
    return "rematted_computation" in op_name
