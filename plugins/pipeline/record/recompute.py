"""What a record says, worked out again from the files that it binds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from ....contracts.data_manifest import read_manifest
from ....contracts.errors import ContractLintError
from ....contracts.load import load_contract
from ....contracts.record import DeviceState, FileDigest, Metric, Record
from ....hlo_tools.capture import Capture, read_capture
from ....linters.checkpoint.folder import Folder
from ....linters.record.evidence import Recomputed
from ....linters.record.files import digest_below, size_below, start_of
from .build import device_of, programs
from .metrics import MAX_BYTES, read_metrics
from .reported import verdict_in

Said = TypeVar("Said")


def recompute(record: Record, root: Path, tell: Callable[[str], None], note: Callable[[str], None]) -> Recomputed:
    """Everything that a record says and its files tell too. `tell` is told what is read, `note` what metrics leave out.

    Raises ContractLintError for a bound file that is a link or leads out of `root`, and for a capture that is none.
    """
    files: dict[str, FileDigest | None] = {}
    for file in record.files:
        tell(f"reading {file.path}")
        size = size_below(root, file.path)
        # A file of another size has another content; it need not be read to say so.
        told = None if size is None else FileDigest(path=file.path, sha256="0" * 64, bytes=size)
        files[file.path] = digest_below(root, file.path) if size == file.bytes else told

    def metrics(data: bytes, shown: str) -> dict[str, Metric]:
        return read_metrics(data, shown, note)

    whole = {path for path, now in files.items() if now is not None} - {
        file.path for file in record.files if files[file.path] != file
    }
    captures = _captures(record, root, whole)
    devices: dict[str, list[DeviceState]] = {}
    for device in map(device_of, captures):
        devices.setdefault(device.target, []).append(device)
    return Recomputed(
        files=files,
        contract=_contract(record, root, whole),
        programs={(each.target, each.step): each for capture in captures for each in programs(capture)},
        devices=devices,
        data=_data(record, root, whole),
        root=_shown_root(root),
        added=_added(record, root, files),
        metrics=_said_by(root, whole, (metric.source for metric in record.metrics.values()), metrics),
        verdicts=_said_by(root, whole, (verdict.source for verdict in record.verdicts), verdict_in),
    )


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


def _contract(record: Record, root: Path, whole: set[str]) -> str | None:
    """The digest of what the contract says now; None where its files changed, which is said of them."""
    if record.contract.path not in whole:
        return None
    loaded = load_contract(root / record.contract.path, root)
    unchanged = all(name in whole for name in loaded.document.texts)
    return loaded.digest if unchanged and not _unsayable(loaded.document.data) else None


def _unsayable(value: object) -> bool:
    """Whether there is a number that JSON has no word for: a record has a text in its place, and another digest."""
    if isinstance(value, dict):
        return any(map(_unsayable, value.values()))
    if isinstance(value, list):
        return any(map(_unsayable, value))
    return isinstance(value, float) and value - value != 0


def _captures(record: Record, root: Path, whole: set[str]) -> list[Capture]:
    """The bound captures of which every file is what it was."""
    found = []
    for folder in sorted({each.capture for each in record.programs if each.capture is not None}):
        start = start_of(folder)
        inside = [path for path in (file.path for file in record.files) if path.startswith(start)]
        if f"{start}manifest.json" in whole and all(path in whole for path in inside):
            found.append(read_capture(root / folder))
    return found


def _added(record: Record, root: Path, files: Mapping[str, FileDigest | None]) -> dict[str, list[str]]:
    """Files in the folder of a checkpoint that the record does not bind, and so its root not."""
    found: dict[str, list[str]] = {}
    # The project itself, where that is a checkpoint's folder, holds other things too: this record, for one.
    for folder in sorted({each.folder for each in record.checkpoints} - {"."}):
        # A bound file that was opened there tells that nothing on the way is a link, and that it lies below the root.
        if not any(now is not None and path.startswith(start_of(folder)) for path, now in files.items()):
            continue
        inside = (f"{folder}/{name}" for name in Folder(root / folder, folder).files())
        more = sorted(path for path in inside if path not in files)
        if more:
            found[folder] = more
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
