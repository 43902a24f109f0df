"""`batch manifest`: what lies below a folder of data, and whether it is still what it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ...contracts.data_manifest import DEFAULT_NAME, DataManifest, read_manifest, total_records
from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ...linters.data.evidence import DataEvidence
from ...linters.data.folder import FolderData
from ...linters.data.judge import judge_data
from ...linters.data.tree import build_manifest
from .report import FailOn, Report, report
from .selection import require_known, selected

VERB = "batch manifest check"


def built(
    folder: str, tokenizer: Sequence[str], output: str | None, on_progress: Callable[[str], None] | None = None
) -> DataManifest:
    """The manifest of a folder; neither `output` nor a manifest under the usual name is part of it.

    Raises ContractLintError as `build_manifest`, and where there is no file.
    """
    without = [Path(folder, DEFAULT_NAME), *([Path(output)] if output else [])]
    manifest = build_manifest(folder, tokenizer=tokenizer, without=without, on_progress=on_progress)
    if not manifest.files:
        raise ContractLintError("holds no file", Location(Path(folder).as_posix()), "name the folder of your data")
    return manifest


def check_manifest(
    folder: str,
    manifest: str | None,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    fail_on: FailOn = "error",
    on_progress: Callable[[str], None] | None = None,
) -> Report:
    """Findings on a folder against its manifest, by default the one in it. Raises ContractLintError as its parts."""
    require_known([*select, *ignore])
    path = Path(manifest) if manifest is not None else Path(folder, DEFAULT_NAME)
    if manifest is None and not path.is_file():
        help = "`contract-lint batch manifest build DIR --output FILE` writes one; name it with --manifest"
        raise ContractLintError("has no manifest in it", Location(Path(folder).as_posix()), help)
    promised = read_manifest(path)
    # What the manifest takes for the tokenizer's is so here too, whatever it is called.
    tokenizer = [entry.path for entry in promised.files if entry.role == "tokenizer"]
    without = [path, Path(folder, DEFAULT_NAME)]
    there = build_manifest(folder, tokenizer=tokenizer, lenient=True, without=without, on_progress=on_progress)
    found = judge_data(DataEvidence(FolderData(Path(folder).as_posix(), promised, there)))
    return report(
        selected(found, select, ignore),
        verb=VERB,
        subject=Path(folder).as_posix(),
        fail_on=fail_on,
        proof=summary(there),
    )


def summary(manifest: DataManifest) -> str:
    """`16 shards of 4 sources, 10,000 records, root sha256:0123456789ab...`."""
    shards = [entry for entry in manifest.files if entry.role == "shard"]
    sources, records = len(manifest.sources), total_records(shards)
    parts = [f"{len(shards):,} shard{'s' * (len(shards) != 1)} of {sources:,} source{'s' * (sources != 1)}"]
    parts += [f"{records:,} record{'s' * (records != 1)}"] if records is not None and shards else []
    parts += ["a tokenizer"] if manifest.tokenizer_digest else []
    return ", ".join([*parts, f"root {manifest.root[:19]}"])
