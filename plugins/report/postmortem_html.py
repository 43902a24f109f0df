"""A compiler's out-of-memory report as one offline page. Every string from outside is escaped."""

from __future__ import annotations

from ...contracts.model import format_bytes
from ...hlo_tools.postmortem import PostMortem, advice
from .page import page, text
from .postmortem import sums, verdict
from .printable import plural

SHOWN = 400
_STYLE = "td.n, th.n { text-align: right; white-space: nowrap }"


def postmortem_html(report: PostMortem) -> str:
    """The page: what was reported, and of each buffer what would shrink it."""
    parts: list[str] = []
    reported = sums(report)
    if reported:
        parts.append("<table><tr><th>as reported</th><th class=n>bytes</th></tr>")
        for name, size in reported:
            parts.append(f"<tr><td>{text(name)}</td><td class=n>{text(format_bytes(size))}</td></tr>")
        parts.append("</table>")
    if report.buffers:
        parts += _buffers(report)
    return page(verdict(report), _STYLE, parts)


def _buffers(report: PostMortem) -> list[str]:
    parts = [f"<h2>{plural(len(report.buffers), 'buffer')}</h2><table>"]
    parts.append("<tr><th>shape</th><th>what, where</th><th class=n>bytes</th><th>what would shrink it</th></tr>")
    for buffer in sorted(report.buffers, key=lambda each: -(each.bytes or 0))[:SHOWN]:
        size = "-" if buffer.bytes is None else format_bytes(buffer.bytes)
        where = buffer.scope or buffer.source or buffer.label
        helps = "<br>".join(text(f"{each.text} (frees {format_bytes(each.frees)})") for each in advice(buffer))
        parts.append(
            f"<tr><td><code>{text(buffer.shape or '-')}</code></td><td>{text(buffer.kind)}<br>"
            f"<span class=dim>{text(where)}</span></td><td class=n>{text(size)}</td><td>{helps}</td></tr>"
        )
    return [*parts, "</table>"]
