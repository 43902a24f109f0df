"""A dtype is not a floating-point type that XLA has.

## What it does
Compares `dtypes.master`, `dtypes.compute` and `dtypes.moments` with the floating-point dtypes as numpy and ml_dtypes
spell them.

## Why is this bad?
State bytes follow from these names; a misspelled one has no size, and training state in integers loses every small
update.

## Example
```yaml
dtypes: { master: fp32, compute: bf16 }
```

## Use instead
```yaml
dtypes: { master: float32, compute: bfloat16 }
```

## References
- https://github.com/jax-ml/ml_dtypes
- https://docs.jax.dev/en/latest/jax.dtypes.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.suggest import did_you_mean
from ...rule import Rule
from ..view import View

DTYPES = ("float64", "float32", "bfloat16", "float16", "float8_e4m3fn", "float8_e5m2")
SHORT = {"fp64": "float64", "fp32": "float32", "f32": "float32", "bf16": "bfloat16", "fp16": "float16"}


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    for key in (("dtypes", "master"), ("dtypes", "compute"), ("dtypes", "moments"), ("accumulation", "dtype")):
        name = view.text(*key)
        if name is not None and name not in DTYPES:
            yield view.finding(
                RULE,
                key,
                f"`{name}` is not a floating-point dtype",
                expected=", ".join(DTYPES),
                found=name,
                help=f"did you mean `{SHORT[name]}`?" if name in SHORT else did_you_mean(name, DTYPES),
            )


RULE = Rule(
    code="NUM001",
    name="unknown-dtype",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
