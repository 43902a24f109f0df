"""What a record says, worked out again from the files that it binds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from .... import __version__
from ....contracts.data_manifest import read_manifest
from ....contracts.errors import ContractLintError
from ....contracts.load import LoadedContract, load_contract
from ....contracts.manifest import MANIFEST
from ....contracts.record import FileDigest, Metric, Record
from ....hlo_tools.capture import Capture, read_capture
from ....linters.record.evidence import Captured, Recomputed
from ....linters.record.files import (
    NoFile,
    NoFileError,
    digest_below,
    lies_beside,
    names_below,
    no_folder_below,
    size_below,
    start_of,
)
from .build import device_of, flags_of_run, programs
from .left_out import left_out
from .metrics import MAX_BYTES, read_metrics
from .reported import verdict_in
from .stated import stated

Said = TypeVar("Said")


def recompute(record: Record, root: Path, tell: Callable[[str], None], note: Callable[[str], None]) -> Recomputed:
    """Everything that a record says and its files tell too. `tell` is told what is read, `note` what metrics leave out.

    Raises ContractLintError where `root` cannot be read, and for a path that leads out of it.
    """
    files: dict[str, FileDigest | NoFile | None] = {}
    for file in record.files:
        tell(f"reading {file.path}")
        files[file.path] = _there(root, file)

    def metrics(data: bytes, shown: str) -> dict[str, Metric]:
        return read_metrics(data, shown, note)

    whole = {file.path for file in record.files if files[file.path] == file}
    unnamed = _unnamed(record)
    # A contract opens what it extends: it is left alone where something that is no file may be among that.
    odd = any(isinstance(files[path], NoFile) for path in unnamed)
    loaded = load_contract(root / record.contract.path, root) if record.contract.path in whole and not odd else None
    texts = set(loaded.document.texts) if loaded is not None else set[str]()
    left_out(root, [path for path in unnamed if path in whole - texts], note)
    return Recomputed(
        files=files,
        contract=_says(loaded) if loaded is not None and texts <= whole else None,
        captures=_captures(record, root, whole),
        data=_data(record, root, whole),
        root=_shown_root(root),
        added=_added(record, root, files),
        gone=_gone(record, root),
        metrics=_said_by(root, whole, (metric.source for metric in record.metrics.values()), metrics),
        verdicts=_said_by(root, whole, (verdict.source for verdict in record.verdicts), verdict_in),
        stated=stated(record, root, whole),
        flags=_flags(record),
    )


def as_bound(record: Record, root: Path) -> Recomputed:
    """What there is to judge of a record whose files were bound just now: what they say and it does not."""
    files = {file.path: file for file in record.files}
    return Recomputed(files=files, root=_shown_root(root), stated=stated(record, root, files))


def _there(root: Path, file: FileDigest) -> FileDigest | NoFile | None:
    """What is at the place of a file."""
    try:
        size = size_below(root, file.path)
        if file.grows and size is not None and size >= file.bytes:
            return digest_below(root, file.path, file.bytes)
        if size == file.bytes:
            return digest_below(root, file.path)
    except NoFileError as error:
        return error.found
    # A file of another size has another content; it need not be read to say so.
    return None if size is None else file.model_copy(update={"sha256": "0" * 64, "bytes": size})


def _unnamed(record: Record) -> list[str]:
    """Bound files that are neither the contract nor of a checkpoint, a capture, a data manifest, a metric or a verdict:
    what the contract extends, and files whose bytes are bound and no more. The observations of a run that goes on are
    no result that was left out."""
    named = {record.contract.path, *(each.manifest for each in record.data)}
    named |= {each.source for each in [*record.metrics.values(), *record.verdicts] if each.source is not None}
    folders = {each.folder for each in record.checkpoints} | {each.capture for each in record.programs if each.capture}
    held = tuple(map(start_of, folders - {"."}))
    return [
        file.path
        for file in record.files
        if not file.grows and file.path not in named and not file.path.startswith(held)
    ]


def _said_by(
    root: Path, whole: set[str], sources: Iterable[str | None], read: Callable[[bytes, str], Said]
) -> dict[str, Said | None]:
    """What each unchanged file says now, None for one that is no such file."""
    found: dict[str, Said | None] = {}
    for source in sorted({each for each in sources if each is not None} & whole):
        path = root / source
        try:
            found[source] = read(path.read_bytes(), source) if path.stat().st_size <= MAX_BYTES else None
        except (ContractLintError, OSError):
            found[source] = None
    return found


def _says(loaded: LoadedContract) -> str | None:
    """The digest of what a contract says; None where a record says it in other words."""
    return None if _unsayable(loaded.document.data) else loaded.digest


def _unsayable(value: object) -> bool:
    """Whether there is a number that JSON has no word for: a record has a text in its place, and another digest."""
    if isinstance(value, dict):
        return any(map(_unsayable, value.values()))
    if isinstance(value, list):
        return any(map(_unsayable, value))
    return isinstance(value, float) and value - value != 0


def _captures(record: Record, root: Path, whole: set[str]) -> dict[str, Captured | None]:
    """The captures of which every bound file is what it was."""
    found: dict[str, Captured | None] = {}
    for folder in sorted({each.capture for each in record.programs if each.capture is not None}):
        start = start_of(folder)
        inside = [path for path in (file.path for file in record.files) if path.startswith(start)]
        if f"{start}{MANIFEST}" in whole and all(path in whole for path in inside):
            try:
                found[folder] = _captured(read_capture(root / folder), start)
            except ContractLintError:
                found[folder] = None
    return found


def _captured(capture: Capture, start: str) -> Captured:
    listed = {(each.target, each.step): each for each in programs(capture)}
    return Captured(device_of(capture), listed, [f"{start}{name}" for name in (MANIFEST, *capture.manifest.files)])


def _added(record: Record, root: Path, files: Mapping[str, object]) -> dict[str, list[str]]:
    """Files in the folder of a checkpoint that the record does not bind, and so its root not."""
    found: dict[str, list[str]] = {}
    # The project itself, where that is a checkpoint's folder, holds other things too: this record, for one.
    for folder in sorted({each.folder for each in record.checkpoints} - {"."}):
        start = len(start_of(folder))
        there = (path for path in names_below(root, folder) if not lies_beside(path[start:]))
        more = sorted(path for path in there if path not in files)
        if more:
            found[folder] = more
    return found


def _gone(record: Record, root: Path) -> dict[str, NoFile]:
    """Folders of checkpoints that cannot be looked into, and what stands there."""
    folders = sorted({each.folder for each in record.checkpoints} - {"."})
    return {folder: instead for folder in folders if (instead := no_folder_below(root, folder)) is not None}


def _flags(record: Record) -> dict[str, list[str]]:
    """What the trainer of this version gives the compiler; nothing where another one trained."""
    found: dict[str, list[str]] = {}
    for device in record.devices if record.kind == "train" and record.tool == __version__ else ():
        with suppress(ValueError):  # no such target, which is told
            found[device.target] = flags_of_run(device.target, record.environment.packages)
    return found


def _data(record: Record, root: Path, whole: set[str]) -> dict[str, str]:
    """The root of each bound data manifest that is what it was; no text of one that is none."""
    found: dict[str, str] = {}
    for name in sorted({each.manifest for each in record.data} & whole):
        try:
            found[name] = read_manifest(root / name).root
        except ContractLintError:
            found[name] = ""
    return found


def _shown_root(root: Path) -> str:
    here = Path.cwd().resolve()
    if root == here:
        return ""
    return root.relative_to(here).as_posix() if root.is_relative_to(here) else root.as_posix()
