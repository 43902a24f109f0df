"""Two terms of the objective have one name, or two are the primary one.

## What it does
Compares the names of `objective.terms`, and counts the terms of kind `primary`: there is exactly one.

## Why is this bad?
What `loss_terms` gives by a name could be held against either of two promises.

## Example
```yaml
accumulation: { combine: sum_then_divide }
objective:
  terms:
    - { name: loss, weight: 1.0, normaliser: sequences, metric: sequence_mean }
    - { name: loss, weight: 0.1, normaliser: sequences, metric: none }
```

## Use instead
```yaml
accumulation: { combine: sum_then_divide }
objective:
  terms:
    - { name: loss, weight: 1.0, normaliser: sequences, metric: sequence_mean }
    - { name: z, kind: z_loss, weight: 0.1, normaliser: sequences, metric: none }
```

## References
- https://github.com/huggingface/transformers/issues/35203
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    seen: dict[str, int] = {}
    primary: list[str] = []
    for key, term in view.items("objective", "terms"):
        name = term.get("name") if isinstance(term, dict) else None
        if not isinstance(name, str):
            continue
        if name in seen:
            yield view.finding(
                RULE,
                (*key, "name"),
                f"term `{name}` stands twice in the objective",
                expected="one term for each name",
                found=f"terms {seen[name]} and {key[-1]}",
            )
            continue
        seen[name] = int(key[-1])
        if term.get("kind", "primary") == "primary":
            primary.append(name)
            if len(primary) > 1:
                yield view.finding(
                    RULE,
                    (*key, "kind") if "kind" in term else key,
                    f"`{primary[0]}` and `{name}` are both the primary term",
                    expected="one term of kind primary",
                    found=", ".join(primary),
                    help="give the others their kind: auxiliary, router, z_loss or regularisation",
                )


RULE = Rule(
    code="SEM005",
    name="repeated-term",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
