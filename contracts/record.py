"""An experiment record: an in-toto Statement that binds a result to what it rests on.

`subject` names every file by its path below one folder, with its size and sha256; `predicate` says the rest: who, which
source, the resolved configuration and a digest of each of its sections, versions, devices, compiler flags, programs,
checkpoints, metrics, verdicts, and what was concluded. The text is canonical JSON: sorted keys, no blanks, ASCII. The
file's name carries the sha256 of its bytes.

https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from .key import format_key

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:contract-lint:experiment-record:"
RECORD_SCHEMA = 1
SUFFIX = ".record.json"
_NAMED = re.compile(r"(?P<name>.*)\.(?P<digest>[0-9a-f]{64})\.record\.json", re.DOTALL)

COMPUTED = ("model", "dtypes", "accumulation", "batch", "data", "objective", "optimizer", "training", "rng", "step")
"""Sections of a contract that say what is computed. Where it runs, and how it is watched, may change."""

PERCENTILES = (50, 90, 99)
SHA256, TIME = r"^[0-9a-f]{64}$", r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"
FORMS = {SHA256: "64 hexadecimal digits in lower case", TIME: "a time such as 2027-03-01T12:00:00Z"}
"""What the patterns of texts are the form of."""

Sha256 = Annotated[str, Field(pattern=SHA256)]
Bytes = Annotated[int, Field(ge=0, lt=1 << 63)]
Text = Annotated[str, Field(max_length=20_000)]
Short = Annotated[str, Field(max_length=500)]
Kind = Literal["verify", "train", "created"]
Number = Annotated[float, Field(allow_inf_nan=False)]


class Part(BaseModel):
    """A part of a record. Unknown keys are errors: what is not read is not bound."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class FileDigest(Part):
    """One file, relative to the folder that the record is about. `grows`: a later run goes on in it, and its first
    `bytes` are bound."""

    path: str
    sha256: Sha256
    bytes: Bytes
    grows: bool = False


class Author(Part):
    name: Short
    email: Short | None = None


class SourceState(Part):
    """What was checked out. `dirty_digest`: sha256 of all that differs from the commit, untracked files included;
    None where nothing does, or where it could not be told, and then `undigested` says why. It also says why there is
    no commit."""

    commit: Short | None = None
    dirty: bool | None = None
    dirty_digest: Sha256 | None = None
    undigested: Short | None = None


class ContractState(Part):
    """The contract by its file, the digest of what it says, and that of each of its sections."""

    path: str
    name: Short
    digest: Sha256
    sections: dict[str, Sha256]


class Environment(Part):
    """Python and every installed distribution. `lock` is the sha256 of the lines `name==version`, sorted."""

    python: Short
    platform: Short
    lock: Sha256
    packages: dict[str, str]


class DeviceState(Part):
    """What one target ran or was compiled on."""

    target: Short
    devices: Bytes
    kind: Short
    mesh: dict[str, int] | None = None
    effort: Short | None = None
    xla_flags: list[Short] = []


class ProgramState(Part):
    """One compiled step: sha256 of its text without places in source, and the digest of the contract it was made for.

    `level`: `lowered` where it is the text before XLA, None for what XLA made of it. `capture` is the folder with it,
    where that is bound too."""

    target: Short
    step: Short
    sha256: Sha256 | None
    contract_digest: Short
    level: Literal["lowered"] | None = None
    capture: str | None = None


class CheckpointState(Part):
    """One step of a checkpoint. `root` follows from its files (`contracts/data_manifest`)."""

    folder: str
    root: Short
    files: Bytes


class StepRange(Part):
    """The steps that a run went over, counted as finished: the first is 1 where nothing was taken up."""

    first: Annotated[int, Field(ge=1, lt=1 << 63)]
    last: Annotated[int, Field(ge=1, lt=1 << 63)]


class DataState(Part):
    """A data manifest by its file; `root` is the digest of everything it lists."""

    manifest: str
    root: Short


class Metric(Part):
    """A number for each of `count` steps. `not_finite` of them are left out of the rest."""

    count: Bytes
    last: Number | None = None
    mean: Number | None = None
    least: Number | None = None
    most: Number | None = None
    p50: Number | None = None
    p90: Number | None = None
    p99: Number | None = None
    not_finite: Bytes = 0
    source: str | None = None
    """The file they come from."""


