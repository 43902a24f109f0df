"""A small record, as one would be built."""

from __future__ import annotations

from typing import Any

from contract_lint.contracts.record import (
    CheckpointState,
    ContractState,
    Environment,
    FileDigest,
    Record,
    SourceState,
    canonical,
    lock_digest,
    section_digests,
    sha256,
    summarised,
)
from contract_lint.linters.record.files import tree_digest

CONFIG: dict[str, Any] = {"contract": 1, "name": "small", "step": {"train": {"entry": "m:build", "args": {"seed": 0}}}}
PACKAGES = {"jax": "0.10.2", "optax": "0.2.8"}


def small(**changes: Any) -> Record:
    config = changes.pop("config", CONFIG)
    contract = ContractState(
        path="c.contract.yaml",
        name="small",
        digest=sha256(canonical(config)),
        sections=section_digests(config),
    )
    shard = FileDigest(path="run/1/d", sha256=sha256("d"), bytes=1)
    others = [FileDigest(path=path, sha256=sha256(path), bytes=1) for path in ("m.jsonl", "report.json")]
    whole: dict[str, Any] = {
        "files": [FileDigest(path="c.contract.yaml", sha256=sha256("c"), bytes=1), *others, shard],
        "tool": "0",
        "kind": "created",
        "name": "small",
        "created": "2026-01-02T03:04:05Z",
        "source": SourceState(commit="1" * 40, dirty=False),
        "contract": contract,
        "config": config,
        "environment": Environment(python="3", platform="Linux", lock=lock_digest(PACKAGES), packages=PACKAGES),
        "checkpoints": [CheckpointState(folder="run/1", root=tree_digest({"d": shard}), files=1)],
        "metrics": {"loss": summarised([1.5], "m.jsonl")},
    }
    return Record(**(whole | changes))
