"""A tokenizer file is not what the manifest says.

## What it does
Compares the sha256 of each tokenizer file with the manifest's, and says where the number of ids or a special id moved.

## Why is this bad?
The same text becomes other ids: a model that is trained on reads words it has never seen under the ids it knows.

## Example
```sh
contract-lint batch manifest build data --output data.manifest.json
cp other/tokenizer.json data/tokenizer/tokenizer.json
contract-lint batch manifest check data --manifest data.manifest.json
```

## Use instead
```sh
cp other/tokenizer.json other-run/tokenizer/   # a run of its own
```

## References
- https://github.com/huggingface/transformers/issues/23530
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import DataEvidence
from ..folder import FolderData


def check(evidence: DataEvidence) -> Iterable[Finding]:
    folder = evidence.folder
    if folder is None:
        return
    moved = tuple(_moved(folder))
    for was, now in folder.changed:
        if was.role != "tokenizer":
            continue
        yield folder.finding(
            RULE,
            f"the tokenizer file {was.path} has another content than the manifest says"
            + (f": {moved[0]}" if moved else ""),
            path=was.path,
            expected=was.sha256,
            found=now.sha256,
            evidence=moved,
            help="bring the file back; another tokenizer needs data and a run of its own",
        )


def _moved(folder: FolderData) -> Iterable[str]:
    was, now = folder.promised.tokenizer, folder.there.tokenizer
    if was is None or now is None:
        return
    if was.vocab != now.vocab:
        yield f"vocab is {now.vocab}, and was {was.vocab}"
    for name in sorted({*was.special, *now.special}):
        if was.special.get(name) != now.special.get(name):
            yield f"{name} is {now.special.get(name)}, and was {was.special.get(name)}"


RULE = Rule(
    code="DAT702",
    name="tokenizer-changed",
    severity="error",
    evidence="data",
    doc=__doc__ or "",
    check=check,
)
