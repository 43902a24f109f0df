"""An array of the batch has another shape or dtype than promised.

## What it does
Compares each array with `data.fields`. A name in `shape` stands for one size in the whole batch; `batch` and `sequence`
are the contract's own. Arrays that play a part without being declared must have the shape of the tokens.

## Why is this bad?
Another shape compiles another executable; another dtype casts, or wraps ids round.

## Example
```yaml
batch: { size: 16 }                      # the file: tokens int64 [8, 128]
data: { fields: { tokens: { shape: [batch, sequence], dtype: int32 } } }
```

## Use instead
```yaml
batch: { size: 8 }
data: { fields: { tokens: { shape: [batch, sequence], dtype: int64 } } }
```

## References
- https://docs.jax.dev/en/latest/jit-compilation.html
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import BatchEvidence


def check(evidence: BatchEvidence) -> Iterable[Finding]:
    sizes: dict[str | int, tuple[int, str]] = {
        name: (size, "the contract") for name, size in evidence.symbols().items()
    }
    for name, entry in evidence.data.batch_fields.items():
        array = evidence.batch.arrays.get(name)
        if array is None:
            continue
        key = f"{evidence.data.fields_key}.{name}"
        if entry.dtype is not None and array.dtype.name != entry.dtype:
            yield evidence.finding(
                RULE,
                f"{name} is {array.dtype.name}, promised is {entry.dtype}",
                subject=f"{name}:dtype",
                key=f"{key}.dtype",
                expected=entry.dtype,
                found=array.dtype.name,
            )
        if entry.shape is None:
            continue
        for dim, size in zip(entry.shape, array.shape, strict=False):
            if isinstance(dim, str):
                sizes.setdefault(dim, (size, name))
        wanted = [sizes[dim][0] if dim in sizes else dim for dim in entry.shape]
        if tuple(wanted) != array.shape:
            given = [f"{dim} is {sizes[dim][0]} by {sizes[dim][1]}" for dim in entry.shape if dim in sizes]
            yield evidence.finding(
                RULE,
                f"{name} is {_shape(array.shape)}, promised is {_shape(wanted)}",
                subject=f"{name}:shape",
                key=f"{key}.shape",
                expected=_shape(entry.shape),
                found=_shape(array.shape),
                evidence=tuple(given),
            )
    yield from _parts(evidence)


def _parts(evidence: BatchEvidence) -> Iterable[Finding]:
    """Arrays known by their names alone: all are [rows, columns] of the tokens, and of numbers."""
    batch = evidence.batch
    if batch.shape is None:
        return
    for role, name in batch.roles.items():
        declared = evidence.data.batch_fields.get(name)
        array = batch.arrays[name]
        wanted = batch.shape[:1] if role == "lengths" else batch.shape
        if array.shape != wanted and (declared is None or declared.shape is None):
            yield evidence.finding(
                RULE,
                f"{name} is {_shape(array.shape)}, and the tokens are {_shape(batch.shape)}",
                subject=f"{name}:shape",
                expected=_shape(wanted),
                found=_shape(array.shape),
                help=f"it is taken for the {role.replace('_', ' ')}; if it is not, declare what it is in data.fields",
            )
        elif batch.get(role) is None and array.shape == wanted:
            yield evidence.finding(
                RULE,
                f"{name} is {array.dtype.name}, and {role.replace('_', ' ')} are whole numbers",
                subject=f"{name}:dtype",
                expected="an integer dtype",
                found=array.dtype.name,
            )


def _shape(dims: Sequence[object]) -> str:
    return f"[{', '.join(map(str, dims))}]"


RULE = Rule(
    code="DAT602",
    name="batch-field-shape",
    severity="error",
    evidence="batch",
    doc=__doc__ or "",
    check=check,
)
