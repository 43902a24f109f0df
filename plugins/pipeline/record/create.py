"""`record create`: gather what a result rests on, and write it down."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from ....contracts.errors import ContractLintError, visible
from ....contracts.finding import Location
from ....contracts.load import LoadedContract, load_contract
from ....contracts.record import Author, Environment, Metric, Record
from ....contracts.unfit import unfit
from ....hlo_tools.capture import Capture, read_capture
from ....runtime.cache import installed_versions
from ....runtime.contract import project_root
from .bound import Bound
from .build import build, environment_of
from .metrics import read_metrics
from .place import kept, not_written, records_folder, short, shown_path
from .reported import verdict_in
from .source_state import git_author, source_state

_DISTRIBUTION = re.compile(r"(?P<name>[A-Za-z0-9._]+?)-(?P<version>\d[^-]*)(?:-py[\d.]+)?\.(?:dist-info|egg-info)")
_AUTHOR = re.compile(r"(?P<name>[^<>]+?)\s*(?:<(?P<email>[^<>]+)>)?")


Each = TypeVar("Each")


@dataclass(frozen=True, slots=True)
class Created:
    """A new record, its file, the folder that it is about, and what a reader should know of how it was made."""

    path: Path
    record: Record
    root: Path
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user names for a record."""

    metrics: Sequence[str] = ()
    reports: Sequence[str] = ()
    captures: Sequence[str] = ()
    checkpoints: Sequence[str] = ()
    data: Sequence[str] = ()
    files: Sequence[str] = ()
    conclusion: str | None = None
    author: str | None = None


def create(
    contract: str,
    asked: Asked,
    *,
    root: str | None = None,
    out: str | None = None,
    python: str | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    say: Callable[[str], None] | None = None,
) -> Created:
    """Write a record of what was asked.

    `root`: the folder that its paths are relative to; None: the contract's project. `out`: the folder to write to.
    Raises ContractLintError for what cannot be read or bound, and where the record cannot be written.
    """
    tell = say or (lambda _: None)
    loaded = load_contract(Path(contract)).readable()
    if loaded.contract is None:
        said = f"has {len(loaded.findings)} error{'s' * (len(loaded.findings) != 1)}; a record is of what it promises"
        raise ContractLintError(
            said, Location(loaded.path), f"see them with: contract-lint check {visible(loaded.path)}"
        )
    file = Path(loaded.document.source.path).resolve()
    base = Path(root).resolve() if root is not None else project_root(file)
    bound = Bound(base, tell)
    path = bound.file(file)
    bind_texts(bound, loaded)
    metrics: dict[str, Metric] = {}
    captures: dict[str, Capture] = {}
    notes: list[str] = []
    for each in asked.metrics:
        _join(metrics, read_metrics(_read(each), bound.result(each), notes.append), each)
    for each in asked.captures:
        captures[bound.name(each)] = _capture(bound, each)
    for each in asked.files:
        bound.file(each)
    checkpoints = _once(map(bound.checkpoint, asked.checkpoints))
    data = _once([*bound.promised(loaded), *map(bound.data, asked.data)])
    verdicts = _once(verdict_in(_read(each), bound.result(each)) for each in asked.reports)
    record = build(
        loaded,
        kind="created",
        created=datetime.now(UTC),
        contract_path=path,
        files=bound.files.values(),
        environment=environment(python),
        source=source_state(file.parent, bound.results),
        author=_author(asked.author, file.parent),
        captures=[(capture, folder) for folder, capture in captures.items()],
        checkpoints=checkpoints,
        data=data,
        metrics=metrics,
        verdicts=verdicts,
        conclusion=asked.conclusion,
    )
    kept = written(record, base, out, cache_dir, notes.append)
    return Created(kept, record, base, (*notes, f"record {short(record.digest)} is in {shown_path(kept)}"))


def _once(parts: Iterable[Each]) -> list[Each]:
    """Each part once: what is named twice is bound once."""
    found: list[Each] = []
    for part in parts:
        if part not in found:
            found.append(part)
    return found


def _join(metrics: dict[str, Metric], more: dict[str, Metric], path: str) -> None:
    """Take the metrics of one more file in. Raises ContractLintError where one of the name is there."""
    taken = sorted(metrics.keys() & more.keys())
    if taken:
        source = metrics[taken[0]].source
        twice = "is named twice" if source == more[taken[0]].source else f"has `{taken[0]}`, and so has {source}"
        help = "a record has one metric of a name: leave one file out, or give one of the two another name"
        raise ContractLintError(twice, Location(path), help)
    metrics |= more


def written(
    record: Record, root: Path, out: str | None, cache_dir: str | os.PathLike[str] | None, say: Callable[[str], None]
) -> Path:
    """The file of a record that was written to its place. Raises ContractLintError where that takes nothing."""
    folder = Path(out) if out is not None else records_folder(root, cache_dir, say)
    try:
        return kept(folder, record)
    except OSError as error:
        raise not_written(folder, error) from error


def environment(python: str | None) -> Environment:
    """The installed distributions of an interpreter, this one by default. Raises ContractLintError where it is none."""
    packages: dict[str, str] = {}
    for name in installed_versions(python):
        match = _DISTRIBUTION.fullmatch(name)
        if match is not None:
            packages[re.sub(r"[-_.]+", "-", match["name"]).lower()] = match["version"]
    return environment_of(_version(python), platform.platform(terse=True), packages)


def _version(python: str | None) -> str:
    """The version of an interpreter that has just told its packages."""
    if python is None or Path(python) == Path(sys.executable):
        return platform.python_version()
    code = "import platform; print(platform.python_version())"
    try:
        return subprocess.run(
            [python, "-c", code], capture_output=True, text=True, timeout=60, check=True
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        raise ContractLintError(f"cannot run {visible(python)}: {error}") from None


def bind_texts(bound: Bound, loaded: LoadedContract) -> None:
    """Bind what the contract extends and binds values of, where it lies below the root; its values are in the record
    wherever they came from."""
    for name in loaded.document.texts:
        absolute = Path(name).resolve()
        if absolute.is_relative_to(bound.root):
            bound.file(absolute)


def _capture(bound: Bound, folder: str) -> Capture:
    capture = read_capture(folder)
    for name in ("manifest.json", *capture.manifest.files):
        bound.result(Path(folder) / name)
    return capture


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ContractLintError(f"cannot be read: {error.strerror or error}", Location(path)) from error


def _author(given: str | None, folder: Path) -> Author | None:
    if given is None:
        return git_author(folder)
    match = _AUTHOR.fullmatch(given.strip()[:500])
    if match is None:
        raise ContractLintError(f"--author {given[:80]!r} is not `Name <address>`")
    try:
        return Author(name=match["name"], email=match["email"])
    except ValidationError as error:
        raise ContractLintError(f"--author: {unfit(error)}") from None
