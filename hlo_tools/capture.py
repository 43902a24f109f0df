"""Captures read back: every file is checked against the manifest before it is believed, and nothing is written."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ..contracts.errors import ContractLintError
from ..contracts.finding import Location
from ..contracts.manifest import CAPTURE_SCHEMA, MANIFEST, Manifest, MeshFact, RunFacts, StepFacts
from ..contracts.semantics import SemanticsFacts
from ..contracts.unfit import unfit
from .consistency import (
    AGAIN,
    PROGRAM,
    check_assignment,
    check_facts,
    check_manifest,
    check_program,
    check_run,
    mesh_of,
)
from .gzipped import unpack
from .module import HloModule, parse_hlo
from .proto import HloProto, parse_proto

MAX_JSON_BYTES = 256 << 20
MAX_UNPACKED_BYTES = 1 << 30
_CHUNK = 1 << 20
_MAKE = "name the folder of a capture, or make one with `contract-lint capture CONTRACT -o DIR`"

Model = TypeVar("Model", bound=BaseModel)


@contextmanager
def advised() -> Iterator[None]:
    """Whatever makes a capture unreadable comes with advice: what is there to read was written once, and whole."""
    try:
        yield
    except ContractLintError as error:
        raise ContractLintError(error.message, error.location, error.help or AGAIN) from None


@dataclass
class StepCapture:
    """One step of a capture. Programs are read and parsed when they are first asked for; None where there is none."""

    reader: CaptureReader
    name: str
    facts: StepFacts

    @property
    def mesh(self) -> MeshFact | None:
        """The mesh the step was compiled for."""
        return mesh_of(self.facts, self.reader.manifest)

    @cached_property
    @advised()
    def run(self) -> RunFacts | None:
        """What happened when the step was executed; None where it was not."""
        name = f"{self.name}/run.json"
        found = self.reader.model(name, RunFacts)
        if found is not None:
            check_run(found, self.reader.location(name))
        return found

    @cached_property
    @advised()
    def semantics(self) -> SemanticsFacts | None:
        """What a probe of the step's meaning found; None where there was none."""
        return self.reader.model(f"{self.name}/semantics.json", SemanticsFacts)

    @cached_property
    @advised()
    def partitioned(self) -> HloModule | None:
        """The program after SPMD partitioning."""
        return self._module("partitioned.hlo.txt.gz")

    @cached_property
    @advised()
    def optimized(self) -> HloModule | None:
        """The program that runs. Raises ContractLintError where the arguments in the facts are not its parameters."""
        module = self._module(PROGRAM)
        if module is not None:
            check_program(self.facts, self.mesh, module, self._facts_place)
        return module

    @cached_property
    @advised()
    def proto(self) -> HloProto | None:
        """The program that runs, with its buffer assignment."""
        name = f"{self.name}/optimized.hlo.pb.gz"
        data = self.reader.unpacked(name)
        if data is None:
            return None
        try:
            found = parse_proto(data)
        except ContractLintError as error:
            raise ContractLintError(error.message, self.reader.location(name), error.help) from None
        check_assignment(self.facts, self.reader.manifest.provenance.target, found, self._facts_place)
        return found

    @property
    def jaxpr_text(self) -> str | None:
        """The traced program as JAX prints it."""
        return self._text("jaxpr.txt.gz")

    @property
    def stablehlo_text(self) -> str | None:
        """The lowered program, with locations."""
        return self._text("stablehlo.mlir.gz")

    @property
    def optimized_text(self) -> str | None:
        """The text of the program that runs."""
        return self._text(PROGRAM)

    @property
    def stderr(self) -> str | None:
        """What compiler and user code wrote to file descriptor 2."""
        return self._text("stderr.txt")

    @property
    def _facts_place(self) -> Location:
        return self.reader.location(f"{self.name}/facts.json")

    def _module(self, file: str) -> HloModule | None:
        name = f"{self.name}/{file}"
        data = self.reader.unpacked(name)
        if data is None:
            return None
        try:
            return parse_hlo(data, str(self.reader.root / name))
        except ContractLintError as error:
            placed = error.location is not None and bool(error.location.path)
            place = error.location if placed else self.reader.location(name)
            raise ContractLintError(error.message, place, error.help) from None

    @advised()
    def _text(self, file: str) -> str | None:
        data = self.reader.unpacked(f"{self.name}/{file}")
        return None if data is None else data.decode("utf-8", "replace")


