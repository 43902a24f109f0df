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
from ...cut import in_a_line
from ...rule import Rule
from ..evidence import BatchEvidence
from ..safetensors import dtype_name


def check(evidence: BatchEvidence) -> Iterable[Finding]:
    sizes: dict[str | int, tuple[int, str]] = {
        name: (size, "the contract") for name, size in evidence.symbols().items()
    }
    for name, entry in evidence.data.batch_fields.items():
        array = evidence.batch.arrays.get(name)
        if array is None:
            continue
        key = f"{evidence.data.fields_key}.{name}"
        if entry.dtype is not None and dtype_name(array) != entry.dtype:
            yield evidence.finding(
                RULE,
                f"{name} is {dtype_name(array)}, promised is {entry.dtype}",
                subject=f"{name}:dtype",
                key=f"{key}.dtype",
                expected=entry.dtype,
                found=dtype_name(array),
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
        yield _unseen(evidence)
        return
    for role, name in batch.roles.items():
        if role == "attention_mask" or (role == "tokens" and batch.tokens_hold_targets):
            continue
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
                f"{name} is {dtype_name(array)}, and {role.replace('_', ' ')} are whole numbers",
                subject=f"{name}:dtype",
                expected="an integer dtype",
                found=dtype_name(array),
            )


def _unseen(evidence: BatchEvidence) -> Finding:
    """Nothing in the batch is [rows, columns]: no other rule has anything to look at."""
    batch = evidence.batch
    known = [f"{name} is {_shape(batch.arrays[name].shape)}" for name in batch.roles.values()]
    said = f"{in_a_line(known, 8)}: not [rows, columns]" if known else "no array has a name or role that is known"
    return evidence.finding(
        RULE,
        f"nothing was checked but names and numbers: {said}",
        subject="batch",
        severity="warning",
        expected="tokens, targets, segments or positions as [rows, columns]",
        found=in_a_line([f"{name} {_shape(array.shape)}" for name, array in batch.arrays.items()], 8),
        help="write one microbatch a file"
        if known
        else "say which array is what: data: { fields: { NAME: { role: tokens } } }",
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
