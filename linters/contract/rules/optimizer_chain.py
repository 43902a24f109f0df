"""The transformations of the optimizer do not make the optimizer that is named.

## What it does
Holds `optimizer.chain` to `optimizer.name`: its direction (`scale_by_adam` for adam and adamw, `trace` for momentum),
decay for adamw alone, `reduce` and `scale_by_learning_rate` once, each transformation at most once, the decay behind
the direction and the learning rate last.

## Why is this bad?
Decay in front of Adam is divided by its second moment: it is another regulariser (L2), and the same number means
another strength. A learning rate before Adam does nothing at all.

## Example
```yaml
optimizer:
  name: adamw
  chain:
    - { kind: reduce }
    - { kind: add_decayed_weights, rate: 0.01 }
    - { kind: scale_by_adam }
    - { kind: scale_by_learning_rate, rate: 1.0e-3 }
```

## Use instead
```yaml
optimizer:
  name: adamw
  chain:
    - { kind: reduce }
    - { kind: scale_by_adam }
    - { kind: add_decayed_weights, rate: 0.01 }
    - { kind: scale_by_learning_rate, rate: 1.0e-3 }
```

## References
- https://arxiv.org/abs/1711.05101
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    chain = [str(item.get("kind")) for _, item in view.items("optimizer", "chain") if isinstance(item, dict)]
    name = view.text("optimizer", "name") or "adamw"
    if not chain or name not in DIRECTION or not KNOWN.issuperset(chain):
        return
    for problem, expected in _problems(chain, name):
        yield view.finding(
            RULE,
            ("optimizer", "chain"),
            problem,
            subject=problem,
            expected=expected,
            found=" -> ".join(str(kind) for kind in chain),
        )


DIRECTION: dict[str, str | None] = {"adamw": "scale_by_adam", "adam": "scale_by_adam", "momentum": "trace", "sgd": None}
"""Optimizer -> the transformation that makes its direction."""
DECAY, RATE = "add_decayed_weights", "scale_by_learning_rate"
KNOWN = {"reduce", "clip_by_global_norm", "scale_by_adam", "trace", DECAY, RATE}


def _problems(chain: list[str], name: str) -> Iterable[tuple[str, str]]:
    direction = DIRECTION[name]
    others = [kind for kind in ("scale_by_adam", "trace") if kind in chain and kind != direction]
    for kind in dict.fromkeys(chain):
        if chain.count(kind) > 1:
            yield f"`{kind}` stands {chain.count(kind)} times in the chain", "once"
    for kind in ("reduce", RATE, *((direction,) if direction else ()), *((DECAY,) if name == "adamw" else ())):
        if kind not in chain and not (kind == direction and others):
            yield f"{name} has no `{kind}` in its chain", kind
    for kind in others:
        yield f"{name} has `{kind}` in its chain", direction or "no direction of its own"
    if name != "adamw" and DECAY in chain:
        yield f"{name} has `{DECAY}` in its chain", "adamw, or no decay"
    if direction in chain and DECAY in chain and chain.index(DECAY) < chain.index(direction):
        yield f"`{DECAY}` stands before `{direction}`, which divides it by its second moment", f"behind `{direction}`"
    if RATE in chain and chain[-1] != RATE:
        yield f"`{chain[-1]}` stands behind the learning rate", f"`{RATE}` last"


RULE = Rule(
    code="SEM012",
    name="optimizer-chain",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
