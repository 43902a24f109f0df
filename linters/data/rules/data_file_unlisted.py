"""A file lies among the data that the manifest does not list.

## What it does
Compares the names of the files with the manifest's. A listed file under another name is `data-file-missing`.

## Why is this bad?
Loaders that read whole folders train on it, and nobody has said that they should.

## Example
```sh
contract-lint batch manifest build data --output data.manifest.json
cp more.jsonl data/web/
contract-lint batch manifest check data --manifest data.manifest.json
```

## Use instead
```sh
cp more.jsonl data/web/
contract-lint batch manifest build data --output data.manifest.json
```

## References
- https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import DataEvidence


def check(evidence: DataEvidence) -> Iterable[Finding]:
    folder = evidence.folder
    if folder is None:
        return
    moved = set(folder.moved.values())
    for path, entry in folder.found.items():
        if path not in folder.listed and path not in moved:
            yield folder.finding(
                RULE,
                f"{path} lies among the data, and the manifest does not list it",
                path=path,
                expected="no such file",
                found=f"{entry.bytes:,} B",
                help="take it out, or build the manifest anew",
                details={"source": entry.source},
            )


RULE = Rule(
    code="DAT704",
    name="data-file-unlisted",
    severity="error",
    evidence="data",
    doc=__doc__ or "",
    check=check,
)
