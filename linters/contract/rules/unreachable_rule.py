"""A placement rule is shadowed by earlier ones.

## What it does
Finds rules whose every parameter an earlier rule matches first.

## Why is this bad?
The first match wins, so the later rule says nothing, and what it says may be what the team believes.

## Example
```yaml
parameters:
  rules:
    - { match: "layers/.*/w[qkvo]", axes: [layer, null, null] }
    - { match: layers/attn/wq, axes: [layer, embed, heads] }
```

## Use instead
```yaml
parameters:
  rules:
    - { match: layers/attn/wq, axes: [layer, embed, heads] }
    - { match: "layers/.*/w[qkvo]", axes: [layer, null, null] }
```

## References
- https://flax.readthedocs.io/en/latest/guides/flax_gspmd.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import PlacementRule, View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    taken: dict[str, PlacementRule] = {}
    for rule in view.rules:
        if rule.pattern is None:
            return
        matched = [parameter.path for parameter in view.parameters if rule.pattern.matches(parameter.path)]
        if matched and all(path in taken for path in matched):
            first = taken[matched[0]]
            yield view.finding(
                RULE,
                (*rule.key, "match"),
                f"all {len(matched)} parameters of `{rule.pattern.text}` are matched by earlier rules",
                found=rule.pattern.text,
                evidence=(f"{matched[0]} is matched at {loaded.place((*first.key, 'match'))}",),
                help="the first match wins: put the narrower rule first, or remove it",
            )
        for path in matched:
            taken.setdefault(path, rule)


RULE = Rule(
    code="SHD009",
    name="unreachable-rule",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
