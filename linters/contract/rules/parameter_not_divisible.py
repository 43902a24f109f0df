"""A parameter's dimension is not divisible by the mesh axes it is split over.

## What it does
Divides every dimension of every parameter, and of its optimizer slots, by its mesh axes; heads by whole heads.

## Why is this bad?
JAX refuses an uneven shard of an argument; where a rule table rounds instead, the parameter is replicated and memory
grows.

## Example
```yaml
mesh: { axes: { tp: 8 } }
model: { kind: dense, layers: 2, d_model: 64, heads: 8,
         kv_heads: 2, d_ff: 128, vocab: 64, sequence: 32 }
# 2 key/value heads over 8 devices
parameters: { logical_axes: { heads: tp } }
```

## Use instead
```yaml
mesh: { axes: { tp: 2 } }
model: { kind: dense, layers: 2, d_model: 64, heads: 8,
         kv_heads: 2, d_ff: 128, vocab: 64, sequence: 32 }
parameters: { logical_axes: { heads: tp } }
```

## References
- https://github.com/jax-ml/jax/issues/26946
- https://docs.jax.dev/en/latest/notebooks/explicit-sharding.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.key import Key
from ....contracts.load import LoadedContract
from ....contracts.model import DenseModel
from ...cut import shown
from ...rule import Rule
from ..view import Mesh, Placed, View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    slots = (
        []
        if view.text("optimizer", "placement") == "parameters"
        else [a for _, a in view.axes("optimizer", "placement")]
    )
    for mesh in view.meshes if view.model is not None else ():
        uneven: dict[Key, list[str]] = {}
        for placed in view.placed:
            for dimension, logical in enumerate(placed.logical):
                size, unit = _whole(view, placed, dimension)
                axes = view.mesh_axes_of(logical)
                key = view.placement_key(placed, dimension)
                if not _divides(mesh, axes, size):
                    uneven.setdefault(key, []).append(
                        f"{placed.parameter.path}: {size} {unit} over {_over(axes, mesh)}"
                    )
                elif slots and logical == "embed" and not _divides(mesh, [*axes, *slots], size):
                    text = f"slots of {placed.parameter.path}: {size} {unit} over {_over([*axes, *slots], mesh)}"
                    uneven.setdefault(("optimizer", "placement"), []).append(text)
        for key, cases in uneven.items():
            more = f" (and {len(cases) - 1} more)" if len(cases) > 1 else ""
            yield view.finding(
                RULE,
                key,
                f"not divisible: {cases[0]}{more}",
                found=cases[0],
                evidence=shown(cases),
                help=f"{mesh.label}: choose a size that divides, or leave the axis whole",
            )


def _whole(view: View, placed: Placed, dimension: int) -> tuple[int, str]:
    """What one dimension can be cut into: elements, or heads where it holds the heads of a dense model."""
    model, parameter = view.model, placed.parameter
    if isinstance(model, DenseModel) and parameter.axes[dimension] == "heads":
        shared = parameter.path.endswith(("wk", "wv"))
        return (model.kv_heads, "key/value heads") if shared else (model.heads, "heads")
    return parameter.shape[dimension], f"elements of dimension {dimension}"


def _divides(mesh: Mesh, axes: list[str], size: int) -> bool:
    ways = mesh.ways(axes)
    return ways is None or size % ways == 0


def _over(axes: list[str], mesh: Mesh) -> str:
    return f"{' x '.join(dict.fromkeys(axes))} = {mesh.ways(axes)}"


RULE = Rule(
    code="SHD004",
    name="parameter-not-divisible",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
