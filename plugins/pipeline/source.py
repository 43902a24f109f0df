"""`check` on Python source: from paths to findings that are selected, suppressed, numbered and in order.

Places are counted in the text that was checked until `located` turns those of notebooks into places in cells.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from ...contracts.finding import Finding, Location
from ...contracts.problems import INVALID_SUPPRESSION, UNPARSEABLE, UNUSED_SUPPRESSION, Problem
from ...linters.registry import rules
from ...linters.source.files import Found, excluded, find_sources
from ...linters.source.options import SourceOptions
from ...linters.source.read import Texts, add_source, read_sources
from ...linters.source.run import Run, analysed
from ...linters.source.suppress import suppress_source
from ...linters.source.text import SourceText
from ...linters.source.unread import Known
from .selection import judging
from .settings import Settings

if TYPE_CHECKING:
    from ...linters.source.notebook import Notebook

SettingsOf = Callable[[str], Settings]
OWN = (UNPARSEABLE, INVALID_SUPPRESSION, UNUSED_SUPPRESSION)
SHOWN_LINES = 3


@dataclass(slots=True)
class Sources:
    """What is checked: texts with what was wrong in reading them, and texts that are only read to understand those."""

    texts: Texts
    context: list[SourceText] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Files that were taken, those that could not be read included."""
        return len(self.texts.sources) + len({f.location.path for f in self.texts.findings if f.location} - self.paths)

    @property
    def notebooks(self) -> int:
        """How many of them are notebooks."""
        unread = {f.location.path for f in self.texts.findings if f.location}
        return sum(path.endswith(".ipynb") for path in self.paths | unread)

    @property
    def paths(self) -> set[str]:
        return {source.path for source in self.texts.sources}


def collect(
    paths: Sequence[str], settings_of: SettingsOf, context: Sequence[str] = (), known: Known | None = None
) -> Sources:
    """The texts at and below `paths`, and those of `context` that are not among them.

    What `known` knows, and is as it was, is read when its text is asked for: that may raise unread.Changed.
    Raises ContractLintError for a path that does not exist.
    """

    def left_out(path: str) -> bool:
        settings = settings_of(path)
        return bool(settings.exclude) and (
            excluded(path, settings.exclude) or excluded(_seen_from(settings.root, path), settings.exclude)
        )

    found = find_sources(paths, left_out)
    named = frozenset(os.path.normpath(path).replace(os.sep, "/") for path in paths)
    texts = read_sources(found.files, named, found.real, known)
    notes = [*found.notes, *texts.notes]
    if texts.generated:
        listed = ", ".join(texts.generated[:3]) + (" and more" if len(texts.generated) > 3 else "")
        count = len(texts.generated)
        files = f"{count:,} generated file{'s' * (count != 1)}, as each says of itself"
        notes.append(f"skipped {files}: {listed}; name one to check it")
    there = {source.file for source in texts.sources}
    beside = _beside(find_sources(context, left_out), known) if context else []
    return Sources(texts, [source for source in beside if source.file not in there], notes)


def collect_input(data: bytes, name: str, context: Sequence[str] = ()) -> Sources:
    """What an editor holds of the file `name`, as standard input gives it."""
    texts = Texts()
    add_source(texts, data, name, named=True)
    beside = _beside(find_sources(context), None) if context else []
    return Sources(texts, [each for each in beside if each.file != os.path.realpath(name)], list(texts.notes))


def _beside(found: Found, known: Known | None) -> list[SourceText]:
    return read_sources(found.files, real=found.real, known=known).sources


def options_of(settings: Settings, jobs: int = 0) -> SourceOptions:
    """What of the settings changes how source is understood."""
    return SourceOptions(
        traced=settings.traced,
        module_methods=settings.module_methods,
        requirements=settings.requirements,
        jobs=jobs,
    )


def unmatched_notes(sources: Sources, settings: Settings, paths: Sequence[str]) -> list[str]:
    """A note for each function that the settings name as traced and that is not there."""
    if not settings.traced:
        return []
    from ...linters.source.named import unmatched
    from .settings_file import written_at

    here = os.path.join(os.path.realpath(settings.root), "")
    whole = any(os.path.isdir(path) and here.startswith(os.path.join(os.path.realpath(path), "")) for path in paths)
    notes = []
    for pattern, near in unmatched(settings.traced, [*sources.texts.sources, *sources.context], whole).items():
        place = written_at(settings.files, "traced", pattern)
        advice = f"; did you mean `{near}`?" if near is not None else ""
        notes.append(f"{f'{place}: ' if place else ''}`traced` names {pattern!r}, which is no function here{advice}")
    return notes


def examine(sources: Sources, settings_of: SettingsOf, run: Run) -> list[Finding]:
    """All findings on the texts that the settings of each file show, with the comments in the files applied."""
    found = analysed(sources.texts.sources, sources.context, run)
    by_path: dict[str, list[Finding]] = {source.path: [] for source in sources.texts.sources}
    for finding in found:
        if finding.location is not None and finding.location.path in by_path:
            by_path[finding.location.path].append(finding)
    kept: list[Finding] = []
    for finding in sources.texts.findings:
        path = finding.location.path if finding.location else ""
        if finding.code in _shown_codes(settings_of(path), path):
            kept.append(finding)
    for source in sources.texts.sources:
        if not by_path[source.path] and not source.speaks:
            continue
        settings = settings_of(source.path)
        shown = _shown_codes(settings, source.path)
        here = numbered(each for each in by_path[source.path] if each.code in shown)
        marked = suppress_source(here, source, shown | _names(shown), KNOWN)
        kept += [
            each for each in marked if each.code in shown and (each.confidence == "certain" or not settings.certain)
        ]
    return kept


