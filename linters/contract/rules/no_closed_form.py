"""The collectives are promised in closed form but none can be derived.

## What it does
Looks for the sections the plan needs (model, dtypes, optimizer, parameters, batch, a mesh) and derives it for every
target.

## Why is this bad?
An underivable plan would be an empty expectation, and an empty expectation is met by any program.

## Example
```yaml
model: { kind: listed, parameters: { w: [64, 64] } }
collectives: { expect: closed_form }
```

## Use instead
```yaml
model: { kind: listed, parameters: { w: [64, 64] } }
collectives:
  expect: [{ kind: all-reduce, axes: [data], count: 1, elements: 4096 }]
```

## References
- https://arxiv.org/abs/1910.02054
- https://openxla.org/xla/operation_semantics#allreduce
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.key import Key, parse_key
from ....contracts.load import LoadedContract
from ....contracts.plan.collectives import plan_collectives
from ....contracts.plan.error import PlanError
from ....contracts.target_name import parse_target
from ...rule import Rule
from ..view import View
from . import (
    axis_not_in_mesh,
    axis_used_twice,
    batch_not_divisible,
    heads_not_divisible,
    microbatches_not_divisible,
    parameter_not_divisible,
    rule_rank_mismatch,
    unknown_dtype,
    unmapped_logical_axis,
    width_not_divisible,
)

NEEDED = ("model", "dtypes", "optimizer", "parameters", "batch")
CAUSES = (
    axis_not_in_mesh,
    axis_used_twice,
    batch_not_divisible,
    heads_not_divisible,
    microbatches_not_divisible,
    parameter_not_divisible,
    rule_rank_mismatch,
    unknown_dtype,
    unmapped_logical_axis,
    width_not_divisible,
)
"""Rules whose findings already say why no plan can be derived."""


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    if not isinstance(view.get("collectives"), dict) or view.get("collectives", "expect") not in (None, "closed_form"):
        return
    key: Key = ("collectives", "expect")
    absent = [name for name in NEEDED if view.get(name) is None] if view.complete else []
    if view.complete and not view.meshes and view.get("mesh") is None:
        absent.append("mesh")
    if absent:
        yield view.finding(
            RULE,
            key,
            f"the plan needs {', '.join(f'`{name}`' for name in absent)}",
            expected=", ".join((*NEEDED, "mesh")),
            found=f"no {', '.join(absent)}",
            help="add the sections, or list the promised collectives under `collectives.expect`",
        )
    elif view.get("model", "kind") == "listed":
        yield view.finding(
            RULE,
            key,
            "a listed model has no closed form for its collectives",
            expected="kind: dense",
            found="kind: listed",
            help="list the promised collectives under `collectives.expect`; `contract-lint init` writes what it finds",
        )
    else:
        yield from _underivable(view)


def _underivable(view: View) -> Iterable[Finding]:
    """Why the plan of a valid contract fails, where no other rule has said so."""
    contract = view.loaded.contract
    if contract is None or any(list(cause.RULE.check(view.loaded)) for cause in CAUSES):
        return
    reasons: dict[str, PlanError] = {}
    for _, name in view.targets:
        try:
            parse_target(name)
            plan_collectives(contract, name)
        except PlanError as error:
            reasons.setdefault(error.key, error)
        except ValueError:
            continue
    for key, error in reasons.items():
        yield view.finding(RULE, parse_key(key), f"no closed form: {error.reason}", help=error.help)


RULE = Rule(
    code="SHD013",
    name="no-closed-form",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
