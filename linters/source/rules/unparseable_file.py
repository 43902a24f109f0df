"""A file is not looked at: it cannot be read as Python.

## What it does
Reports a file (or a notebook's cell) that is not Python, whose grammar is newer than the Python that runs the check
(the finding names the one that is needed), that is not text in the encoding it declares, that is too large or nested
too deeply, or on which a rule gave up. It is found while files are read, before any other rule.

## Why is this bad?
A file that is skipped without a word looks like a clean one. Released libraries do hold files that only a newer Python
reads: generic functions and nested f-strings came with 3.12.

## Example
```python
def loss(params, batch)
    return (params @ batch).mean()
```

## Use instead
```python
def loss(params, batch):
    return (params @ batch).mean()
```

## What stays clean
Whatever `ast.parse` of the running Python accepts; IPython magics and shell lines in notebooks.

## References
- https://docs.python.org/3/library/ast.html#ast.parse
- https://peps.python.org/pep-0263/
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.problems import UNPARSEABLE
from ..facts import FileFacts
from ..rule import SourceRule


def check(facts: FileFacts) -> Iterable[Finding]:
    """Nothing: a file of which there are facts was read. Its findings are those of `read`, `parse` and `analyse`."""
    return ()


RULE = SourceRule(
    code=UNPARSEABLE.code,
    name=UNPARSEABLE.name,
    severity=UNPARSEABLE.severity,
    doc=__doc__ or "",
    check=check,
    bad=(),
    good=(),
)
