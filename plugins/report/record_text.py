"""A record, and what two differ in, for people at a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ...contracts.model import format_bytes
from ...contracts.record import Metric, Record, canonical, digest_in
from ...linters.cut import in_a_line
from ..pipeline.record.diff import FIGURES, RecordDiff, steps_of
from ..pipeline.record.measured import measured
from .columns import Columns
from .printable import many_lines, one_line, plural
from .sections import folded
from .text import to_text
from .wrap import sentences

LONGEST = 400
"""Characters of one value that are shown."""
SHOWN = 200
_DIGEST = 12
_BEFORE = 20
_FAMILIAR = ("jax", "jaxlib", "libtpu", "flax", "optax", "orbax-checkpoint", "grain", "numpy")


def shown(record: Record, path: str, width: int, color: bool = False) -> str:
    """The parts of a record, then its metrics, then the conclusion."""
    first = f"{one_line(record.name)}: {record.kind} {record.created}, record {short(record.digest)}"
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in _rows(record, path):
        table.add_row(label, Text(value))
    parts: list[RenderableType] = ["", table]
    if record.metrics:
        parts += ["", metrics_table(measured(record.metrics))]
    if record.conclusion:
        parts += ["", Text("Conclusion", style="bold"), Text(many_lines(record.conclusion))]
    return to_text(parts, width, color, Text(sentences(first, width), no_wrap=True))


def compared(diff: RecordDiff, width: int, color: bool = False) -> str:
    """The verdict, then a table of the differences in order."""
    a, b = (
        _named(path, name) for path, name in zip((diff.a, diff.b), (each.name for each in diff.records), strict=True)
    )
    first = sentences(f"{a} and {b}: {diff.verdict}.", width)
    changed = any(each.change is not None for each in diff.differences)
    table = Columns()
    for heading in ("kind", "what", "before", "after"):
        table.add_column(heading, overflow="fold")
    if changed:
        table.add_column("change", justify="right", no_wrap=True)
    shown = folded([(each.what, (each.before, each.after)) for each in diff.of("config")], diff.configs)
    rows = [("config", what, found, None) for what, found in shown]
    rows += [(each.kind, each.what, (each.before, each.after), each.change) for each in diff.but("config")]
    for kind, what, found, change in rows[:SHOWN]:
        told = ("" if change is None else f"{100 * change:+.2f} %",) * changed
        table.add_row(kind, one_line(what), *values(found, kind), *told)
    parts: list[RenderableType] = ["", table] if diff.differences else []
    left = len(rows) - SHOWN
    parts += [Text(f"and {left:,} more: --format json has all", style="dim")] if left > 0 else []
    return to_text(parts, width, color, Text(first, no_wrap=True))


def metrics_table(metrics: dict[str, Metric]) -> Table:
    """Last value, mean and percentiles of each metric."""
    table = Columns()
    table.add_column("metric", overflow="fold")
    for heading in ("values", *FIGURES):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, metric in list(metrics.items())[:SHOWN]:
        figures = FIGURES if metric.count > 1 else FIGURES[:1]
        odd = f" +{metric.not_finite:,} not finite" if metric.not_finite else ""
        cells = [number(getattr(metric, each)) if each in figures else "" for each in FIGURES]
        table.add_row(_cut(one_line(name)), f"{metric.count - metric.not_finite:,}{odd}", *cells)
    return table


def number(value: float | None) -> str:
    """Five digits behind zeros; whole numbers, and large ones, whole."""
    if value is None:
        return "-"
    whole = abs(value) < 1e12 and (abs(value) >= 1e4 or value == round(value))
    return f"{value:,.0f}" if whole else f"{value:.5g}"


def short(digest: str) -> str:
    """The first digits of a digest."""
    return digest.removeprefix("sha256:")[:_DIGEST]


def _named(path: str, name: str) -> str:
    """A record by the first digits in the name of its file, and its own name, which a file cannot always take."""
    digest = digest_in(path)
    return one_line(path if digest is None else f"record {short(digest)} of {name}")


def values(found: Sequence[Any], kind: str = "") -> list[str]:
    """Each value on one line; where some that differ would look alike, as they are written down."""
    texts = [_cut(_value(each, kind)) for each in found]
    written = [canonical(each) for each in found]
    if len(set(texts)) == len(set(written)):
        return texts
    # Long texts may begin alike: what is shown begins a little before they differ.
    alike = next((at for at, each in enumerate(zip(*written, strict=False)) if len(set(each)) > 1), 0)
    start = max(0, alike - _BEFORE) if max(map(len, written)) > LONGEST else 0
    return ["-" if each is None else _cut(text, start) for each, text in zip(found, written, strict=True)]


def _cut(text: str, start: int = 0) -> str:
    end = start + LONGEST
    return f"{'...' if start else ''}{text[start:end]}{'...' if len(text) > end else ''}"


def _value(found: Any, kind: str) -> str:
    """One value; of a digest its beginning."""
    if found is None:
        return "-"
    if isinstance(found, float) and kind == "metric":
        return number(found)
    text = one_line(found) if isinstance(found, str) and found.strip() else canonical(found)
    if kind in ("program", "data", "checkpoint", "file", "source") and len(text.removeprefix("sha256:")) in (40, 64):
        return short(text)
    return text


def _rows(record: Record, path: str) -> Iterator[tuple[str, str]]:
    contract, environment = record.contract, record.environment
    yield "file", one_line(path)
    sections = in_a_line(map(one_line, contract.sections), 30)
    yield "contract", f"{one_line(contract.path)}, {short(contract.digest)}; sections {sections}"
    yield "source", _source(record)
    if record.author is not None:
        address = f" <{record.author.email}>" if record.author.email else ""
        yield "author", one_line(f"{record.author.name}{address}")
    versions = [f"{name} {environment.packages[name]}" for name in _FAMILIAR if name in environment.packages]
    known = f"; {one_line(', '.join(versions))}" if versions else ""
    packages = f"{plural(len(environment.packages), 'package')}, lock {short(environment.lock)}{known}"
    yield "environment", one_line(f"Python {environment.python}, {environment.platform}, {packages}")
    yield from _each("devices", (_device(each) for each in record.devices))
    yield from _each("programs", (_program(each) for each in record.programs))
    held = (f"{c.folder}: {plural(c.files, 'file')}, root {short(c.root)}" for c in record.checkpoints)
    steps = steps_of(record)
    if steps is not None:
        yield "steps", steps
    yield from _each("checkpoints", held)
    yield from _each("data", (f"{each.manifest}: root {short(each.root)}" for each in record.data))
    size = format_bytes(sum(file.bytes for file in record.files))
    yield "files", f"{len(record.files):,}, {size}: {in_a_line((one_line(f.path) for f in record.files), 6)}"
    yield from _each("verdicts", (f"{each.verb}: {each.headline}" for each in record.verdicts))


def _source(record: Record) -> str:
    source = record.source
    if source.commit is None:
        return one_line(f"unknown: {source.undigested}" if source.undigested else "unknown")
    if source.dirty is None:
        return one_line(f"commit {source.commit[:40]}, not known what differs: {source.undigested}")
    if not source.dirty:
        return f"commit {one_line(source.commit)[:40]}, nothing differs"
    why = f", without a digest: {source.undigested}" if source.undigested else ""
    digest = f", difference {short(source.dirty_digest)}" if source.dirty_digest else why
    return one_line(f"commit {source.commit[:40]}, dirty{digest}")


def _device(each: Any) -> str:
    axes = ", mesh " + " x ".join(f"{name} {size}" for name, size in each.mesh.items()) if each.mesh else ""
    effort = f", effort {each.effort}" if each.effort else ""
    flags = f", flags {' '.join(each.xla_flags)}" if each.xla_flags else ""
    return f"{each.target}: {each.devices:,} x {each.kind}{axes}{effort}{flags}"


def _program(each: Any) -> str:
    digest = short(each.sha256) if each.sha256 is not None else "not compiled"
    level = f" ({each.level})" if each.level else ""
    return f"{each.step} on {each.target}: {digest}{level}" + (f", capture {each.capture}" if each.capture else "")


def _each(label: str, values: Iterable[str]) -> Iterator[tuple[str, str]]:
    for count, each in enumerate(values):
        yield ("" if count else label), one_line(each[: 10 * LONGEST])
