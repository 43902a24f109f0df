"""A placement rule matches no parameter of the model.

## What it does
Matches every pattern of `parameters.rules` against the end of every parameter path that `model` gives.

## Why is this bad?
After a rename the rule is dead, its parameters fall through to another rule, and weights are replicated in silence.

## Example
```yaml
parameters:
  rules:
    - { match: layers/attention/wq, axes: [layer, embed, heads] }
```

## Use instead
```yaml
parameters:
  rules:
    - { match: layers/attn/wq, axes: [layer, embed, heads] }
```

## References
- https://flax.readthedocs.io/en/latest/guides/flax_gspmd.html
- https://github.com/ServiceNow/Fast-LLM/issues/545
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
    paths = [parameter.path for parameter in view.parameters]
    for rule in view.rules if paths else []:
        if rule.pattern is not None and not any(rule.pattern.matches(path) for path in paths):
            yield view.finding(
                RULE,
                (*rule.key, "match"),
                f"`{rule.pattern.text}` matches none of the {len(paths)} parameters",
                expected="the end of a parameter's path",
                found=rule.pattern.text,
                help=did_you_mean(rule.pattern.text, paths),
            )


RULE = Rule(
    code="SHD002",
    name="pattern-matches-nothing",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
