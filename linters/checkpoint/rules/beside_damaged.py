"""What Orbax reads before it restores the arrays is damaged.

## What it does
Reads the files that Orbax writes beside the arrays of a tree: `array_metadatas/process_N`, which every restore of jax
arrays reads where it is there, and `_sharding`, which a restore reads that does not say where its arrays go (a warning;
where the file is not there information, since StandardCheckpointer does without). Of the tree (`_METADATA`) each entry
is held to itself, to the others and to the types that Orbax has handlers for: its name and its keys are the same, no
other has them too, what is skipped is what is empty, what is a number is stored as one, and no folder is a list by one
entry and a mapping by another. Orbax joins keys by dots, so `{"l": [x], "l.0": y}` is one array for two leaves: the
value of one is lost. Of the texts of a tree (`_strings.json`) each has its own, which is text. Of a random key the JSON
beside it says what Orbax looks up. A step of items that has lost `_CHECKPOINT_METADATA`, which says what each item is,
is a warning: restores that say it themselves go on. Metadata of an array with an order of bytes or elements that Orbax
never writes (`>f4`, `order` F) is a warning: it restores what another tool wrote so, and other numbers without an error
where the file was changed.

## Why is this bad?
All arrays are whole, and the restore ends with an error of a parser of JSON.

## Example
```sh
contract-lint checkpoint check run/1000   # array_metadatas/process_0 is empty
```

## Use instead
```sh
contract-lint checkpoint check run/900    # restore another step, or bring the file back
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
    checkpoint = evidence.checkpoint
    for faults in (checkpoint.faults, *(item.faults for item in checkpoint.items)):
        for fault in faults:
            place = f":{fault.place}" if fault.place else ""
            said = fault.then or (
                "Orbax restores no jax array"
                if fault.severity == "error"
                else "a restore that names no placement of its own fails"
            )
            help = "bring the file back, or restore another step"
            if fault.severity != "error":
                help = "bring the file back, or give the restore its placements"
                help += (
                    "" if fault.then or fault.severity == "info" else "; without the file StandardCheckpointer goes on"
                )
            yield evidence.finding(
                RULE,
                f"{fault.file}{place}: {fault.what}; {said}",
                subject=f"{fault.file} {fault.kind}".rstrip(),
                file=fault.file,
                severity=fault.severity,
                expected="a file that Orbax reads",
                found=fault.what,
                help=fault.help or help,
            )


RULE = Rule(
    code="CKP616",
    name="restore-notes-damaged",
    severity="error",
    evidence="checkpoint",
    doc=__doc__ or "",
    check=check,
)
