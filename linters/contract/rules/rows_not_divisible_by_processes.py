"""The batch does not divide among the processes that read it.

## What it does
Compares `batch.size` with `data.sharding.processes`.

## Why is this bad?
Each process hands its own rows to the devices it holds, the same number from each: a remainder is left out, or the
first batch fails on every host.

## Example
```yaml
batch: { size: 16, axes: [data] }
data: { sharding: { processes: 3 } }
```

## Use instead
```yaml
batch: { size: 16, axes: [data] }
data: { sharding: { processes: 4 } }
```

## References
- https://docs.jax.dev/en/latest/distributed_data_loading.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    size, processes = view.integer("batch", "size"), view.integer("data", "sharding", "processes")
    if size is not None and processes is not None and size % processes:
        yield view.finding(
            RULE,
            ("data", "sharding", "processes"),
            f"{size:,} rows do not divide among {processes:,} processes: {size % processes} are left over",
            expected=f"a divisor of batch.size = {size:,}",
            found=str(processes),
        )


RULE = Rule(
    code="DAT007",
    name="rows-not-divisible-by-processes",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