@dataclass
class Capture:
    """One target's capture: its manifest, and its steps by name."""

    root: Path
    manifest: Manifest
    steps: dict[str, StepCapture]


class CaptureReader:
    """Reads the files a manifest lists, and no others, below one folder."""

    def __init__(self, root: Path, manifest: Manifest) -> None:
        self.root = root
        self.manifest = manifest

    def location(self, name: str) -> Location:
        return Location(str(self.root / name))

    def verify(self) -> None:
        """Every listed file is there and has its sha256. Raises ContractLintError that names the first that is not."""
        for name in self.manifest.files:
            self._checked(name, keep=False)

    def raw(self, name: str) -> bytes | None:
        """A file's bytes, None where the manifest does not list it."""
        return self._checked(name, keep=True) if name in self.manifest.files else None

    def unpacked(self, name: str) -> bytes | None:
        """A file's bytes after gzip, at most MAX_UNPACKED_BYTES; None where the manifest does not list it."""
        data = self.raw(name)
        return data if data is None or not name.endswith(".gz") else gunzip(data, self.location(name))

    def model(self, name: str, kind: type[Model]) -> Model | None:
        """A JSON file as one of the manifest's models."""
        data = self.unpacked(name)
        if data is None:
            return None
        if len(data) > MAX_JSON_BYTES:
            raise ContractLintError(f"{len(data)} bytes of JSON are too many", self.location(name))
        return validated(kind, data, self.location(name))

    def _checked(self, name: str, keep: bool) -> bytes:
        path = self._inside(name)
        digest, chunks = hashlib.sha256(), []
        try:
            with path.open("rb") as file:
                while chunk := file.read(_CHUNK):
                    digest.update(chunk)
                    if keep:
                        chunks.append(chunk)
        except FileNotFoundError:
            raise ContractLintError("the manifest lists this file and it is not there", self.location(name)) from None
        except OSError as error:
            raise ContractLintError(f"cannot be read: {error.strerror}", self.location(name)) from None
        if digest.hexdigest() != self.manifest.files[name].lower():
            raise ContractLintError(
                "the file was changed after the capture was made: its sha256 is not the manifest's",
                self.location(name),
                help=AGAIN,
            )
        return b"".join(chunks)

    def _inside(self, name: str) -> Path:
        """The path of a listed file. Raises ContractLintError for one that leads out of the folder."""
        if not is_plain_relative(name):
            message = f"the manifest lists {name!r}, which leads out of the capture"
            raise ContractLintError(message, self.location(MANIFEST))
        path = self.root / name
        try:
            if not path.resolve().is_relative_to(self.root.resolve()):
                message = f"the manifest lists {name!r}, a link that leads out of the capture"
                raise ContractLintError(message, self.location(MANIFEST))
        except (OSError, RuntimeError) as error:
            raise ContractLintError(f"cannot be read: {error}", self.location(name)) from None
        return path


def read_capture(folder: str | os.PathLike[str]) -> Capture:
    """The capture in a folder, all its files verified; programs are parsed later, on demand.

    Raises ContractLintError for a folder that is missing, empty or holds half a capture, for a manifest of a newer
    schema, files that are missing, changed or lie outside, and facts that cannot be read or contradict each other.
    """
    with advised():
        return _read_capture(Path(folder))


