"""`record diff`: what two records differ in, what likely makes their results differ first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from ....contracts.observations import numbered
from ....contracts.record import FileDigest, Metric, Record, VerdictState, canonical, flat, sha256
from .measured import TAKEN_UP, measured

KINDS = (
    "config",
    "steps",
    "program",
    "source",
    "data",
    "version",
    "flags",
    "devices",
    "checkpoint",
    "file",
    "verdict",
    "metric",
    "other",
)
"""In the order of likely effect: what was asked for, which steps of it a run went over, what it was compiled to,
which code, which data, what it ran on; then what came out."""
FIGURES = ("last", "mean", "p50", "p90", "p99")
_FIRST = ("python", "jax", "jaxlib", "libtpu", "jax-cuda12-plugin", "jax-cuda12-pjrt", "flax", "optax", "grain")
_TOP = ("contract", "name", "deviations", "targets")
"""Sections that change no number of a run, behind the others."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference; None: not there. What a configuration says is null is the word `null` (see `said`)."""

    kind: str
    what: str
    before: Any
    after: Any

    @property
    def change(self) -> float | None:
        """Of two numbers, by what part of the first the second is larger."""
        numbers = [each for each in (self.before, self.after) if isinstance(each, int | float)]
        if self.kind != "metric" or len(numbers) != 2 or not self.before:
            return None
        return (self.after - self.before) / abs(self.before)

    def as_json(self) -> dict[str, Any]:
        found = {"kind": self.kind, "what": self.what, "before": self.before, "after": self.after}
        return found if self.change is None else found | {"change": self.change}


