"""The declared input signatures: which of them trace to one program, and in what the others differ."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import jax
import numpy as np

from ..contracts.manifest import SignatureFact
from .errors import failure, recognise
from .frames import FramePaths
from .leaves import joined, key_name
from .request import StepFailure, StepRequest
from .step import NormalisedStep

_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


def signature_facts(
    step: NormalisedStep,
    traced: Any,
    printed: str,
    request: StepRequest,
    paths: FramePaths,
    context: Callable[[], AbstractContextManager[Any]],
) -> list[SignatureFact]:
    """One fact for each declared signature: the i-th shape of every name, a single shape serving all.

    A name is that of an argument or of an input below it (`tokens`, `batch/tokens`). Signatures that trace to one
    program have one digest; `printed` is `print_program(traced)`. Raises StepFailure where a name matches no input or
    the lists differ in length.
    """
    declared = {name: shapes for name, shapes in request.signatures.items() if shapes}
    if not declared:
        return []
    count = max(len(shapes) for shapes in declared.values())
    for name, shapes in declared.items():
        if len(shapes) not in (1, count):
            raise StepFailure(
                f"signatures.{name} has {len(shapes)} shapes where another name has {count}",
                help="the i-th shapes of all names form one signature: give each name as many, or one for all",
                key=("step", request.name, "signatures", name),
            )
    chosen = [{name: shapes[i if len(shapes) > 1 else 0] for name, shapes in declared.items()} for i in range(count)]
    original = program_digest(traced, printed)
    facts: list[SignatureFact] = []
    described: dict[str, dict[str, list[int]]] = {}
    for shapes in chosen:
        args, kwargs, changed = _reshaped(step, shapes, request)
        difference: str | None = None
        if not changed:
            digest = original
        else:
            try:
                with context():
                    other = step.jitted.trace(*args, **kwargs)
                other = getattr(other, "traced", other)
                digest = program_digest(other, print_program(other))
            except Exception as error:
                known = recognise(error, paths, "trace")
                if known is None:
                    raise failure(
                        error, paths, "tracing a declared signature", ("step", request.name, "signatures")
                    ) from None
                digest, difference = f"error:{known.kind}", f"{known.type}: {known.message}"
        if described and digest not in described and difference is None:
            difference = _difference(next(iter(described.values())), shapes)
        described.setdefault(digest, shapes)
        facts.append(SignatureFact(shapes=shapes, program=digest, difference=difference))
    return facts


def print_program(traced: Any) -> str:
    """The traced program as JAX prints it, the same in every process."""
    return _ADDRESS.sub("0x...", str(traced.jaxpr))


def program_digest(traced: Any, printed: str) -> str:
    """Sixteen hex digits over what jit's cache keys on: input types with placements, and the traced program."""
    inputs = [f"{a.str_short(True)} weak={getattr(a, 'weak_type', False)}" for a in jax.tree.leaves(traced.in_avals)]
    text = "\n".join([*inputs, printed])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _reshaped(step: NormalisedStep, shapes: dict[str, list[int]], request: StepRequest) -> tuple[Any, Any, bool]:
    """The step's arguments with the named inputs replaced by abstract ones of another shape."""
    used: set[str] = set()
    known: list[str] = []
    changed = False

    def replace_in(argument: str, value: Any) -> Any:
        nonlocal changed
        leaves, tree = jax.tree_util.tree_flatten_with_path(value)
        fresh: list[Any] = []
        for path, leaf in leaves:
            if not hasattr(leaf, "shape") and not isinstance(leaf, (int, float, complex)):
                fresh.append(leaf)
                continue
            full = "/".join(filter(None, [argument, joined(path)]))
            last = key_name(path[-1]) if path else argument
            known.append(full)
            name = next((n for n in (full, joined(path), last, argument) if n in shapes), None)
            if name is None:
                fresh.append(leaf)
                continue
            used.add(name)
            if tuple(np.shape(leaf)) == tuple(shapes[name]):
                fresh.append(leaf)
                continue
            changed = True
            fresh.append(_with_shape(leaf, shapes[name]))
        return jax.tree_util.tree_unflatten(tree, fresh)

    args = tuple(
        a if n in step.static else replace_in(n, a) for n, a in zip(step.positional_names, step.args, strict=True)
    )
    kwargs = {n: v if n in step.static else replace_in(n, v) for n, v in step.kwargs.items()}
    unused = [name for name in shapes if name not in used]
    if unused:
        raise StepFailure(
            f"signatures.{unused[0]} names no input of the step: the inputs are {', '.join(known[:24])}",
            key=("step", request.name, "signatures", unused[0]),
        )
    return args, kwargs, changed


def _with_shape(leaf: Any, shape: list[int]) -> jax.ShapeDtypeStruct:
    """An abstract array like `leaf`, placed likewise where its placement was chosen, of another shape."""
    sharding = getattr(leaf, "sharding", None) if getattr(leaf, "committed", True) else None
    dtype = getattr(leaf, "dtype", None) or jax.dtypes.canonicalize_dtype(np.result_type(leaf))
    return jax.ShapeDtypeStruct(tuple(shape), dtype, sharding=sharding)


def _difference(first: dict[str, list[int]], other: dict[str, list[int]]) -> str:
    return "; ".join(f"{name} is {shape}, was {first[name]}" for name, shape in other.items() if shape != first[name])