class VerdictState(Part):
    """What a check said."""

    verb: Short
    verdict: Literal["pass", "fail", "incomplete"]
    headline: Text
    targets: list[Short] = []
    summary: dict[str, int] = {}
    findings: list[Short] = []
    """Code and fingerprint of each new root finding."""
    source: str | None = None
    """The report that it comes from; None: a verdict of the command that wrote the record."""


class Record(Part):
    """The whole. `files` is the statement's subject, all else its predicate."""

    files: list[FileDigest]
    schema_version: Literal[1] = RECORD_SCHEMA
    tool: Short
    kind: Kind
    name: Short
    created: Annotated[str, Field(pattern=TIME)]
    author: Author | None = None
    source: SourceState
    contract: ContractState
    config: dict[str, Any]
    environment: Environment
    devices: list[DeviceState] = []
    programs: list[ProgramState] = []
    steps: StepRange | None = None
    checkpoints: list[CheckpointState] = []
    data: list[DataState] = []
    metrics: dict[str, Metric] = {}
    verdicts: list[VerdictState] = []
    conclusion: Text | None = None

    def statement(self) -> dict[str, Any]:
        """The in-toto Statement."""
        predicate = self.model_dump(mode="json", exclude_none=True, exclude={"files", "config"})
        return {
            "_type": STATEMENT,
            "subject": [
                {
                    "name": file.path,
                    "digest": {"sha256": file.sha256},
                    "annotations": {"bytes": file.bytes, **({"grows": True} if file.grows else {})},
                }
                for file in self.files
            ],
            "predicateType": f"{PREDICATE}{RECORD_SCHEMA}",
            "predicate": predicate | {"config": self.config},
        }

    def as_text(self) -> str:
        """The file."""
        return canonical(self.statement()) + "\n"

    @property
    def digest(self) -> str:
        """sha256 of the file, in hexadecimal digits."""
        return sha256(self.as_text())

    @property
    def file_name(self) -> str:
        """`dense-fsdp.<sha256>.record.json`."""
        stem = re.sub(r"[^A-Za-z0-9._-]+", "-", self.name).strip("-.")[:80] or "record"
        return f"{stem}.{self.digest}{SUFFIX}"


def canonical(value: Any) -> str:
    """Plain data as the one JSON text of it. Raises ValueError for NaN and infinity."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def sha256(text: str | bytes) -> str:
    """In hexadecimal digits."""
    return hashlib.sha256(text if isinstance(text, bytes) else text.encode()).hexdigest()


def digest_in(name: str) -> str | None:
    """The sha256 that the name of a record's file carries."""
    match = _NAMED.fullmatch(name)
    return match["digest"] if match is not None else None


def section_digests(config: Mapping[str, Any]) -> dict[str, str]:
    """One for each section that is there, of what the contract says: after overlays and bindings, without defaults. So
    records, checkpoints and observations have the same."""
    return {name: sha256(canonical(plain(value))) for name, value in sorted(config.items())}


def plain(value: Any) -> Any:
    """Plain data that JSON can say: a number that is not finite is written as a word."""
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def lock_digest(packages: Mapping[str, str]) -> str:
    """The digest of an environment."""
    return sha256("".join(f"{name}=={version}\n" for name, version in sorted(packages.items())))


def flat(config: Any, key: tuple[str | int, ...] = ()) -> dict[str, Any]:
    """Every value of nested mappings and lists by its key, as the contract's reports spell it: `mesh.axes.data`."""
    if isinstance(config, Mapping) and config:
        return {k: v for name, each in config.items() for k, v in flat(each, (*key, str(name))).items()}
    if isinstance(config, list) and config:
        return {k: v for index, each in enumerate(config) for k, v in flat(each, (*key, index)).items()}
    return {format_key(key): config}


def _mean(values: list[float]) -> float:
    try:
        return math.fsum(values) / len(values)
    except OverflowError:  # the sum is too large; the mean is one of a float's numbers
        return float(sum(map(Fraction, values)) / len(values))


def summarised(values: list[float], source: str | None = None) -> Metric:
    """Percentiles are by nearest rank: each is a value that was seen."""
    finite = sorted(value for value in values if math.isfinite(value))
    if not finite:
        return Metric(count=len(values), not_finite=len(values), source=source)
    at = {p: finite[math.ceil(p / 100 * len(finite)) - 1] for p in PERCENTILES}
    last = values[-1] if math.isfinite(values[-1]) else None
    return Metric(
        count=len(values),
        last=last,
        mean=_mean(finite),
        least=finite[0],
        most=finite[-1],
        p50=at[50],
        p90=at[90],
        p99=at[99],
        not_finite=len(values) - len(finite),
        source=source,
    )
