"""A diff as one offline page, A and B side by side. Every string from outside is escaped; nothing is loaded."""

from __future__ import annotations

from ...hlo_tools.diff import Change
from ..pipeline.diff import Compared
from .diff_words import figures, headline, unit_of, value
from .page import page, path_text, text
from .printable import plural

SHOWN = 400
_TABLE = "<table><colgroup><col class=k><col><col></colgroup>"
_STYLE = """
col.k { width: 9rem }
.more { background: #d33a2c22 } .less { background: #2b9a4a22 }
.broken { color: #d33a2c; font-weight: 600 }
"""


def html(compared: Compared) -> str:
    """The page, under 3 MB however large the programs are."""
    diff = compared.diff
    parts: list[str] = []
    if diff.placement is not None and diff.placement.sentence:
        made = f" <span class=dim>{text(', '.join(diff.placement.made_by))}</span>" if diff.placement.made_by else ""
        parts.append(f"<p>{text(diff.placement.sentence)}{made}</p>")
    parts += [f"<p class=broken>threshold {text(b.threshold)}: {text(b.said)}</p>" for b in compared.broken]
    parts += [_TABLE, f"<tr><th></th><th>A {path_text(diff.a)}</th><th>B {path_text(diff.b)}</th></tr>"]
    for name, before, after, by in figures(diff) if diff.changes else ():
        change = f"{text(after)} <span class=dim>{text(by)}</span>"
        parts.append(f"<tr><th>{text(name)}</th><td>{text(before)}</td><td>{change}</td></tr>")
    parts.append("</table>")
    for heading, changes in (
        ("Causes", diff.roots),
        ("What follows", [change for change in diff.changes if not change.root]),
    ):
        if changes:
            parts += [f"<h2>{heading}</h2>", _TABLE]
            parts += [_change(change) for change in changes[:SHOWN]]
            parts.append("</table>")
            if len(changes) > SHOWN:
                parts.append(f"<p class=dim>{plural(len(changes) - SHOWN, 'more row')}; --format json has all.</p>")
    parts += [f"<p class=dim>{text(note)}</p>" for note in diff.notes]
    return page(headline(compared), _STYLE, parts)


def _change(change: Change) -> str:
    """One row over both sides that says what, one with each side's figure and line, one with the details."""
    delta = change.delta
    mark = "" if not delta else ' class="more"' if delta > 0 else ' class="less"'
    unit = text(unit_of(change))
    sides = "".join(
        f"<td{mark if side else ''}>{text(value(change, figure))} <span class=dim>{unit}</span>"
        f"<br><code>{path_text(source or '')}</code></td>"
        for side, (figure, source) in enumerate(((change.before, change.source_a), (change.after, change.source_b)))
    )
    what = text(change.subject or change.what)
    rows = f"<tr><th rowspan=2>{text(change.kind)}</th><td colspan=2>{what}{_details(change)}</td></tr>"
    return f"{rows}<tr>{sides}</tr>"


def _details(change: Change) -> str:
    return "".join(f'<div class="d">{text(line)}</div>' for line in change.details)
