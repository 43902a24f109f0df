"""A shard is not what the manifest says.

## What it does
Compares the sha256 of each shard with the manifest's.

## Why is this bad?
A run that is resumed on other data, or compared with one on other data, is another experiment, and nothing in its loss
says so. A shard that was cut by a full disk reads to its end without an error.

## Example
```sh
contract-lint batch manifest build data --output data.manifest.json
echo '{"text": "one more"}' >> data/web/0001.jsonl
contract-lint batch manifest check data --manifest data.manifest.json
```

## Use instead
```sh
echo '{"text": "one more"}' > data/web/0002.jsonl   # a new shard, a new manifest
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
    for was, now in folder.changed:
        if was.role != "shard":
            continue
        size = f": {was.bytes:,} B were promised, {now.bytes:,} B are there" if was.bytes != now.bytes else ""
        yield folder.finding(
            RULE,
            f"the shard {was.path} has another content than the manifest says{size}",
            path=was.path,
            expected=was.sha256,
            found=now.sha256,
            help="bring the file back, or build the manifest anew and start a new run",
            details={"source": was.source},
        )


RULE = Rule(
    code="DAT701",
    name="shard-changed",
    severity="error",
    evidence="data",
    doc=__doc__ or "",
    check=check,
)