@dataclass(frozen=True, slots=True)
class RecordDiff:
    """Two records and their files, and their differences in order."""

    a: str
    b: str
    records: tuple[Record, Record]
    differences: tuple[Difference, ...]

    @property
    def causes(self) -> tuple[Difference, ...]:
        """Those that are not results."""
        return tuple(each for each in self.differences if each.kind not in ("verdict", "metric", "other"))

    @property
    def configs(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Every value of both configurations by its key."""
        return (flat(self.records[0].config), flat(self.records[1].config))

    def of(self, kind: str) -> list[Difference]:
        """The differences of one kind."""
        return [each for each in self.differences if each.kind == kind]

    def but(self, kind: str) -> list[Difference]:
        """Those of all others."""
        return [each for each in self.differences if each.kind != kind]

    @property
    def verdict(self) -> str:
        """`1 config key differs; 3 metrics`."""
        if not self.differences:
            return "nothing differs"
        counts = {kind: sum(each.kind == kind for each in self.differences) for kind in KINDS}
        said = ", ".join(f"{count:,} {kind}" for kind, count in counts.items() if count)
        many = len(self.differences)
        return f"{many:,} difference{'s' * (many != 1)}: {said}"

    def as_json(self) -> dict[str, Any]:
        return {
            "schema_version": 1,
            "a": self.a,
            "b": self.b,
            "verdict": self.verdict,
            "changes": [each.as_json() for each in self.differences],
        }


def record_diff(a: str, b: str, one: Record, other: Record) -> RecordDiff:
    """All that differs between two records, ordered."""
    found = [each for kind in (_config, _run, _environment, _results) for each in kind(one, other)]
    order = {kind: number for number, kind in enumerate(KINDS)}
    return RecordDiff(a, b, (one, other), tuple(sorted(found, key=lambda each: order[each.kind])))


def _config(one: Record, other: Record) -> Iterator[Difference]:
    found = list(_between("config", *said(one.config, other.config)))
    yield from sorted(found, key=lambda each: each.what.split(".")[0].split("[")[0] in _TOP)
    if not found and _file(one) != _file(other):
        yield Difference("file", one.contract.path, _file(one), _file(other))


def said(*configs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every value of each configuration by its key; null as a word, since a key that is not there has none. Beside it,
    the text `null` is in quotes."""
    found = [flat(each) for each in configs]
    null = {key for each in found for key, value in each.items() if value is None}
    return [{key: _word(value) if key in null else value for key, value in each.items()} for each in found]


def _word(value: Any) -> Any:
    """null as a word; a text of that word in quotes."""
    return canonical(value) if value in (None, "null") else value


def alike(one: Any, other: Any) -> bool:
    """Whether two values are the same in a record: `1`, `1.0` and `true` are three."""
    return canonical(one) == canonical(other)


def _file(record: Record) -> str | None:
    """The digest of the contract's text: it may change and say the same."""
    return next((file.sha256 for file in record.files if file.path == record.contract.path), None)


def _run(one: Record, other: Record) -> Iterator[Difference]:
    programs = [
        _named((f"{p.step} on {p.target}{f' ({p.level})' if p.level else ''}", p.sha256) for p in each.programs)
        for each in (one, other)
    ]
    steps = [steps_of(each) for each in (one, other)]
    yield from _between("steps", *({"of the run": each} if each is not None else {} for each in steps))
    yield from _between("program", *programs)
    for name in ("commit", "dirty", "dirty_digest", "undigested"):
        before, after = getattr(one.source, name), getattr(other.source, name)
        if before != after:
            yield Difference("source", name.replace("_", " "), before, after)
    yield from _between("data", *({d.manifest: d.root for d in each.data} for each in (one, other)))
    yield from _between("checkpoint", *({c.folder: c.root for c in each.checkpoints} for each in (one, other)))
    bound = [_other_files(each) for each in (one, other)]
    yield from _between("file", *bound)


def _other_files(record: Record) -> dict[str, str]:
    """Files that are told by nothing else in the record."""
    folders = [f"{each.folder}/" for each in record.checkpoints]
    folders += [f"{each.capture}/" for each in record.programs if each.capture is not None]
    known = {record.contract.path} | {each.manifest for each in record.data}
    known |= {each.source for each in record.metrics.values() if each.source is not None}
    known |= {file.path for files in _observed(record).values() for file in files}
    return {
        file.path: file.sha256
        for file in record.files
        if file.path not in known and not file.path.startswith(tuple(folders))
    }


def _observed(record: Record) -> dict[str, list[FileDigest]]:
    """The files of each folder in which a run left observations."""
    folders = {PurePosixPath(file.path).parent.as_posix(): list[FileDigest]() for file in record.files if file.grows}
    for file in record.files:
        path = PurePosixPath(file.path)
        if path.parent.as_posix() in folders and (file.grows or numbered(path.name) is not None):
            folders[path.parent.as_posix()].append(file)
    return folders


def _environment(one: Record, other: Record) -> Iterator[Difference]:
    names = [{"python": each.environment.python} | each.environment.packages for each in (one, other)]
    found = list(_between("version", *names))
    yield from sorted(found, key=lambda each: _FIRST.index(each.what) if each.what in _FIRST else len(_FIRST))
    flags = [_named((d.target, " ".join(d.xla_flags)) for d in each.devices) for each in (one, other)]
    shared = flags[0].keys() & flags[1].keys()
    yield from _between("flags", *({name: each[name] for name in each if name in shared} for each in flags))
    devices = [
        _named((d.target, _device(d.devices, d.kind, d.mesh, d.effort)) for d in each.devices) for each in (one, other)
    ]
    yield from _between("devices", *devices)
    if one.environment.platform != other.environment.platform:
        yield Difference("devices", "platform", one.environment.platform, other.environment.platform)


def _device(count: int, kind: str, mesh: Mapping[str, int] | None, effort: str | None) -> str:
    axes = f", mesh {' x '.join(f'{name} {size}' for name, size in mesh.items())}" if mesh else ""
    return f"{count} x {kind}{axes}{f', effort {effort}' if effort else ''}"


def _results(one: Record, other: Record) -> Iterator[Difference]:
    for what in (_verdict, _findings):
        verdicts = [_named(map(what, each.verdicts)) for each in (one, other)]
        yield from _between("verdict", *verdicts)
    metrics = [[pair for name, m in measured(each.metrics).items() for pair in told(name, m)] for each in (one, other)]
    yield from _between("metric", *map(dict, metrics))
    both = [name for name in measured(one.metrics) if name in other.metrics]
    for figure in ("count", "not_finite"):
        what = {"count": "values", "not_finite": "not finite"}[figure]
        counts = [{f"{name} {what}": getattr(each.metrics[name], figure) for name in both} for each in (one, other)]
        yield from _between("metric", *counts)
    yield from _between("other", *map(_others, (one, other)))


def steps_of(record: Record) -> str | None:
    """`1 to 20`: the steps of a training run; earlier versions wrote what they were taken up behind as a metric."""
    if record.steps is not None:
        return f"{record.steps.first:,} to {record.steps.last:,}"
    loss, taken = record.metrics.get("loss"), record.metrics.get(TAKEN_UP)
    if record.kind != "train" or loss is None:
        return None
    before = int(taken.last or 0) if taken is not None else 0
    return f"{before + 1:,} to {before + loss.count:,}"


def _verdict(verdict: VerdictState) -> tuple[str, str]:
    return f"{verdict.verb} {' '.join(verdict.targets)}".strip(), verdict.verdict


def _findings(verdict: VerdictState) -> tuple[str, str | None]:
    return f"{_verdict(verdict)[0]} findings", ", ".join(sorted(verdict.findings)) or None


def _others(record: Record) -> dict[str, str | None]:
    author = record.author
    seen: dict[str, str | None] = {
        f"observations {folder}": f"{len(files):,} files, {sha256(' '.join(each.sha256 for each in files))[:12]}"
        for folder, files in _observed(record).items()
    }
    address = f" <{author.email}>" if author is not None and author.email else ""
    return seen | {
        "contract": record.contract.path,
        "kind": record.kind,
        "tool": record.tool,
        "conclusion": record.conclusion,
        "author": f"{author.name}{address}" if author is not None else None,
    }


def _named(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Values by name; of several that are called alike the second is `name (2)`."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        number = 1
        while (told := f"{name} ({number})" if number > 1 else name) in found:
            number += 1
        found[told] = value
    return found


def told(name: str, metric: Metric) -> Iterable[tuple[str, float]]:
    """The figures of a metric that are compared: itself if it is one number, else last, mean and percentiles."""
    figures = FIGURES[:1] if metric.count == 1 else FIGURES
    for figure in figures:
        value = getattr(metric, figure)
        if value is not None:
            yield (name if metric.count == 1 else f"{name} {figure}"), value


def _between(kind: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Difference]:
    for name in [*before, *(name for name in after if name not in before)]:
        if not alike(before.get(name), after.get(name)):
            yield Difference(kind, name, before.get(name), after.get(name))
