"""A checkpoint lies on disk in another layout than promised.

## What it does
Compares `checkpoint.layout` with how the arrays of each tree are stored: `ocdbt` (a database for all), `zarr` or
`zarr3` (a folder for each), `safetensors`. Random keys and arrays that are saved by themselves are left out: Orbax
has one layout for each of them.

## Why is this bad?
Whoever reads it next - serving, another framework, a copy script that counts files - expects the other one.

## Example
```yaml
checkpoint: { layout: ocdbt }   # saved with use_ocdbt=False
```

## Use instead
```yaml
checkpoint: { layout: zarr }
```

## References
- https://orbax.readthedocs.io/en/latest/guides/checkpoint/checkpoint_format.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import CheckpointEvidence


def check(evidence: CheckpointEvidence) -> Iterable[Finding]:
    promised = evidence.section.layout
    for item in evidence.checkpoint.items:
        if promised is not None and not item.fixed and item.layout not in (None, promised):
            yield evidence.finding(
                RULE,
                f"{item.name or 'the step'} is stored as {item.layout}, promised is {promised}",
                subject=f"layout {item.name}",
                key="checkpoint.layout",
                file=item.name,
                expected=promised,
                found=item.layout,
                help="save it as promised, or promise what is meant",
            )


RULE = Rule(
    code="CKP611",
    name="checkpoint-layout",
    severity="error",
    evidence="checkpoint",
    doc=__doc__ or "",
    check=check,
)
