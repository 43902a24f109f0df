"""The rules as a table, as JSON or as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from ...linters.rule import Rule
from .columns import Columns
from .json import dumps
from .markdown import escape
from .text import COLOURS, DEFAULT_WIDTH, to_text

WIDE = 100


def render(rules: Sequence[Rule], form: str, width: int | None = None, color: bool = False) -> str:
    """The catalogue in `text`, `json` or `markdown`, ordered by code."""
    if form == "json":
        return dumps({"schema_version": 1, "rules": [as_json(rule) for rule in rules]})
    if form == "markdown":
        rows = [f"| {r.code} | {escape(r.name)} | {r.severity} | {r.evidence} | {escape(_summary(r))} |" for r in rules]
        return (
            "\n".join(["| code | name | severity | evidence | what it finds |", "|---|---|---|---|---|", *rows]) + "\n"
        )
    width = width or DEFAULT_WIDTH
    columns = ("code", "name", "severity", *(("evidence",) if width >= WIDE else ()))
    table = Columns()
    for column in columns:
        table.add_column(column, no_wrap=True, style="bold" if column == "code" else None)
    table.add_column("what it finds", ratio=1)
    for rule in rules:
        severity = Text(rule.severity, style=COLOURS[rule.severity])
        table.add_row(rule.code, rule.name, severity, *((rule.evidence,) if width >= WIDE else ()), _summary(rule))
    return to_text([table], width, color, first=Text(f"{len(rules)} rules"))


def is_preview(rule: Rule) -> bool:
    """Whether the rule runs only when it is asked for."""
    return bool(getattr(rule, "preview", False))


def _summary(rule: Rule) -> str:
    return f"(preview) {rule.summary}" if is_preview(rule) else rule.summary


def as_json(rule: Rule) -> dict[str, str | bool]:
    """One rule as plain data, documentation included."""
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity,
        "confidence": rule.confidence,
        "evidence": rule.evidence,
        "preview": is_preview(rule),
        "summary": rule.summary,
        "doc": rule.doc.strip(),
    }
