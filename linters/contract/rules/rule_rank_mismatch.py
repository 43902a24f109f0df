"""A placement rule has more or fewer axes than its parameter has dimensions.

## What it does
Compares the length of `axes` with the rank of every parameter that the rule is the first to match.

## Why is this bad?
The placement cannot be applied: JAX refuses a PartitionSpec of a higher rank and takes a shorter one as replicated at
the end.

## Example
```yaml
parameters:
  # wq is [layer, embed, heads]
  rules: [{ match: layers/attn/wq, axes: [embed, heads] }]
```

## Use instead
```yaml
parameters:
  rules: [{ match: layers/attn/wq, axes: [layer, embed, heads] }]
```

## References
- https://docs.jax.dev/en/latest/jax.sharding.html#jax.sharding.PartitionSpec
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.key import Key
from ....contracts.load import LoadedContract
from ...cut import shown
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    wrong: dict[Key, list[str]] = {}
    for parameter in view.parameters:
        rule = view.first_match(parameter.path)
        if rule is None or rule.pattern is None or rule.axes is None:
            continue
        if len(rule.axes) != len(parameter.dims):
            wrong.setdefault(rule.key, []).append(f"{parameter.path}: {list(parameter.shape)}")
    for key, cases in wrong.items():
        count = len(view.items(*key, "axes"))
        yield view.finding(
            RULE,
            (*key, "axes"),
            f"{count} axes for {cases[0]}",
            expected="one axis for each dimension",
            found=f"{count} axes",
            evidence=shown(cases),
        )


RULE = Rule(
    code="SHD010",
    name="rule-rank-mismatch",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
