"""A bound value does not exist in the configuration it names.

## What it does
Looks up every `{from: alias#dotted.key}` and suggests the nearest key where there is none.

## Why is this bad?
A renamed configuration key would otherwise leave the contract with a promise about nothing.

## Example
```yaml
model: { layers: { from: base#num_layer } }
```

## Use instead
```yaml
model: { layers: { from: base#num_layers } }
```

## References
- https://github.com/unslothai/unsloth/issues/10452
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.problems import UNRESOLVED_BINDING
from ...rule import Rule


def check(loaded: LoadedContract) -> Iterable[Finding]:
    return [finding for finding in loaded.findings if finding.code == UNRESOLVED_BINDING.code]


RULE = Rule(
    code=UNRESOLVED_BINDING.code,
    name=UNRESOLVED_BINDING.name,
    severity=UNRESOLVED_BINDING.severity,
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
