"""A file that the manifest lists is not there.

## What it does
Compares the names of the files with the manifest's. Where the same content lies under a name that is not listed, that
name is said.

## Why is this bad?
Sources that lose a shard are sampled from what is left: the mixture keeps its weights and its documents come round
sooner.

## Example
```sh
contract-lint batch manifest build data --output data.manifest.json
rm data/web/0001.jsonl
contract-lint batch manifest check data --manifest data.manifest.json
```

## Use instead
```sh
rm data/web/0001.jsonl
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
    for path, entry in folder.listed.items():
        if path in folder.found:
            continue
        where = folder.moved.get(path)
        what = f"the {'shard' if entry.role == 'shard' else 'tokenizer file'} {path} is not there"
        yield folder.finding(
            RULE,
            f"{what}; the same content is in {where}" if where else what,
            path=path,
            expected=entry.sha256,
            found=where or "no file",
            help="name it as it was" if where else "bring it back, or build the manifest anew",
            details={"source": entry.source},
        )


RULE = Rule(
    code="DAT703",
    name="data-file-missing",
    severity="error",
    evidence="data",
    doc=__doc__ or "",
    check=check,
)
