"""The step's parameters are not those of the contract's model.

## What it does
Compares the planned parameters of `model` with the program's, name by name, and names the key whose dimension differs.

## Why is this bad?
Every closed form rests on the model section. If it describes another model, all that follows is about a program that
nobody runs.

## Example
```yaml
model: { kind: dense, d_ff: 512 }        # layers/mlp/w_up is [4, 128, 1024] in the program
```

## Use instead
Correct the contract, or the configuration that built the step.

## References
- https://docs.jax.dev/en/latest/pytrees.html
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ....contracts.errors import ContractLintError
from ....contracts.finding import Finding
from ...evidence import StepEvidence
from ...rule import Rule


def check(evidence: StepEvidence) -> Iterable[Finding]:
    plan = evidence.tensor_plan
    if evidence.contract.model is None or isinstance(plan, ContractLintError):
        return
    planned = {row.name: row for row in plan.rows if row.role == "parameter"}
    found = {row.path: row for row in evidence.tensors.rows if row.class_ == "parameter"}
    paired: dict[str, str] = {}
    for name in planned:
        path = next((p for p in found if p == name or p.endswith(f"/{name}")), None)
        if path is not None:
            paired[name] = path
    wrong: dict[str, list[str]] = defaultdict(list)
    values: dict[str, tuple[int, int]] = {}
    for name, path in paired.items():
        want, have = tuple(planned[name].shape), tuple(found[path].global_shape)
        if want == have:
            continue
        if len(want) != len(have):
            wrong["model"].append(f"{path}: {list(have)}, promised {list(want)}")
            continue
        for key, expected, size in zip(planned[name].keys, want, have, strict=True):
            if expected != size:
                wrong[key].append(f"{path}: {list(have)}, promised {list(want)}")
                values.setdefault(key, (expected, size))
    absent = [f"{name}: promised {list(planned[name].shape)}, not in the program" for name in planned if name not in paired]
    extra = [f"{path}: {list(found[path].global_shape)}, not promised" for path in found if path not in paired.values()]
    if absent or extra:
        key = _key_of_set(absent, extra)
        wrong[key] = absent + extra
    for key, lines in wrong.items():
        expected, size = values.get(key, (None, None))
        numbers = f": the contract gives {expected:,}, the program {size:,}" if expected is not None else ""
        yield RULE.finding(
            f"the step's parameters do not fit {key}{numbers} ({len(lines)} parameter{'s' if len(lines) != 1 else ''})",
            subject=key,
            location=evidence.place(key),
            key=key,
            expected=None if expected is None else f"{expected}",
            found=None if size is None else f"{size}",
            evidence=tuple(lines[:20]),
            help="correct the contract's model, or the configuration that built the step",
        )


def _key_of_set(absent: list[str], extra: list[str]) -> str:
    """The key that decides whether these parameters exist at all."""
    names = " ".join(absent + extra)
    if "lm_head" in names:
        return "model.tied"
    return "model.mlp" if "w_gate" in names else "model"


RULE = Rule(code="SEM203", name="model-mismatch", severity="error", evidence="program", doc=__doc__ or "", check=check)
