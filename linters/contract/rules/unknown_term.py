"""A metric or the evaluation names a term or step that the contract does not have.

## What it does
Looks up `metrics.*.sum` and `eval.terms` in `objective.terms`, and `eval.step` in `step`.

## Why is this bad?
What is named wrongly is compared with nothing, and looks as if it were held.

## Example
```yaml
accumulation: { combine: sum_then_divide }
objective:
  terms:
    - { name: cross_entropy, weight: 1.0, normaliser: sequences, metric: sequence_mean }
metrics:
  loss: { sum: crossentropy, denominator: global_valid_tokens }
```

## Use instead
```yaml
accumulation: { combine: sum_then_divide }
objective:
  terms:
    - { name: cross_entropy, weight: 1.0, normaliser: sequences, metric: sequence_mean }
metrics:
  loss: { sum: cross_entropy, denominator: global_valid_tokens }
```

## References
- https://github.com/AI-Hypercomputer/maxtext/issues/1483
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.key import Key
from ....contracts.load import LoadedContract
from ....contracts.suggest import did_you_mean
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    terms = [term["name"] for _, term in view.items("objective", "terms") if isinstance(term, dict) and "name" in term]
    known = [str(name) for name in terms]
    named: list[tuple[Key, str, list[str], str]] = []
    for name in view.mapping("metrics"):
        text = view.text("metrics", name, "sum")
        if text is not None:
            named.append((("metrics", name, "sum"), text, [*known, "objective"], "term"))
    named += [(key, text, known, "term") for key, text in view.items("eval", "terms") if isinstance(text, str)]
    step = view.text("eval", "step")
    if step is not None:
        named.append((("eval", "step"), step, list(view.mapping("step")), "step"))
    for key, text, names, what in named if view.complete else ():
        if text not in names:
            yield view.finding(
                RULE,
                key,
                f"there is no {what} `{text}`",
                expected=", ".join(names),
                found=text,
                help=did_you_mean(text, names),
            )


RULE = Rule(
    code="SEM013",
    name="unknown-term",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
