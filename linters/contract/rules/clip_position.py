"""The gradient is clipped at another place of the chain than promised.

## What it does
Looks where `clip_by_global_norm` stands in `optimizer.chain`: one `per: step` behind `reduce` and before the update,
one `per: microbatch` before `reduce`.

## Why is this bad?
Clipped before the reduction, every device or microbatch is bounded by itself, and the sum is not. Clipped behind the
optimizer, the update is bounded and the moments are not.

## Example
```yaml
optimizer:
  name: adamw
  chain:
    - { kind: clip_by_global_norm, max_norm: 1.0 }
    - { kind: reduce }
    - { kind: scale_by_adam }
    - { kind: add_decayed_weights, rate: 0.01 }
    - { kind: scale_by_learning_rate, rate: 1.0e-3 }
```

## Use instead
```yaml
optimizer:
  name: adamw
  chain:
    - { kind: reduce }
    - { kind: clip_by_global_norm, max_norm: 1.0 }
    - { kind: scale_by_adam }
    - { kind: add_decayed_weights, rate: 0.01 }
    - { kind: scale_by_learning_rate, rate: 1.0e-3 }
```

## References
- https://github.com/NVIDIA/Megatron-LM/pull/5916
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    chain = [(key, item.get("kind"), item) for key, item in view.items("optimizer", "chain") if isinstance(item, dict)]
    kinds = [kind for _, kind, _ in chain]
    reduced = kinds.index("reduce") if "reduce" in kinds else None
    updated = min((kinds.index(kind) for kind in UPDATES if kind in kinds), default=None)
    for position, (key, kind, item) in enumerate(chain):
        if kind != "clip_by_global_norm":
            continue
        per = item.get("per", "step")
        if per == "step" and reduced is not None and position < reduced:
            where, expected = "before the gradient is reduced", "behind `reduce`"
        elif per == "microbatch" and reduced is not None and position > reduced:
            where, expected = "behind `reduce`, where there are no microbatches any more", "before `reduce`"
        elif updated is not None and position > updated:
            where, expected = f"behind `{kinds[updated]}`", f"before `{kinds[updated]}`"
        else:
            continue
        yield view.finding(
            RULE,
            key,
            f"the clip of each {per} stands {where}",
            expected=expected,
            found=" -> ".join(str(kind) for kind in kinds),
        )


UPDATES = ("scale_by_adam", "trace", "add_decayed_weights", "scale_by_learning_rate")
"""What makes an update of a gradient."""


RULE = Rule(
    code="SEM010",
    name="clip-position",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
