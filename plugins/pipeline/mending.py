"""`--fix` and `--diff`: fix, check again, until nothing more can be fixed; then write what changed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ...contracts.finding import Finding
from ...linters.source.fixes import MOST_PASSES, NotFixed, NotWritten, fixable, mend, write_source
from ...linters.source.text import SourceText
from .source import Sources


@dataclass(slots=True)
class Mending:
    """What was done: the texts after it, the findings that are left in them, how many fixes, and the changes.

    `unwritten` says that a file could not be written.
    """

    sources: Sources
    findings: list[Finding]
    count: int = 0
    diff: str = ""
    text: str | None = None
    notes: list[str] = field(default_factory=list)
    unwritten: bool = False


def mended_sources(
    sources: Sources,
    findings: Sequence[Finding],
    again: Callable[[Sources], list[Finding]],
    *,
    unsafe: bool,
    write: bool,
) -> Mending:
    """The sources after their fixes. `again` checks texts anew; `write` says that files are replaced.

    A file that cannot be written, or has changed meanwhile, stays as it is, with a note and its findings.
    """
    before = {source.path: source for source in sources.texts.sources}
    now = dict(before)
    counts = dict.fromkeys(before, 0)
    refused: dict[str, str] = {}
    seen = {path: {source.digest} for path, source in before.items()}
    found = list(findings)
    for _ in range(MOST_PASSES):
        changed = False
        for path, source in now.items():
            wanted = [f for f in fixable(found, unsafe) if f.location is not None and f.location.path == path]
            if not wanted or path in refused:
                continue
            try:
                made = mend(source, wanted)
            except NotFixed as error:
                refused[path] = str(error)
                continue
            # Two fixes that undo each other would go on for ever.
            if made is None or made.source.digest in seen[path]:
                continue
            seen[path].add(made.source.digest)
            now[path] = made.source
            counts[path] += len(made.applied)
            changed = True
        if not changed:
            break
        found = again(_with(sources, now))
    failures = _written(before, now, counts) if write else {}
    if failures:
        refused |= {path: str(error) for path, error in failures.items()}
        found = again(_with(sources, now))
    diff = "".join(_diff(before[path], now[path]) for path in now)
    notes = [f"not {'all ' * bool(counts[path])}fixed: {path}: {reason}" for path, reason in sorted(refused.items())]
    text = next(iter(now.values())).text if len(now) == 1 else None
    unwritten = any(isinstance(error, NotWritten) for error in failures.values())
    return Mending(_with(sources, now), found, sum(counts.values()), diff, text, notes, unwritten)


def _written(before: dict[str, SourceText], now: dict[str, SourceText], counts: dict[str, int]) -> dict[str, NotFixed]:
    """Writes every file that changed; why those were not that could not be, which then count as they were before."""
    failures: dict[str, NotFixed] = {}
    for path, source in list(now.items()):
        if source.digest == before[path].digest:
            continue
        try:
            write_source(source, before[path].digest)
        except NotFixed as error:
            failures[path], now[path], counts[path] = error, before[path], 0
    return failures


def _with(sources: Sources, now: dict[str, SourceText]) -> Sources:
    texts = replace(sources.texts, sources=list(now.values()))
    return replace(sources, texts=texts)


def _diff(old: SourceText, new: SourceText) -> str:
    """The changes as a patch; of a notebook those of each cell, as no line of its file is a line of source."""
    if old.digest == new.digest:
        return ""
    if old.notebook is None or new.notebook is None:
        return _changes(_lines(old.text), _lines(new.text), old.path)
    pairs = zip(old.notebook.cells, new.notebook.cells, strict=True)
    # That the last line of a cell has no end is no news: hardly one has.
    return "".join(
        _changes(_lines(f"{was.source}\n"), _lines(f"{now.source}\n"), f"{old.path}:cell {was.number}")
        for was, now in pairs
        if was.source != now.source
    )


def _changes(old: list[str], new: list[str], name: str) -> str:
    found = difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", lineterm="\n")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in found)


def _lines(text: str) -> list[str]:
    """The lines with their ends, which are `\\n` here whatever the file has."""
    return re.findall(r"[^\n]*\n|[^\n]+", text.replace("\r\n", "\n").replace("\r", "\n"))
