"""Findings on source as text, with the code at fault. No table is needed for it, so it needs no `rich` either."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from ...contracts.finding import Finding, Location
from ..pipeline.report import Report, Root
from .aside import set_aside
from .printable import joined, many_lines, one_line, place
from .verdict import headline, title, verdict
from .wrap import sentences

Line = list[tuple[str, str]]
"""One line as pieces of text, each with a style."""

COLOURS = {"error": "bold red", "warning": "yellow", "info": "cyan"}
VERDICTS = {"PASS": "bold green", "FAIL": "bold white on red"}
_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
    "white": "37",
}
DEFAULT_WIDTH = 100
LEAST_SHOWN = 24
"""Columns of code that are shown however narrow the terminal is."""
CUT = "..."


def fits(report: Report) -> bool:
    """Whether there is nothing in the report but findings on source."""
    return not (report.tables or report.resolved or report.contracts or report.captures or report.coverage)


def render(report: Report, width: int, color: bool) -> str:
    """The report as text: the verdict, then what is new, then what was set aside."""
    word = verdict(report)
    first, *others = sentences(headline(report), width).split("\n")
    lines: list[Line] = [[(word, VERDICTS.get(word, "bold yellow")), (first[len(word) :], "")]]
    lines += [[(line, "")] for line in others]
    if report.statistics:
        lines += statistics(report)
    else:
        for root in sorted(report.new_roots(), key=lambda root: root.finding.severity == "info"):
            lines += [[], *finding(root, report.excerpts, width)]
        lines += _set_aside(report, width)
    return "".join(_written(line, color) + "\n" for line in lines)


def statistics(report: Report) -> list[Line]:
    """How often each rule fired, the most frequent first, and how many of its findings have a fix."""
    rows = report.counts()
    if not rows:
        return []
    digits = max(len(f"{each.count:,}") for each in rows)
    names = max(len(title(Root(each.findings[0]))) for each in rows)
    lines: list[Line] = [[]]
    for each in rows:
        named = title(Root(each.findings[0])).ljust(names)
        severity = (each.severity.ljust(7), COLOURS[each.severity])
        fixes = joined(
            f"{count:,} {kind} fix{'es' * (count > 1)}"
            for count, kind in ((each.safe, "safe"), (each.unsafe, "unsafe"))
            if count
        )
        lines.append([(f"{each.count:>{digits},}", "bold"), (f"  {named}  ", ""), severity, (f"  {fixes}", "dim")])
    return lines


def finding(root: Root, excerpts: Mapping[Location, Sequence[tuple[int, str]]], width: int) -> list[Line]:
    """One finding: what and where, the sentence, the code with what is at fault underlined, and what is known more."""
    found = root.finding
    lines: list[Line] = [
        [
            (found.severity, COLOURS[found.severity]),
            (f" {title(root)}", "bold"),
            (f" ({found.confidence})", "dim"),
        ]
    ]
    if place(found):
        lines.append([("  ", ""), (place(found), "cyan")])
    lines += [[("  " + line, "")] for line in sentences(many_lines(found.message), width - 2).split("\n")]
    if found.location is not None and (code := excerpts.get(found.location)):
        lines += _excerpt(code, found.location, width)
    return lines + _details(found, width)


def _details(found: Finding, width: int) -> list[Line]:
    rows = [("expected", found.expected), ("found", found.found)]
    rows += [("evidence" if number == 0 else "", text) for number, text in enumerate(found.evidence)]
    rows += [("help", found.help), ("fix", _fix(found))]
    shown = [(label, many_lines(text)) for label, text in rows if text is not None]
    widest = max((len(label) for label, _ in shown), default=0)
    lines: list[Line] = []
    for label, text in shown:
        for number, line in enumerate(sentences(text, width - widest - 4).split("\n")):
            lines.append([("  ", ""), ((label if number == 0 else "").ljust(widest), "dim"), ("  " + line, "")])
    return lines


def _fix(found: Finding) -> str | None:
    if found.fix is None:
        return None
    how = "--fix" if found.fix.safe else "--fix --unsafe-fixes, and read what it changes"
    return f"{found.fix.description} ({how})"


def _excerpt(code: Sequence[tuple[int, str]], at: Location, width: int) -> Iterator[Line]:
    """The lines of code, with a row of carets below the one where the place begins."""
    digits = max(len(str(number)) for number, _ in code)
    room = max(width - digits - 7, LEAST_SHOWN)
    # Long lines are cut on the left, all by as much, so that what is at fault is seen.
    at_fault = next((text for number, text in code if number == at.line), "")
    start = _column(at_fault, (at.column or 1) - 1)
    left = max(0, start - room // 2) if _column(at_fault, len(at_fault)) > room and start > room - LEAST_SHOWN else 0
    for number, text in code:
        yield [
            ("  ", ""),
            (f"{number:>{digits}} | ", "dim"),
            (_window(text, left, room), ""),
        ]
        if number == at.line and at.column is not None:
            ends_here = at.end_line in (None, at.line) and at.end_column is not None
            last = _column(text, (at.end_column or 1) - 1 if ends_here else len(text.rstrip()))
            carets = "^" * max(1, min(last, left + room) - start)
            yield [("  ", ""), (" " * digits + " | ", "dim"), (" " * (start - left) + carets, "bold red")]


def _column(text: str, index: int) -> int:
    """The columns that the first characters of a line take, tabs and wide characters counted as they are shown."""
    return sum(map(_cells, text[:index]))


def _cells(character: str) -> int:
    if " " <= character < "\x7f":
        return 1
    written = _character(character)
    if len(written) > 1:
        return len(written)
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _window(text: str, left: int, room: int) -> str:
    """The part of a line that is shown, with dots where it was cut."""
    begin = index = 0
    while index < left and begin < len(text):
        index += _cells(text[begin])
        begin += 1
    line = _flat(text[begin : begin + room + 1].rstrip("\r\n"))
    line = CUT + line[len(CUT) :] if left else line
    return (line[: room - len(CUT)] + CUT if len(line) > room else line).rstrip()


def _flat(text: str) -> str:
    """Code on one line, every column kept."""
    return "".join(map(_character, text))


def _character(character: str) -> str:
    """A character as it can be printed: a control character as its escape, a line break or tab as blanks."""
    return "    " if character == "\t" else one_line(f"|{character}|")[1:-1]


def _set_aside(report: Report, width: int) -> Iterator[Line]:
    heading, aside = set_aside(report)
    if aside:
        yield []
        yield [(heading, "dim")]
    for each in aside:
        for line in sentences(each, width - 2, "  ").split("\n"):
            yield [("  " + line, "dim")]


def _written(line: Line, color: bool) -> str:
    if not color:
        return "".join(text for text, _ in line).rstrip()
    return "".join(f"\x1b[{_ansi(style)}m{text}\x1b[0m" if style and text.strip() else text for text, style in line)


def _ansi(style: str) -> str:
    words = style.replace("on red", "on-red").split()
    return ";".join("41" if word == "on-red" else _CODES[word] for word in words)
