"""A microbatch is not divisible by the mesh axes the batch is split over.

## What it does
Divides `batch.size` by `accumulation.microbatches` and by the devices along `batch.axes`, for every mesh.

## Why is this bad?
Devices without a whole example are padded, refused, or fed a batch that was gathered first.

## Example
```yaml
mesh: { axes: { data: 8 } }
accumulation: { microbatches: 4 }
batch: { size: 16, axes: [data] }
```

## Use instead
```yaml
mesh: { axes: { data: 8 } }
accumulation: { microbatches: 2 }
batch: { size: 16, axes: [data] }
```

## References
- https://github.com/jax-ml/jax/issues/26946
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    size = view.integer("batch", "size")
    parts = view.integer("accumulation", "microbatches") or 1
    axes = [axis for _, axis in view.axes("batch", "axes")]
    if size is None or size % parts:
        return
    uneven = [(mesh, ways) for mesh in view.meshes if (ways := mesh.ways(axes)) is not None and size // parts % ways]
    if uneven:
        ways = uneven[0][1]
        each = f"{size} / {parts} microbatches = {size // parts}" if parts > 1 else f"{size}"
        yield view.finding(
            RULE,
            ("batch", "size"),
            f"{each} examples do not divide over {ways} devices ({' x '.join(dict.fromkeys(axes))})",
            expected=f"a multiple of {parts * ways}",
            found=str(size),
            evidence=tuple(f"{mesh.label}: {ways} devices" for mesh, ways in uneven),
        )


RULE = Rule(
    code="SHD005",
    name="batch-not-divisible",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
