"""A parameter moves at another rate than promised.

## What it does
Compares the rate of every parameter in one update with the promised one: a constant, or the schedule where its warm-up
or a constant says it in numbers. Multipliers of single parameters are promised under `scale_by_learning_rate`.

## Why is this bad?
A group of parameters that falls out of its multiplier, a rate that is scaled twice or a clip that acts on the update:
each trains another model, and the loss of one step shows none of it.

## Example
```yaml
optimizer:
  chain:
    - { kind: scale_by_learning_rate, rate: 3.0e-3 }
# the step: optax.adam(3e-4)
```

## Use instead
```yaml
optimizer:
  chain:
    - { kind: scale_by_learning_rate, rate: { from: base#learning_rate } }
```

## References
- https://github.com/vllm-project/speculators/issues/900
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from ....contracts.finding import Finding
from ....contracts.key import format_key
from ...cut import shown
from ...evidence import StepEvidence
from ...rule import Rule
from ..meaning import same
from ..update import Move, Update


def check(evidence: StepEvidence) -> Iterable[Finding]:
    facts = evidence.semantics
    if facts is None or facts.update is None:
        return
    update = Update(facts, evidence.contract)
    moves = [move for move in update.moves if move.rate and move.decay is not None]
    if not update.chain or not update.close or not moves:
        return
    base = [move.rate / update.multiplier(move.fact.path) for move in moves if update.multiplier(move.fact.path)]
    promised = update.promised_rate
    # Without slots the clip is seen in the rate alone; another rule speaks of it.
    if promised is None or update.factor is None:
        promised = median(base) if base else None
    if promised is None:
        return
    wrong = [m for m in moves if not same(m.rate, promised * update.multiplier(m.fact.path), max(update.close, 1e-4))]
    if not wrong:
        return
    key: tuple[str | int, ...] = ("optimizer", "chain")
    if update.rates is not None:
        key = (*key, update.chain.index(update.rates))
    yield RULE.finding(
        _said(evidence.name, wrong, moves, promised, update),
        subject=evidence.name,
        location=evidence.place(format_key(key)),
        key=format_key(key),
        expected=", ".join(dict.fromkeys(f"{promised * update.multiplier(m.fact.path):.6g}" for m in wrong)),
        found=", ".join(dict.fromkeys(f"{m.rate:.6g}" for m in wrong)),
        evidence=shown(
            f"{m.fact.path}: {m.rate:.6g}, promised {promised * update.multiplier(m.fact.path):.6g}" for m in wrong
        ),
        help="look at the schedule, at multipliers of parameter groups, and at what stands behind the optimizer",
    )


def _said(step: str, wrong: list[Move], moves: list[Move], promised: float, update: Update) -> str:
    if len(wrong) == len(moves):
        return f"step `{step}` moves its parameters at a rate of {wrong[0].rate:.4g}, promised is {promised:.4g}"
    first = wrong[0]
    more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    return (
        f"step `{step}` moves `{first.fact.path}`{more} at {first.rate / promised:.4g} x the learning rate, "
        f"promised is {update.multiplier(first.fact.path):.4g} x"
    )


RULE = Rule(
    code="SEM812", name="learning-rate-differs", severity="error", evidence="semantics", doc=__doc__ or "", check=check
)
