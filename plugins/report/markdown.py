"""`--format markdown`: a pull-request comment. Verdict for each target, details folded, under GitHub's size limit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from ...contracts.model import format_bytes
from ...linters.checkpoint.coverage import Coverage
from ..pipeline.not_checked import NotChecked
from ..pipeline.report import Report, Root
from ..pipeline.tables import ForecastTable, StepTables
from .cells import ESTIMATE, axes, beside, bytes_or_dash, compared, mesh, number, peak_label, versus
from .coverage import coverage_rows
from .forecast import forecast_rows, sources, statements
from .meaning import COLUMNS, LOSS_COLUMNS, loss_rows, term_rows
from .printable import cut, one_line, place, plural, sentence
from .verdict import consequences, counts, headline, reason, title, verdict

MAX_CHARACTERS = 60_000
FIELD_CHARACTERS = 1_500
ROW_CHARACTERS = 300
SHOWN_ROWS = 40
_RESERVE = 200
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$&])")
_MENTION = re.compile(r"@(?=\w)")
_LINK = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)")


def render(report: Report) -> str:
    """The comment. Whatever does not fit is counted in the last line, never cut in the middle."""
    parts: list[Callable[[], str]] = [lambda: f"### {escape(headline(report))}"]
    if len(report.targets) + len(report.not_checked) > 1:
        parts.append(partial(_verdicts, report))
    parts += [partial(_open, each) for each in report.not_checked]
    parts += [partial(_finding, root) for root in report.new_roots()]
    aside = [root for root in report.roots() if root.finding.status != "new"]
    if aside:
        parts.append(partial(_set_aside, aside))
    parts += [partial(_step, tables) for tables in report.tables]
    if report.coverage is not None:
        parts.append(partial(_coverage, report.coverage))
    return _within(parts)


def escape(text: str) -> str:
    """One line of text in which nothing is Markdown, HTML, a mention, an issue reference or a link."""
    line = _SPECIAL.sub(r"\\\1", one_line(text)).replace("\\&", "&amp;").replace("\\<", "&lt;").replace("\\>", "&gt;")
    return _LINK.sub("\u200b", _MENTION.sub("@\u200b", line))


def code(text: str) -> str:
    """One line as code, not for table cells: the fence is longer than any run of backticks inside."""
    line = one_line(text)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}" if line else ""


def _within(parts: Sequence[Callable[[], str]]) -> str:
    """The parts that fit, each made when its turn comes, so that ten thousand findings cost no more than the first."""
    used, kept = 0, []
    for position, part in enumerate(parts):
        text = part()
        if used + len(text) + 2 > MAX_CHARACTERS - _RESERVE:
            left = plural(len(parts) - position, "part")
            kept.append(f"_{left} left out to fit a comment; `--format text` shows all._")
            break
        kept.append(text)
        used += len(text) + 2
    return "\n\n".join(kept) + "\n"


def _verdicts(report: Report) -> str:
    """One row for each target that was asked for, over the findings that name it or none."""
    rows = []
    for target in report.targets:
        roots = [root for root in report.new_roots() if target in root.finding.targets or not root.finding.targets]
        findings = tuple(root.finding for root in roots)
        here = Report(verb=report.verb, subject=target, findings=findings, fail_on=report.fail_on)
        rows.append((escape(target), verdict(here), escape(counts(here))))
    rows += [(escape(each.target), "not checked", "") for each in report.not_checked]
    return _table(("target", "verdict", "findings"), rows)


def _open(each: NotChecked) -> str:
    lines = [escape(cut(line, FIELD_CHARACTERS)) for line in reason(each).splitlines()]
    return "<br>\n".join([f"**not checked** on {code(each.target)}", *lines])


def _set_aside(roots: Sequence[Root]) -> str:
    shown = _list(map(_aside, roots[:SHOWN_ROWS]))
    more = f"\n\n_{plural(len(roots) - SHOWN_ROWS, 'more finding')}._" if len(roots) > SHOWN_ROWS else ""
    return _folded(f"{plural(len(roots), 'finding')} set aside", shown + more)


def _finding(root: Root) -> str:
    finding = root.finding
    where = place(finding)
    head = f"**{finding.severity}** {code(title(root))}" + (f" at {code(cut(where, ROW_CHARACTERS))}" if where else "")
    rows = [("expected", finding.expected), ("found", finding.found), ("help", finding.help)]
    items = [f"{label}: {escape(cut(text, FIELD_CHARACTERS))}" for label, text in rows if text is not None]
    items += (
        [f"step {code(finding.step)} on {escape(', '.join(finding.targets))}"]
        if finding.step and finding.targets
        else []
    )
    items += [f"folded: {escape(cut(consequences(root), FIELD_CHARACTERS))}"] if root.consequences else []
    items += [f"evidence: {escape(cut(text, ROW_CHARACTERS))}" for text in finding.evidence[:SHOWN_ROWS]]
    body = f"\n\n{_folded('details', _list(items))}" if items else ""
    return f"{head}<br>\n{escape(sentence(cut(finding.message, FIELD_CHARACTERS)))}{body}"


def _aside(root: Root) -> str:
    said = cut(f"{place(root.finding)}: {one_line(root.finding.message)}", ROW_CHARACTERS)
    return f"{root.finding.status} {code(title(root))} {escape(said)}"


def _step(tables: StepTables) -> str:
    name = f"{tables.target}, step {tables.step}: {plural(tables.devices, 'device')}, mesh {mesh(tables.mesh)}"
    parts = []
    if tables.collectives:
        rows = [
            (
                escape(row.kind),
                escape(axes(row.axes)),
                versus(row.plan_count, row.partitioned_count),
                versus(row.plan_elements, row.partitioned_elements),
                bytes_or_dash(row.partitioned_ring_bytes),
                f"{number(row.optimized_count)} / {bytes_or_dash(row.optimized_ring_bytes)}",
                row.verdict,
            )
            for row in tables.collectives[:SHOWN_ROWS]
        ]
        parts.append(_table(("collective", "axes", "count", "elements", "ring", "as run", ""), rows))
        parts += (
            [f"_{plural(len(tables.collectives) - SHOWN_ROWS, 'more row')}._"]
            if len(tables.collectives) > SHOWN_ROWS
            else []
        )
    parts += [escape(cut(note, ROW_CHARACTERS)) for note in (tables.plan_note, tables.not_judged) if note]
    if tables.memory is not None:
        memory = tables.memory
        rows = [("must fit", format_bytes(memory.need_bytes), bytes_or_dash(memory.hbm_bytes))]
        if memory.peak_bytes is not None:
            rows.append((peak_label(memory.peak_bytes, memory.need_bytes), format_bytes(memory.peak_bytes), ""))
        if memory.state_bytes is not None:
            rows.append(("state", format_bytes(memory.state_bytes), bytes_or_dash(memory.state_plan_bytes)))
            if memory.state_stored_bytes is not None and memory.state_stored_bytes != memory.state_bytes:
                rows.append(("state stored in tiles", beside(memory.state_stored_bytes, memory.state_bytes), ""))
        rows += [
            (escape(cls), format_bytes(size), bytes_or_dash(limit)) for cls, size, limit in memory.by_class[:SHOWN_ROWS]
        ]
        parts.append(_table(("memory per device", "bytes", "promise"), rows))
        parts += [escape(ESTIMATE)] if memory.standing == "estimate" else []
    if tables.tensors:
        rows = [
            (
                escape(row.cls),
                f"{row.count:,}",
                format_bytes(row.bytes),
                bytes_or_dash(row.plan_bytes),
                format_bytes(row.replicated_bytes),
            )
            for row in tables.tensors
        ]
        parts.append(_table(("tensors", "count", "bytes per device", "plan", "replicated"), rows))
    if tables.forecast is not None:
        parts += _forecast(tables.forecast)
    if tables.run is not None:
        run = tables.run
        parts.append(
            f"Run of {plural(run.steps, 'step')}: {plural(len(run.compiles), 'compile')}, "
            f"{plural(len(run.transfers), 'host transfer')}"
            + (f", worst ratio {run.worst:.3g} (at most 1 is clean)" if run.worst is not None else "")
        )
        shown, hidden = compared(run.comparisons, 8)
        rows = [
            (escape(cut(row.path, ROW_CHARACTERS)), row.role, "-" if row.ratio is None else f"{row.ratio:.3g}")
            for row in shown
        ]
        parts += [_table(("against one device", "role", "ratio"), rows[:SHOWN_ROWS])] if rows else []
        parts += [f"_{plural(len(hidden), 'more comparison')} with smaller ratios._"] if hidden else []
        parts += [
            f"not compared: {escape(cut(f'{what} ({why})', ROW_CHARACTERS))}"
            for what, why in run.not_compared[:SHOWN_ROWS]
        ]
    if tables.meaning is not None:
        title = f"term in {escape(tables.meaning.precision)}"
        parts.append(_table((title, *COLUMNS), term_rows(tables.meaning, escape)[:SHOWN_ROWS]))
        parts += [f"_{plural(len(tables.meaning.terms) - SHOWN_ROWS, 'more row')}._"] * (
            len(tables.meaning.terms) > SHOWN_ROWS
        )
        parts.append(_table(LOSS_COLUMNS, loss_rows(tables.meaning)))
    return _folded(name, "\n\n".join(parts) or "No table.")


def _coverage(coverage: Coverage) -> str:
    columns, rows = coverage_rows(coverage)
    cells = [[escape(cut(cell, ROW_CHARACTERS)) for cell in row] for row in rows[:SHOWN_ROWS]]
    return _folded("slots", _table(columns, cells))


def _forecast(forecast: ForecastTable) -> list[str]:
    """The bound by resource, then what it says and what it rests on."""
    rows = [tuple(escape(cell) for cell in row) for row in forecast_rows(forecast)[:SHOWN_ROWS]]
    columns = ("forecast per device: a bound", "needs", "peak rate", "at least", "")
    said = [f"- {escape(cut(line, ROW_CHARACTERS))}" for line in statements(forecast, as_run=True)]
    rests = [f"- {escape(cut(line, ROW_CHARACTERS))}" for line in (*forecast.assumptions, *sources(forecast))]
    parts = [_table(columns, rows)] if rows else []
    return [*parts, "\n".join(said), _folded("what the forecast rests on", "\n".join(rests))]


def _folded(summary: str, body: str) -> str:
    plain = one_line(summary).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    plain = _MENTION.sub("@\u200b", plain)
    return f"<details><summary>{plain}</summary>\n\n{body}\n\n</details>"


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows)])
