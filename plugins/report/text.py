"""`--format text`: for people at a terminal. Verdict first, then findings folded by cause, then the tables."""

from __future__ import annotations

import io

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..pipeline.not_checked import NotChecked
from ..pipeline.report import Report, Root
from .aside import set_aside
from .coverage import coverage_table
from .plain import COLOURS, DEFAULT_WIDTH, Line, finding, statistics
from .printable import many_lines, one_line, place
from .text_tables import resolved_table, step_tables
from .verdict import consequences, headline, title, verdict
from .wrap import sentences


def render(report: Report, width: int = DEFAULT_WIDTH, color: bool = False) -> str:
    """The report as text, `width` columns wide; the same bytes for the same report, width and colour."""
    parts = _statistics(report) if report.statistics else [*_findings(report, width), *_tables(report, width)]
    return to_text(parts, width, color, first=_headline(report, width))


def to_text(parts: list[RenderableType], width: int, color: bool, first: Text | None = None) -> str:
    """Rich renderables as a string without trailing blanks; `first` is printed on the first line."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        legacy_windows=False,
        markup=False,
        highlight=False,
        emoji=False,
        _environ={},
    )
    for part in [*([] if first is None else [first]), *parts]:
        # Text that must not be wrapped (code to copy) runs over the edge; whoever reads it may widen the window.
        console.print(part, soft_wrap=isinstance(part, Text) and bool(part.no_wrap))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _headline(report: Report, width: int) -> Text:
    word = verdict(report)
    text = Text(sentences(headline(report), width), no_wrap=True)
    text.stylize({"PASS": "bold green", "FAIL": "bold white on red"}.get(word, "bold yellow"), 0, len(word))
    return text


def _statistics(report: Report) -> list[RenderableType]:
    return [_line(line) for line in statistics(report)]


def _line(pieces: Line) -> Text:
    """A line that is as long as it should be already."""
    return Text.assemble(*pieces, no_wrap=True)


def _findings(report: Report, width: int) -> list[RenderableType]:
    parts: list[RenderableType] = [part for each in report.not_checked for part in ("", _open(each))]
    # What fails nothing comes last, in the order of the report otherwise.
    for root in sorted(report.new_roots(), key=lambda root: root.finding.severity == "info"):
        if root.finding.location in report.excerpts:
            parts += ["", *map(_line, finding(root, report.excerpts, width))]
        else:
            parts += ["", _finding(root)]
    heading, lines = set_aside(report)
    if lines:
        parts += ["", Text(heading, style="dim")]
        parts += [Padding(Text(line, style="dim"), (0, 0, 0, 2)) for line in lines]
    return parts


def _open(each: NotChecked) -> RenderableType:
    """A target that was not checked, as a finding is shown."""
    head = Text.assemble(("not checked", "bold yellow"), (f" on {one_line(each.target)}", "bold"))
    body: list[RenderableType] = [head]
    body += [Padding(Text(one_line(str(each.location)), style="cyan"), (0, 0, 0, 2))] if each.location else []
    body += [Padding(Text(many_lines(each.message)), (0, 0, 0, 2))]
    body += [Padding(_rows([("help", many_lines(each.help))]), (0, 0, 0, 2))] if each.help else []
    return Group(*body)


def _rows(details: list[tuple[str, str]]) -> Table:
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="dim", no_wrap=True)
    rows.add_column(ratio=1)
    for label, value in details:
        rows.add_row(label, Text(value))
    return rows


def _finding(root: Root) -> RenderableType:
    finding = root.finding
    head = Text()
    head.append(finding.severity, style=COLOURS[finding.severity])
    head.append(f" {title(root)}", style="bold")
    if finding.confidence == "likely":
        head.append(" (likely)", style="dim")
    where = Text(_where(root), style="cyan")
    rows = _rows(_details(root))
    body: list[RenderableType] = [head]
    body += [Padding(where, (0, 0, 0, 2))] if where.plain else []
    body += [Padding(Text(many_lines(finding.message)), (0, 0, 0, 2))]
    body += [Padding(rows, (0, 0, 0, 2))] if rows.row_count else []
    return Group(*body)


def _where(root: Root) -> str:
    """`src/train.py:41:9  collectives.expect  %all-gather.3  step train on cpu:8`, as far as known."""
    finding = root.finding
    parts = [place(finding)]
    if finding.location is not None:
        parts += [finding.key or "", finding.instruction or ""]
    if finding.step is not None:
        parts.append(f"step {finding.step}" + (f" on {', '.join(finding.targets)}" if finding.targets else ""))
    return "  ".join(one_line(part) for part in parts if part)


def _details(root: Root) -> list[tuple[str, str]]:
    finding = root.finding
    rows = [("expected", finding.expected), ("found", finding.found)]
    rows += [("evidence" if number == 0 else "", text) for number, text in enumerate(finding.evidence)]
    folded = f"{consequences(root)} (each with its place: --format json)" if root.consequences else None
    rows += [("help", finding.help), ("folded", folded)]
    return [(label, many_lines(text)) for label, text in rows if text is not None]


def _tables(report: Report, width: int) -> list[RenderableType]:
    parts = [part for tables in report.tables for part in step_tables(tables, width)]
    if report.coverage is not None:
        parts += ["", coverage_table(report.coverage)]
    if report.resolved and report.verb == "check" and len(report.contracts) == 1 and not report.sources:
        parts += ["", resolved_table(report.resolved)]
    return parts