def _read_capture(root: Path) -> Capture:
    manifest = _read_manifest(root)
    reader = CaptureReader(root, manifest)
    check_manifest(manifest, reader.location(MANIFEST))
    reader.verify()
    steps: dict[str, StepCapture] = {}
    for name in manifest.steps:
        if not is_plain_relative(name) or "/" in name:
            raise ContractLintError(f"the step name {name!r} is no folder name", reader.location(MANIFEST))
        if name in steps:
            raise ContractLintError(f"the manifest lists step `{name}` twice", reader.location(MANIFEST))
        facts = reader.model(f"{name}/facts.json", StepFacts)
        if facts is None:
            raise ContractLintError(f"the manifest lists no facts for step `{name}`", reader.location(MANIFEST))
        check_facts(facts, name, manifest, reader.location(f"{name}/facts.json"))
        steps[name] = StepCapture(reader, name, facts)
    return Capture(root, manifest, steps)


def is_plain_relative(name: str) -> bool:
    """Whether a path of the manifest stays below its folder on every system: no root, drive, `..`, `\\` or NUL."""
    parts = name.split("/")
    return (
        bool(name)
        and "\\" not in name
        and "\0" not in name
        and not PurePosixPath(name).is_absolute()
        and not PureWindowsPath(name).drive
        and not any(part in ("", ".", "..") for part in parts)
    )


def gunzip(data: bytes, location: Location, limit: int = MAX_UNPACKED_BYTES) -> bytes:
    """The unpacked bytes of gzip data. Raises ContractLintError beyond `limit` bytes and for damaged data."""
    return unpack(data, location, limit)


def validated(kind: type[Model], data: bytes, location: Location) -> Model:
    """JSON as a model. Raises ContractLintError that names the first key at fault."""
    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        raise ContractLintError(unfit(error), location) from None


def _read_manifest(root: Path) -> Manifest:
    place = Location(str(root / MANIFEST))
    try:
        data = (root / MANIFEST).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise _no_capture(root) from None
    except OSError as error:
        raise ContractLintError(f"cannot be read: {error.strerror}", place) from None
    if len(data) > MAX_JSON_BYTES:
        raise ContractLintError(f"{len(data)} bytes of JSON are too many", place)
    schema = _schema_version(data, place)
    if schema > CAPTURE_SCHEMA:
        raise ContractLintError(
            f"the capture has schema {schema}; this version reads up to schema {CAPTURE_SCHEMA}",
            place,
            help="upgrade contract-lint, or make the capture again with this version",
        )
    return validated(Manifest, data, place)


def _schema_version(data: bytes, place: Location) -> int:
    """Read before anything else: the rest of a newer manifest may have another form."""
    try:
        content: Any = json.loads(data)
    except json.JSONDecodeError as error:
        raise ContractLintError(f"not JSON: {error.msg}", Location(place.path, error.lineno, error.colno)) from None
    except (ValueError, RecursionError) as error:
        raise ContractLintError(f"not JSON that can be read: {error}", place) from None
    schema = content.get("schema_version") if isinstance(content, dict) else None
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise ContractLintError("no `schema_version`: this is not the manifest of a capture", place)
    return schema


def _no_capture(root: Path) -> ContractLintError:
    """Why a folder without a manifest is no capture."""
    place = Location(str(root))
    if not os.path.exists(root):
        return ContractLintError("there is no such folder", place, _MAKE)
    if not os.path.isdir(root):
        return ContractLintError("this is a file; a capture is a folder", place, _MAKE)
    if not any(root.iterdir()):
        return ContractLintError("the folder is empty; a capture holds a manifest.json", place, _MAKE)
    begun = any(root.glob("manifest.json.*")) or any(root.glob("*/facts.json")) or any(root.glob("*/*.gz"))
    if begun:
        return ContractLintError(
            "half a capture: there are files of one, but no manifest.json, which is written last",
            place,
            help=f"the capture was stopped before it was done: {AGAIN}",
        )
    inner = sorted(path.parent.name for path in root.glob(f"*/{MANIFEST}"))
    advice = f"captures lie below it: {', '.join(inner[:8])}" if inner else _MAKE
    return ContractLintError("no manifest.json: this folder is no capture", place, help=advice)
