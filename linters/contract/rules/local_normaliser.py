"""A term is divided on each device by what lies there, and promises a division by the whole step.

## What it does
Reports `scope: device` for a term with a normaliser of the whole step where `batch.axes` spread the batch over several
devices.

## Why is this bad?
Devices count different numbers of tokens. Divided locally and then averaged, tokens on a device with much padding weigh
more, and the loss depends on the number of devices.

## Example
```yaml
mesh: { axes: { data: 8 } }
batch: { size: 16, axes: [data] }
objective:
  terms:
    - name: cross_entropy
      weight: 1.0
      normaliser: global_valid_tokens
      scope: device
      accumulation: sum_then_divide
      metric: token_mean
```

## Use instead
```yaml
mesh: { axes: { data: 8 } }
batch: { size: 16, axes: [data] }
objective:
  terms:
    - name: cross_entropy
      weight: 1.0
      normaliser: global_valid_tokens
      scope: global
      accumulation: sum_then_divide
      metric: token_mean
```

## References
- https://github.com/NVIDIA/Megatron-LM/issues/1652
- https://github.com/huggingface/transformers/issues/35203
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View
from .term_accumulation import WHOLE_STEP


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    axes = [axis for _, axis in view.axes("batch", "axes")]
    ways = max((ways for mesh in view.meshes if (ways := mesh.ways(axes)) is not None), default=1)
    for key, term in view.items("objective", "terms") if ways > 1 else ():
        given = term if isinstance(term, dict) else {}
        if given.get("scope") == "device" and given.get("normaliser") in WHOLE_STEP:
            yield view.finding(
                RULE,
                (*key, "scope"),
                f"term `{given.get('name')}` is divided on each of {ways} devices by what lies there, and by "
                f"{given['normaliser']} of the whole step",
                expected="global",
                found="device",
                help="add up over devices first, or promise a normaliser that is the same on each",
            )


RULE = Rule(
    code="SEM007",
    name="local-normaliser",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
