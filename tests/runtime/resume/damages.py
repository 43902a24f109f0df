"""What becomes of a run of three saved steps: each damages the newest, `swapped` the one before too."""

from __future__ import annotations

import shutil
from pathlib import Path


def stored(folder: Path, step: int = 3) -> list[Path]:
    return sorted((folder / str(step) / "state").rglob("d/*"), key=lambda path: path.stat().st_size)


def truncated(folder: Path) -> None:
    file = stored(folder)[-1]
    # Its last bytes are an index of the process that wrote them, which nobody reads once all are merged.
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def missing(folder: Path) -> None:
    stored(folder)[-1].unlink()


def flipped(folder: Path) -> None:
    file = stored(folder)[-1]
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def swapped(folder: Path) -> None:
    mine, other = stored(folder)[-1], stored(folder, 2)[-1]
    one, two = mine.read_bytes(), other.read_bytes()
    mine.write_bytes(two)
    other.write_bytes(one)


def stale(folder: Path) -> None:
    shutil.copy(folder / "2/state/manifest.ocdbt", folder / "3/state/manifest.ocdbt")


def leftover(folder: Path) -> None:
    shutil.copytree(folder / "3", folder / "4.orbax-checkpoint-tmp")


def no_item(folder: Path) -> None:
    shutil.rmtree(folder / "3/data")


def other_mesh(folder: Path) -> None:
    """What is noted beside the arrays names devices that are not there."""
    path = folder / "3/state/_sharding"
    path.write_text(path.read_text().replace(r"\"shape\": [2, 4]", r"\"shape\": [4, 4]"))


def future(folder: Path) -> None:
    path = folder / "3/state/_METADATA"
    path.write_text(path.read_text().replace('"tree_metadata"', '"tree_metadata_v9"'))
