"""One mesh axis is used twice in one tensor.

## What it does
Maps the logical axes of every parameter to mesh axes and reports an axis that two dimensions, or one list, name
twice.

## Why is this bad?
A device axis can split one dimension only: JAX refuses such a PartitionSpec, rule tables silently drop the second
use.

## Example
```yaml
parameters: { logical_axes: { embed: fsdp, mlp: fsdp } }
```

## Use instead
```yaml
parameters: { logical_axes: { embed: fsdp, mlp: tp } }
```

## References
- https://docs.jax.dev/en/latest/jax.sharding.html#jax.sharding.PartitionSpec
- https://github.com/AI-Hypercomputer/maxtext/issues/2311
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from ....contracts.finding import Finding
from ....contracts.key import Key, format_key
from ....contracts.load import LoadedContract
from ...cut import shown
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    yield from _in_one_list(view)
    twice: dict[Key, list[tuple[str, str]]] = {}
    for placed in view.placed:
        used: set[str] = set()
        for dimension, logical in enumerate(placed.logical):
            axes = set(view.mesh_axes_of(logical))
            for axis in sorted(axes & used):
                key = (*placed.rule.key, "axes") if placed.rule is not None else view.placement_key(placed, dimension)
                twice.setdefault(key, []).append((placed.parameter.path, axis))
            used |= axes
    for key, uses in twice.items():
        path, axis = uses[0]
        yield view.finding(
            RULE,
            key,
            f"`{path}` would be split over `{axis}` in two dimensions",
            found=axis,
            evidence=shown(f"{each}: {name} twice" for each, name in uses),
            help="map one of the two logical axes to another mesh axis or to null",
        )


def _in_one_list(view: View) -> Iterable[Finding]:
    for _, group in groupby(view.axis_uses(), key=lambda use: use[0][:-1] if isinstance(use[0][-1], int) else use[0]):
        seen: set[str] = set()
        for key, axis in group:
            if axis in seen:
                owner = format_key(key[:-1])
                yield view.finding(RULE, key, f"`{owner}` names `{axis}` twice", found=axis, help="name each axis once")
            seen.add(axis)


RULE = Rule(
    code="SHD003",
    name="axis-used-twice",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
