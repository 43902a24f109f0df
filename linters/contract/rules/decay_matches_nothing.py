"""A pattern of the optimizer matches no parameter.

## What it does
Matches `skip` of `add_decayed_weights` and `multipliers` of `scale_by_learning_rate` with the parameters of `model`.

## Why is this bad?
After a rename the pattern says nothing any more, and what was left out of the decay decays.

## Example
```yaml
optimizer:
  name: adamw
  chain:
    - { kind: reduce }
    - { kind: scale_by_adam }
    - { kind: add_decayed_weights, rate: 0.01, skip: ["final_nrom/scale"] }
    - { kind: scale_by_learning_rate, rate: 1.0e-3 }
```

## Use instead
```yaml
optimizer:
  name: adamw
  chain:
    - { kind: reduce }
    - { kind: scale_by_adam }
    - { kind: add_decayed_weights, rate: 0.01, skip: ["final_norm/scale"] }
    - { kind: scale_by_learning_rate, rate: 1.0e-3 }
```

## References
- https://github.com/ServiceNow/Fast-LLM/pull/545
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.key import Key
from ....contracts.load import LoadedContract
from ....contracts.pattern import path_pattern
from ....contracts.suggest import did_you_mean
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    paths = [parameter.path for parameter in view.parameters]
    for key, item in view.items("optimizer", "chain") if paths else ():
        given = item if isinstance(item, dict) else {}
        skipped = [(place, text) for place, text in view.items(*key, "skip") if isinstance(text, str)]
        factors = given.get("multipliers")
        named: list[tuple[Key, str]] = (
            [((*key, "multipliers", text), text) for text in factors] if isinstance(factors, dict) else []
        )
        for place, text in skipped + named:
            try:
                pattern = path_pattern(text)
            except ValueError:
                continue
            if not any(pattern.matches(path) for path in paths):
                yield view.finding(
                    RULE,
                    place,
                    f"`{text}` matches none of the {len(paths)} parameters",
                    expected="the end of a parameter's path",
                    found=text,
                    help=did_you_mean(text, paths),
                )


RULE = Rule(
    code="SEM011",
    name="decay-matches-nothing",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
