"""A placement rule uses a logical axis that is mapped to nothing.

## What it does
Looks up every axis of `parameters.rules` in `parameters.logical_axes`, then among the mesh axes.

## Why is this bad?
An axis without a mapping is either refused or, in most rule tables, replicated without a word.

## Example
```yaml
parameters:
  logical_axes: { embed: fsdp }
  rules: [{ match: lm_head/kernel, axes: [embed, vocb] }]
```

## Use instead
```yaml
parameters:
  logical_axes: { embed: fsdp, vocab: null }
  rules: [{ match: lm_head/kernel, axes: [embed, vocab] }]
```

## References
- https://flax.readthedocs.io/en/latest/guides/flax_gspmd.html
- https://github.com/AI-Hypercomputer/maxtext/issues/2311
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.suggest import did_you_mean
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    known = [*view.mapping("parameters", "logical_axes"), *view.mesh_axes]
    if not view.complete or not view.meshes:
        return
    for rule in view.rules:
        for dimension, axis in enumerate(rule.axes or ()):
            if axis is not None and axis not in known:
                yield view.finding(
                    RULE,
                    (*rule.key, "axes", dimension),
                    f"`{axis}` is neither in `parameters.logical_axes` nor an axis of the mesh",
                    expected=", ".join(known),
                    found=axis,
                    help=did_you_mean(axis, known),
                )


RULE = Rule(
    code="SHD007",
    name="unmapped-logical-axis",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
