"""Elements of an array are in no shard, in two, or in one that is cut.

## What it does
Compares the grid of chunks that each array is cut in with what is stored: chunks that are missing, chunks outside of
the grid (the shape is another than that which was saved), files shorter than what the index places in them, compressed
chunks that end early, late or hold another size, parts of a database's index that cannot be decoded, bytes of
.safetensors files that belong to none or to two tensors,
files that are missing by the names of the others (`model-00001-of-00002.safetensors`), leaves that were saved as a
placeholder (`...`). A step or file without any array is none. Reads metadata, never the arrays. Where chunks of nothing
but the fill value need not be stored, as older versions of Orbax save in zarr 3, what is missing is an information. So
are arrays of an item that cannot be read here (saved by a handler of your own, or as `.npz`).
Trees are read at any depth of a step: the arrays of random keys, of items that hold items, of what was saved into the
folder of another tree.

## Why is this bad?
A chunk that is missing reads as zeros in most stores, without an error.

## Example
```sh
contract-lint checkpoint check run/1000   # a file of params.embed is lost
```

## Use instead
```sh
contract-lint checkpoint check run/900    # restore a step that is whole
```

## References
- https://github.com/NVIDIA/Megatron-LM/pull/5077
- https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...cut import SHOWN, in_a_line, shown
from ...rule import Rule
from ..evidence import CheckpointEvidence
from ..facts import Hole

_SAID = {
    "absent": "is not all there",
    "twice": "has elements that are stored twice",
    "cut": "is cut",
    "damaged": "is damaged",
    "outside": "is smaller than what is stored",
    "unstored": "reads in part as the fill value",
    "placeholder": "has no array",
    "unread": "holds arrays that are not looked at",
    "other": "is not what was saved",
}
_HELP = {
    "unstored": "zeros need not be stored here, and a chunk that is lost looks the same: write digests, and compare "
    "with them",
    "outside": "restore another step: the shape was changed after the save, or chunks of another array lie here",
    "placeholder": "save the array, or leave the leaf out: it comes back as `...`, or the restore fails",
    "other": "bring it back, or restore another step; were two folders swapped?",
    "unread": "whoever wrote them can tell whether they are whole; digests tell whether they change",
}
_OF_FILES = ("cut", "damaged")
"""One file that is cut takes many arrays with it; what is absent is told array by array, but together."""
_INFORMS = ("unstored", "unread")


def check(evidence: CheckpointEvidence) -> Iterable[Finding]:
    checkpoint = evidence.checkpoint
    older = [step for step in checkpoint.steps if step.state == "committed" and step != checkpoint.step]
    said = checkpoint.absent_items or any(hole.kind not in _INFORMS for item in checkpoint.items for hole in item.holes)
    if not checkpoint.arrays and not said and checkpoint.step.state == "committed":
        what = "holds no array: there is no state to restore"
        help = f"restore another step: --step {older[-1].number} reads it" if older else "restore another checkpoint"
        if any(item.holes for item in checkpoint.items):
            what = "holds no array that can be read here: nothing of its state was looked at"
            help = "let whoever wrote the arrays look at them"
        yield evidence.finding(
            RULE,
            f"{checkpoint.step.folder} {what}",
            subject="no array",
            expected="at least one array",
            found=", ".join(item.name for item in checkpoint.items if item.name) or "nothing",
            help=help,
        )
    others = f" ({in_a_line([step.folder for step in older[::-1]], SHOWN)})" if older else ""
    for item in checkpoint.items:
        by_file: dict[tuple[str, str], list[Hole]] = {}
        for hole in item.holes:
            by_file.setdefault((hole.kind, hole.where if hole.kind in _OF_FILES else ""), []).append(hole)
        for (kind, file), holes in by_file.items():
            first = holes[0]
            what = item.named(first.leaf) if first.leaf else item.name or "the step"
            leaves = sorted({hole.leaf for hole in holes if hole.leaf})
            more = f"; so it is with {len(leaves) - 1:,} more" if len(leaves) > 1 else ""
            yield evidence.finding(
                RULE,
                f"{what} {_SAID[kind]}: {first.what}{more}",
                subject=f"{kind} {item.name} {file or first.leaf}",
                file=file or item.name,
                expected="what the step says of it" if kind == "other" else "every element once",
                found=kind,
                severity="info" if kind in _INFORMS else "error",
                evidence=shown([f"{item.named(hole.leaf)}: {hole.what}" for hole in holes]) if len(holes) > 1 else (),
                help=_HELP.get(kind, f"restore another step{others}, or bring the file back"),
                details={"leaves": leaves},
            )


RULE = Rule(
    code="CKP609",
    name="elements-not-covered-once",
    severity="error",
    evidence="checkpoint",
    doc=__doc__ or "",
    check=check,
)
