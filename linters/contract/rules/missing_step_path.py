"""A folder of `step.*.path` does not exist.

## What it does
Looks for every folder that a step puts on `sys.path`, relative to the file that names it.

## Why is this bad?
The import of the step fails later, or finds an installed package of the same name instead of the code under review.

## Example
```yaml
step:
  train: { entry: my_pkg.train:build, path: [../scr] }
```

## Use instead
```yaml
step:
  train: { entry: my_pkg.train:build, path: [../src] }
```

## References
- https://docs.python.org/3/library/sys.html#sys.path
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    for name in view.mapping("step"):
        for key, folder in view.items("step", name, "path"):
            if isinstance(folder, str) and not os.path.isdir(loaded.document.folder(key) / folder):
                yield view.finding(
                    RULE,
                    key,
                    f"folder `{folder}` does not exist",
                    found=folder,
                    help="paths are relative to the file that names them",
                )


RULE = Rule(
    code="JIT010",
    name="missing-step-path",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
