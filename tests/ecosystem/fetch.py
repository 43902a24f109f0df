"""Brings the pinned packages here: `python tests/ecosystem/fetch.py` downloads, checks and unpacks them.

Each wheel's Python files and notebooks come to FOLDER/<package>-<version>/, with a requirements.txt of what it
requires: some rules depend on the versions that a project is for. FOLDER is that of the environment variable
CONTRACT_LINT_ECOSYSTEM, else `.ecosystem` in the project. What is already there is kept. Nothing is installed or run.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from email import message_from_bytes
from pathlib import Path, PurePosixPath

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDER = Path(os.environ.get("CONTRACT_LINT_ECOSYSTEM") or ROOT / ".ecosystem").resolve()
KEPT = (".py", ".ipynb")
LARGEST = 20_000_000  # bytes of one file; the longest source among these packages has 0.4 MB


@dataclass(frozen=True, slots=True)
class Package:
    """One pinned release and the folder that its sources lie in."""

    name: str
    version: str
    pin: str

    @property
    def folder(self) -> Path:
        return FOLDER / f"{self.name}-{self.version}"


def packages() -> list[Package]:
    """What packages.txt lists, in its order."""
    found = []
    for line in (HERE / "packages.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, version = line.split()[0].split("==")
            found.append(Package(name, version, line))
    return found


def fetched() -> list[Package]:
    """All packages; those that are not here yet are fetched first."""
    for package in packages():
        if not package.folder.is_dir():
            fetch(package)
    return packages()


def fetch(package: Package) -> None:
    """Download one wheel, compare its digest with the pin (pip does) and unpack it.

    Raises CalledProcessError where the index does not have that very file.
    """
    print(f"fetching {package.name} {package.version}", file=sys.stderr)
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as scratch:
        pin = Path(scratch) / "pin.txt"
        pin.write_text(package.pin + "\n")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        pip += ["--require-hashes", "--only-binary=:all:", "--python-version", "3.12", "--dest", scratch]
        subprocess.run([*pip, "--requirement", str(pin)], check=True)
        (wheel,) = Path(scratch).glob("*.whl")
        sources = Path(scratch) / "sources"
        unpack(wheel, sources)
        sources.rename(package.folder)


def unpack(wheel: Path, folder: Path) -> None:
    """The sources of a wheel, below `folder` and nowhere else: no link, no path that leads out, no huge file.

    Raises ValueError on an entry that would.
    """
    folder.mkdir(parents=True)
    with zipfile.ZipFile(wheel) as archive:
        (folder / "requirements.txt").write_text(required(archive))
        for entry in archive.infolist():
            path = PurePosixPath(entry.filename)
            if entry.is_dir() or path.suffix not in KEPT:
                continue
            linked = stat.S_ISLNK(entry.external_attr >> 16)
            if linked or path.is_absolute() or ".." in path.parts or "\\" in entry.filename:
                raise ValueError(f"{wheel.name}: {entry.filename} does not stay in its folder")
            if entry.file_size > LARGEST:
                raise ValueError(f"{wheel.name}: {entry.filename} has {entry.file_size} bytes")
            target = folder.joinpath(*path.parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as source, target.open("wb") as out:
                shutil.copyfileobj(source, out)


def required(archive: zipfile.ZipFile) -> str:
    """What the package requires in any case (of no extra), one requirement a line."""
    metadata = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    if not metadata:
        return ""
    told = message_from_bytes(archive.read(metadata[0])).get_all("Requires-Dist") or []
    return "".join(f"{each.partition(';')[0].strip()}\n" for each in told if "extra" not in each)


if __name__ == "__main__":
    for each in fetched():
        print(each.folder)
