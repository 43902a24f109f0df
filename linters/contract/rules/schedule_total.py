"""The schedule of the learning rate does not end where the run ends.

## What it does
Compares `optimizer.schedule.total`, in its unit, with `training.steps`: as many steps, times the microbatches of a
step, or times the positions of a batch (`data.progress.tokens_per_step` where the model has no `sequence`). Its
warm-up ends before it does.

## Why is this bad?
A schedule that counts microbatches and is given steps decays N times too fast. One that ends early trains the rest at
its last value, which is zero as a rule.

## Example
```yaml
training: { steps: 1000 }
accumulation: { microbatches: 4 }
optimizer:
  schedule: { kind: cosine, unit: microbatches, peak: 3.0e-4, warmup: 100, total: 1000 }
```

## Use instead
```yaml
training: { steps: 1000 }
accumulation: { microbatches: 4 }
optimizer:
  schedule: { kind: cosine, unit: microbatches, peak: 3.0e-4, warmup: 100, total: 4000 }
```

## References
- https://github.com/vllm-project/speculators/issues/900
- https://github.com/Nerogar/OneTrainer/issues/1604
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.key import Key
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    schedule: Key = ("optimizer", "schedule")
    if not isinstance(view.get(*schedule), dict):
        return
    total, steps, warmup = (
        view.integer(*schedule, "total"),
        view.integer("training", "steps"),
        view.get(*schedule, "warmup"),
    )
    if total is not None and isinstance(warmup, int) and warmup > total:
        yield view.finding(
            RULE,
            (*schedule, "warmup"),
            f"the warm-up takes {warmup:,}, the whole schedule {total:,}",
            expected=f"at most {total}",
            found=str(warmup),
        )
    unit = view.text(*schedule, "unit") or "steps"
    factor = _units(view).get(unit)
    if total is None or steps is None or factor is None or total == steps * factor:
        return
    others = [name for name, each in _units(view).items() if name != unit and each and total == steps * each]
    yield view.finding(
        RULE,
        (*schedule, "total"),
        f"the schedule ends after {total:,} {unit}, the run after {steps:,} steps"
        + (f", which are {steps * factor:,} {unit}" if factor != 1 else ""),
        expected=str(steps * factor),
        found=str(total),
        help=f"{total:,} is right in {others[0]}: say `unit: {others[0]}`" if others else None,
    )


def _units(view: View) -> dict[str, int | None]:
    """Units in one optimizer step; None where the contract does not tell."""
    size, sequence = view.integer("batch", "size"), view.integer("model", "sequence")
    counted = view.integer("data", "progress", "tokens_per_step")
    return {
        "steps": 1,
        "microbatches": view.integer("accumulation", "microbatches") or 1,
        "tokens": counted if size is None or sequence is None else size * sequence,
    }


RULE = Rule(
    code="SEM008",
    name="schedule-total",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
