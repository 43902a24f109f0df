"""Fixes applied to text: whole fixes that do not touch each other, checked to parse, written so that nothing is lost.

A fix is applied with all of its edits or not at all. What overlaps waits for the next pass, when the file has been
checked again. A text that no longer parses is never kept.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ...contracts.finding import Edit, Finding
from ..rewrite import rewrite
from .notebook import Notebook, Unwritable, edited, read_notebook
from .read import read_bytes
from .text import SourceText, Unreadable, digest_of

MOST_PASSES = 10
"""Rounds of checking and fixing; two are what even entangled fixes need."""

Span = tuple[int, int, str]
"""An edit in the text: start and end offset, and what stands there afterwards."""


@dataclass(frozen=True, slots=True)
class Mended:
    """A text with fixes applied, and the findings that they were for."""

    source: SourceText
    applied: tuple[Finding, ...]


class NotFixed(Exception):
    """Why a fix was not applied, or a file not written: one clause."""


class NotFixable(NotFixed):
    """No fix can be applied to this file."""


class NotWritten(NotFixed):
    """The file system does not let the file be written: what was asked for cannot be done."""


def fixable(findings: Iterable[Finding], unsafe: bool) -> list[Finding]:
    """New findings with a fix that may be applied."""
    return [
        finding
        for finding in findings
        if finding.fix is not None and finding.fix.edits and finding.status == "new" and (unsafe or finding.fix.safe)
    ]


def mend(source: SourceText, findings: Sequence[Finding]) -> Mended | None:
    """The text with the fixes of as many of the findings as go together; None where none can be applied.

    Raises NotFixed where a reason is known why none can be.
    """
    chosen = [finding for finding, _ in _together(source, findings)]
    if not chosen:
        return None
    reasons: list[NotFixed] = []

    def tried(wanted: list[Finding]) -> SourceText | None:
        try:
            return _applied(source, wanted)
        except NotFixable:
            raise
        except NotFixed as error:
            reasons.append(error)
            return None

    together = tried(chosen)
    if together is not None:
        return Mended(together, tuple(chosen))
    # One of them breaks the file: then they go in one by one, and those that break it stay out.
    kept: list[Finding] = []
    best: SourceText | None = None
    for finding in chosen:
        made = tried([*kept, finding])
        if made is not None:
            kept.append(finding)
            best = made
    if best is None and reasons:
        raise reasons[0]
    return None if best is None else Mended(best, tuple(kept))


def _together(source: SourceText, findings: Sequence[Finding]) -> list[tuple[Finding, list[Span]]]:
    """Findings, in the order of their edits, none of which touches what another one changes."""
    wanted = []
    for finding in findings:
        spans = [_span(source, edit) for edit in finding.fix.edits] if finding.fix is not None else []
        if spans and None not in spans:
            wanted.append((finding, sorted(span for span in spans if span is not None)))
    wanted.sort(key=lambda entry: entry[1])
    taken: set[Span] = set()
    chosen = []
    for finding, spans in wanted:
        # The same edit twice (an import that two fixes add) is one edit.
        if all(span in taken or not any(_touch(span, other) for other in taken) for span in spans):
            taken.update(spans)
            chosen.append((finding, spans))
    return chosen


def _touch(one: Span, other: Span) -> bool:
    if one[0] == one[1] or other[0] == other[1]:
        return one[0] <= other[1] and other[0] <= one[1]
    return one[0] < other[1] and other[0] < one[1]


def _span(source: SourceText, edit: Edit) -> Span | None:
    """The edit in offsets; None for one of another file, or of a place that is not there."""
    place = edit.location
    if place.path != source.path or place.line is None or place.column is None:
        return None
    end_line = place.line if place.end_line is None else place.end_line
    end_column = place.column if place.end_column is None else place.end_column
    start, end = source.offset(place.line, place.column), source.offset(end_line, end_column)
    return None if start is None or end is None or end < start else (start, end, edit.text)


def _applied(source: SourceText, findings: Sequence[Finding]) -> SourceText | None:
    """The text after the fixes of all these; None where it does not parse, or cannot be written in its encoding."""
    edits = {edit for finding in findings if finding.fix is not None for edit in finding.fix.edits}
    if source.notebook is not None:
        if any(finding.fix is not None and finding.fix.needs for finding in findings):
            raise NotFixed("a fix needs an import, and which cell that belongs into is yours to say")
        return _notebook(source, source.notebook, edits)
    text = source.text
    spans = {span for edit in edits if (span := _span(source, edit)) is not None}
    for start, end, new in sorted(spans, reverse=True):
        text = text[:start] + new.replace("\r\n", "\n").replace("\n", source.newline) + text[end:]
    needed = _listed(fix.needs for finding in findings if (fix := finding.fix) is not None)
    unused = _listed(fix.leaves for finding in findings if (fix := finding.fix) is not None)
    if needed or unused:
        from .imports import with_imports

        imported = with_imports(text, needed, unused) if parses(text) else None
        if imported is None:
            return None
        text = imported
    try:
        content = _bytes(source, text)
    except UnicodeEncodeError:
        return None  # the file's own encoding lacks a character of the fix
    return replace(source, text=text, digest=digest_of(content), state=None) if parses(text) else None


def _notebook(source: SourceText, notebook: Notebook, edits: Iterable[Edit]) -> SourceText | None:
    try:
        raw = edited(notebook, edits)
        made, broken = read_notebook(raw.encode("utf-8"), source.path, source.file)
    except Unwritable as error:
        raise NotFixable(error.reason) from error
    except Unreadable as error:
        raise NotFixed(error.reason) from error
    before = {finding.subject for finding in read_notebook(notebook.raw.encode("utf-8"), source.path)[1]}
    return None if any(finding.subject not in before for finding in broken) else made


def _listed(groups: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for group in groups for each in group))


def parses(text: str) -> bool:
    """Whether Python can read the text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def write_source(source: SourceText, before: str) -> None:
    """The file with its new text, in its own encoding; links, mode and owner stay (see `rewrite`).

    `before` is the digest of the content that the fixes were made for. Raises NotFixed where the file has changed
    since, and NotWritten where it cannot be written.
    """
    path = source.file or source.path
    content = source.notebook.raw.encode("utf-8") if source.notebook is not None else _bytes(source, source.text)
    try:
        now = digest_of(read_bytes(path)[0])
        if now == digest_of(content):
            return  # under another name of the same file
        if now != before:
            raise NotFixed("the file has changed while it was checked")
        rewrite(path, content)
    except (OSError, Unreadable) as error:
        raise NotWritten(f"the file cannot be written: {getattr(error, 'strerror', None) or error}") from error


def _bytes(source: SourceText, text: str) -> bytes:
    return (b"\xef\xbb\xbf" if source.bom else b"") + text.encode(source.encoding)
