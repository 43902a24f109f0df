"""The loss has another set of terms than its contract.

## What it does
Compares the names that `loss_terms` returns with those of `objective.terms`.

## Why is this bad?
A term that nobody promised moves the parameters, and nobody reviews its weight; a promised one that the step does not
have trains without what somebody relies on.

## Example
```yaml
objective:
  terms:
    - { name: cross_entropy, weight: 1.0, normaliser: global_valid_tokens }
# the step returns {"cross_entropy": ..., "z_loss": ...}
```

## Use instead
```yaml
objective:
  terms:
    - { name: cross_entropy, weight: 1.0, normaliser: global_valid_tokens }
    - { name: z_loss, kind: z_loss, weight: 1.0e-4, normaliser: global_valid_tokens }
```

## References
- https://github.com/NVIDIA-NeMo/Automodel/issues/1408
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.suggest import did_you_mean
from ...evidence import StepEvidence
from ...rule import Rule
from ..wording import term_key


def check(evidence: StepEvidence) -> Iterable[Finding]:
    facts, objective = evidence.semantics, evidence.contract.objective
    if facts is None or objective is None or not facts.terms:
        return
    promised = [term.name for term in objective.terms]
    for index, name in enumerate(promised):
        if name not in facts.terms:
            free = [other for other in facts.terms if other not in promised]
            yield RULE.finding(
                f"the promised term `{name}` is not in the loss of step `{evidence.name}`",
                subject=f"{evidence.name} {name}",
                location=evidence.place(term_key(index, "name")),
                key=term_key(index, "name"),
                expected=name,
                found=", ".join(facts.terms),
                help=did_you_mean(name, free or facts.terms),
            )
    for name in facts.terms:
        if name not in promised and all(other in facts.terms for other in promised):
            yield RULE.finding(
                f"the loss of step `{evidence.name}` has a term `{name}` that the contract does not promise",
                subject=f"{evidence.name} {name}",
                location=evidence.place("objective.terms"),
                key="objective.terms",
                expected=", ".join(promised),
                found=", ".join(facts.terms),
                help="promise its weight and normaliser, or take it out of the loss",
            )


RULE = Rule(
    code="SEM802", name="unpromised-term", severity="error", evidence="semantics", doc=__doc__ or "", check=check
)
