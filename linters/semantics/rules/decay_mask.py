"""Weight decay reaches other parameters than promised.

## What it does
Splits the change of every parameter in one update into the optimizer's direction and a share of the parameter itself.
That share over the rate is the decay; `add_decayed_weights` in `optimizer.chain` promises its rate, and `skip` the
parameters without.

## Why is this bad?
A refactor that renames a parameter silently takes it out of the mask. Norm scales that decay pull the network's
activations down, over thousands of steps, and no test of one step sees it.

## Example
```python
optax.adamw(rate, weight_decay=0.1)  # no mask: norms decay too
```

## Use instead
```python
optax.adamw(rate, weight_decay=0.1, mask=lambda params: not_a_norm(params))
```

## References
- https://github.com/ServiceNow/Fast-LLM/pull/545
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.key import format_key
from ...cut import in_a_line, shown
from ...evidence import StepEvidence
from ...rule import Rule
from ..meaning import same
from ..update import Move, Update

NAMED = 3
SMALL = 1e-2
"""Share of the largest decay in sight that counts as none: what float32 leaves of it."""


def check(evidence: StepEvidence) -> Iterable[Finding]:
    facts = evidence.semantics
    if facts is None or facts.update is None:
        return
    update = Update(facts, evidence.contract)
    if not update.chain or not update.close:
        return
    told = [move for move in update.moves if move.decay is not None]
    scale = max(
        [*(abs(move.decay or 0.0) for move in told), *(update.promised_decay(m.fact.path) for m in told)], default=0
    )
    wrong = [move for move in told if not _agrees(move, update.promised_decay(move.fact.path), scale)]
    if not wrong:
        return
    key: tuple[str | int, ...] = ("optimizer", "chain")
    if update.decay is not None:
        key = (*key, update.chain.index(update.decay))
        only_masks = all(update.promised_decay(move.fact.path) == 0 for move in wrong)
        key = (*key, "skip" if only_masks and update.decay.skip else "rate")
    yield RULE.finding(
        f"{_said(wrong, update, scale)} in step `{evidence.name}`",
        subject=evidence.name,
        location=evidence.place(format_key(key)),
        key=format_key(key),
        expected=", ".join(dict.fromkeys(f"{update.promised_decay(m.fact.path):g}" for m in wrong)),
        found=", ".join(dict.fromkeys(f"{_shown(m, scale):.4g}" for m in wrong)),
        evidence=shown(
            f"{move.fact.path}: decay {_shown(move, scale):.4g}, promised {update.promised_decay(move.fact.path):g}"
            for move in wrong
        ),
        help="look at the mask of the decay and at the names its patterns match",
        details={"paths": [move.fact.path for move in wrong]},
    )


def _agrees(move: Move, promised: float, scale: float) -> bool:
    assert move.decay is not None
    return abs(move.decay - promised) <= max(SMALL * scale, move.noise) or same(move.decay, promised, SMALL)


def _shown(move: Move, scale: float) -> float:
    decay = move.decay or 0.0
    return decay if abs(decay) > max(SMALL * scale, move.noise) else 0.0


def _said(wrong: list[Move], update: Update, scale: float) -> str:
    decayed = [m.fact.path for m in wrong if update.promised_decay(m.fact.path) == 0]
    spared = [m.fact.path for m in wrong if m.fact.path not in decayed and _shown(m, scale) == 0]
    other = [m.fact.path for m in wrong if m.fact.path not in decayed and m.fact.path not in spared]
    parts = []
    if decayed:
        parts.append(f"{_listed(decayed)} decay{'s' * (len(decayed) == 1)}, promised without")
    if spared:
        parts.append(f"{_listed(spared)} do{'es' * (len(spared) == 1)} not decay, promised with")
    if other:
        parts.append(f"{_listed(other)} decay{'s' * (len(other) == 1)} at another rate than promised")
    return "; ".join(parts)


def _listed(paths: list[str]) -> str:
    return in_a_line((f"`{path}`" for path in paths), NAMED)


RULE = Rule(code="SEM811", name="decay-mask", severity="error", evidence="semantics", doc=__doc__ or "", check=check)