class _Known(Collection[str]):
    """Codes and names of all rules. Those on contracts need far more imports: they are asked last."""

    def __contains__(self, word: object) -> bool:
        return any(word in (rule.code, rule.name) for rule in (*OWN, *rules("source"))) or word in set(self)

    def __iter__(self) -> Iterator[str]:
        return (word for rule in rules() for word in (rule.code, rule.name))

    def __len__(self) -> int:
        return 2 * len(rules())


KNOWN = _Known()


def numbered(findings: Iterable[Finding]) -> list[Finding]:
    """The findings of one file in the order of their places; those that share a fingerprint are numbered."""
    counts: dict[tuple[str, str], int] = {}
    found = []
    for finding in sorted(findings, key=_place):
        key = (finding.code, finding.subject)
        number = counts[key] = counts.get(key, -1) + 1
        found.append(replace(finding, ordinal=number) if number else finding)
    return found


def located(
    findings: Iterable[Finding], sources: Iterable[SourceText]
) -> tuple[list[Finding], dict[Location, tuple[tuple[int, str], ...]]]:
    """The findings with places in cells where the file is a notebook, and the lines of source at each place."""
    by_path = {source.path: source for source in sources}
    placed: list[Finding] = []
    excerpts: dict[Location, tuple[tuple[int, str], ...]] = {}
    for finding in findings:
        place = finding.location
        source = by_path.get(place.path) if place is not None else None
        if place is None or source is None or place.cell is not None:
            placed.append(finding)
            if place is not None and source is not None and source.notebook is not None:
                excerpts[place] = _lines_of_cell(source.notebook, place)
            continue
        moved = finding if source.notebook is None else _in_cells(finding, source.notebook)
        placed.append(moved)
        if moved.location is not None:
            excerpts[moved.location] = _lines(source, place, moved.location)
    return placed, excerpts


def _in_cells(finding: Finding, notebook: Notebook) -> Finding:
    from ...linters.source.notebook import as_cells

    return as_cells(finding, notebook)


def _lines(source: SourceText, place: Location, shown: Location) -> tuple[tuple[int, str], ...]:
    """The line before, and the first lines of the place, numbered as they are shown."""
    if place.line is None or shown.line is None or not 0 < place.line <= len(source.lines):
        return ()
    # Of a notebook what stands in its cells, not what takes the place of magics.
    lines = source.lines if source.notebook is None else source.notebook.lines
    last = min(place.end_line or place.line, place.line + SHOWN_LINES - 1, len(lines))
    first = place.line - 1 if shown.line > 1 and lines[place.line - 2].strip() else place.line
    return tuple((number - place.line + shown.line, lines[number - 1]) for number in range(first, last + 1))


def _lines_of_cell(notebook: Notebook, place: Location) -> tuple[tuple[int, str], ...]:
    """The line of a place that is counted in a cell already: the cell is no Python, so the text does not have it."""
    cell = next((cell for cell in notebook.cells if cell.number == place.cell), None)
    lines = [] if cell is None else cell.source.split("\n")
    return ((place.line, lines[place.line - 1]),) if place.line and place.line <= len(lines) else ()


def is_shown(code: str, settings: Settings, path: str) -> bool:
    """Whether findings of this code are shown in a file. Of a rule that there is no more only its code is known."""
    known = any(rule.code == code for rule in (*rules("source"), *OWN))
    if known:
        return code in _shown_codes(settings, path)
    return judging(Problem(code, ""), settings.select, _ignored(settings, path), settings.preview)


def _shown_codes(settings: Settings, path: str) -> frozenset[str]:
    """Codes of the rules whose findings are shown in a file."""
    return _codes(settings.select, _ignored(settings, path), settings.preview)


def _ignored(settings: Settings, path: str) -> tuple[str, ...]:
    entries = [
        entry for entry in settings.per_file_ignores if excluded(_seen_from(entry.folder, path), (entry.pattern,))
    ]
    return (*settings.ignore, *(rule for entry in entries for rule in entry.rules))


@cache
def _codes(select: tuple[str, ...], ignore: tuple[str, ...], preview: bool) -> frozenset[str]:
    return frozenset(rule.code for rule in (*rules("source"), *OWN) if judging(rule, select, ignore, preview))


@cache
def _names(codes: frozenset[str]) -> frozenset[str]:
    return frozenset(rule.name for rule in (*rules("source"), *OWN) if rule.code in codes)


def _seen_from(folder: str | os.PathLike[str], path: str) -> str:
    try:
        return os.path.relpath(path, folder).replace(os.sep, "/")
    except ValueError:
        return path


def _place(finding: Finding) -> tuple[int, int, str, str]:
    place = finding.location
    return (
        (place.line if place else None) or 0,
        (place.column if place else None) or 0,
        finding.code,
        finding.subject,
    )
