"""A cursor is taken back into other data than it was saved from.

## What it does
Compares the data, tokenizer, mixture, seed, sampler, batch size and number of processes of two progress records with
each other, with the contract's section `data` and the manifest that it names, and with the loader as it is now
(`batch replay`).

## Why is this bad?
A cursor is a number: grain's Dataset API, for one, takes it into another seed, size, batch size or mixture without a
word. Some records are then read twice and others never, and the loss curve only looks a little better.

## Example
```json
{"step": 100, "cursor": {"next_index": 20}, "seed": 4}
```

## Use instead
```json
{"step": 100, "cursor": {"next_index": 20}, "seed": 3}
```

## References
- https://github.com/wyim-pgl/transgenic/issues/59
- https://github.com/huggingface/datasets/issues/5454
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import zip_longest
from typing import Any

from ....contracts.finding import Finding
from ....contracts.progress import IDENTITY, Progress
from ...rule import Rule
from ..evidence import DataEvidence


def check(evidence: DataEvidence) -> Iterable[Finding]:
    if evidence.positions is not None:
        first, second = evidence.positions
        for name in IDENTITY:
            if name in first.fields and name in second.fields and first.fields[name] != second.fields[name]:
                was, now = _told(first.fields[name], second.fields[name])
                yield evidence.finding(
                    RULE,
                    second,
                    name,
                    f"{name} is {now}, and was {was} where the cursor was saved ({first.name})",
                    expected=was,
                    found=now,
                    help="resume with what it was saved with, or start the data anew and say so",
                    details={"field": name},
                )
    for record in evidence.records:
        yield from _promised(evidence, record)
    yield from _now(evidence)


def _promised(evidence: DataEvidence, record: Progress) -> Iterable[Finding]:
    """Against the contract."""
    contract, data = (evidence.loaded.contract if evidence.loaded is not None else None), evidence.data
    if contract is None or data is None or evidence.loaded is None:
        return
    manifest = evidence.manifest
    promises: dict[str, tuple[str, Any]] = {
        "dataset": ("data.dataset.root", data.dataset.root if data.dataset else None),
        "tokenizer": ("data.tokenizer.sha256", data.tokenizer.sha256 if data.tokenizer else None),
        "mixture": ("data.mixture", dict(data.mixture) or None),
        "seed": ("data.sampler.seed", data.sampler.seed if data.sampler else None),
        "batch": ("batch.size", contract.batch.size if contract.batch else None),
        "shards": ("data.sharding.processes", data.sharding.processes if data.sharding else None),
        "prefetch": ("data.sharding.prefetch", data.sharding.prefetch if data.sharding else None),
    }
    if manifest is not None:
        for name, digest in (("dataset", manifest.root), ("tokenizer", manifest.tokenizer_digest)):
            promises[name] = promises[name] if promises[name][1] is not None else ("data.dataset.manifest", digest)
    kind = data.sampler.kind if data.sampler else None
    sampler = record.fields.get("sampler")
    if kind is not None and sampler is not None and not _is_ordered(sampler, kind):
        promises["sampler"] = ("data.sampler.kind", kind)
    for name, (key, wanted) in promises.items():
        if wanted is not None and name in record.fields and record.fields[name] != wanted:
            was, now = _told(wanted, record.fields[name])
            yield evidence.finding(
                RULE,
                record,
                name,
                f"{name} is {now}, and the contract promises {was}",
                subject=f"{name}: contract",
                expected=was,
                found=now,
                evidence=(f"promised at {evidence.loaded.place(key)} {key}",),
                details={"field": name},
            )


def _is_ordered(sampler: Any, kind: str) -> bool:
    """Whether a record's sampler is of a kind; stages of a pipeline tell only whether one of them shuffles."""
    if isinstance(sampler, str):
        return sampler == kind
    stages = sampler if isinstance(sampler, list) else [sampler]
    shuffled = any(re.search(r"shuffle(?!=False)", str(stage), re.IGNORECASE) for stage in stages)
    return {"shuffle": shuffled, "sequential": not shuffled}.get(kind, True)


def _now(evidence: DataEvidence) -> Iterable[Finding]:
    """Against the loader as it is now."""
    if evidence.positions is None or evidence.replayed is None:
        return
    pipeline, iterator = list(evidence.replayed.pipeline), list(evidence.replayed.iterator)
    for record, refused in evidence.refusals():
        saved = record.fields.get("sampler")
        if isinstance(saved, list) and pipeline and saved not in (pipeline, iterator):
            differ = [(a, b) for a, b in zip_longest(saved, pipeline, fillvalue="no such stage") if a != b]
            was, now = differ[0]
            yield evidence.finding(
                RULE,
                record,
                "sampler",
                f"the loader has {now}, and had {was} where the cursor was saved",
                subject="sampler: now",
                expected=str(was),
                found=str(now),
                evidence=tuple(f"{b} (was {a})" for a, b in differ[1:]) + ((refused,) if refused else ()),
                help="open the data as it was when the cursor was saved",
                details={"field": "sampler"},
            )
        elif refused is not None:
            yield evidence.finding(
                RULE,
                record,
                "cursor",
                f"the loader does not take the cursor of {record.name}: {refused}",
                subject="cursor: now",
                help="open the data as it was when the cursor was saved",
            )


def _told(was: Any, now: Any) -> tuple[str, str]:
    """Both values in words; of two mappings or lists only what differs."""
    if isinstance(was, dict) and isinstance(now, dict):
        names = [name for name in {**was, **now} if was.get(name) != now.get(name)]
        return tuple(", ".join(f"{name}: {each.get(name, 'none')}" for name in names) for each in (was, now))  # type: ignore[return-value]
    if isinstance(was, list) and isinstance(now, list):
        a, b = next((a, b) for a, b in zip_longest(was, now, fillvalue="none") if a != b)
        return str(a), str(b)
    return str(was), str(now)


RULE = Rule(
    code="DAT711",
    name="data-identity-changed",
    severity="error",
    evidence="data",
    doc=__doc__ or "",
    check=check,
)
