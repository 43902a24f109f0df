"""A diff as one offline page, A and B side by side. Every string from outside is escaped; nothing is loaded."""

from __future__ import annotations

from html import escape

from ...hlo_tools.diff import Change
from ..pipeline.diff import Compared
from .diff_words import figures, headline, value
from .printable import one_line, plural

SHOWN = 400
_TABLE = "<table><colgroup><col class=k><col><col></colgroup>"
_STYLE = """
:root { color-scheme: light dark; font: 14px/1.45 system-ui, sans-serif }
body { max-width: 76rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.25rem } h2 { font-size: 1.05rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100%; table-layout: fixed }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; overflow-wrap: anywhere }
th, td { border-bottom: 1px solid #8885 }
col.k { width: 9rem } code, .d { font: 12px/1.5 ui-monospace, monospace } .d { opacity: .8 }
.more { background: #d33a2c22 } .less { background: #2b9a4a22 } .dim { opacity: .7 }
.broken { color: #d33a2c; font-weight: 600 }
"""


def html(compared: Compared) -> str:
    """The page, under 3 MB however large the programs are."""
    diff = compared.diff
    title = _text(headline(compared))
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{title}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{title}</h1>",
    ]
    if diff.placement is not None and diff.placement.sentence:
        made = f" <span class=dim>{_text(', '.join(diff.placement.made_by))}</span>" if diff.placement.made_by else ""
        parts.append(f"<p>{_text(diff.placement.sentence)}{made}</p>")
    parts += [f"<p class=broken>threshold {_text(b.threshold)}: {_text(b.said)}</p>" for b in compared.broken]
    parts += [_TABLE, f"<tr><th></th><th>A {_text(diff.a)}</th><th>B {_text(diff.b)}</th></tr>"]
    for name, before, after, by in figures(diff) if diff.changes else ():
        change = f"{_text(after)} <span class=dim>{_text(by)}</span>"
        parts.append(f"<tr><th>{_text(name)}</th><td>{_text(before)}</td><td>{change}</td></tr>")
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
    parts += [f"<p class=dim>{_text(note)}</p>" for note in diff.notes]
    return "\n".join([*parts, "</body></html>"]) + "\n"


def _change(change: Change) -> str:
    """One row over both sides that says what, one with each side's figure and line, one with the details."""
    delta = change.delta
    mark = "" if not delta else ' class="more"' if delta > 0 else ' class="less"'
    unit = _text(change.unit)
    sides = "".join(
        f"<td{mark if side else ''}>{_text(value(change, figure))} <span class=dim>{unit}</span>"
        f"<br><code>{_text(source or '')}</code></td>"
        for side, (figure, source) in enumerate(((change.before, change.source_a), (change.after, change.source_b)))
    )
    rows = f"<tr><th rowspan=2>{_text(change.kind)}</th><td colspan=2>{_text(change.what)}{_details(change)}</td></tr>"
    return f"{rows}<tr>{sides}</tr>"


def _details(change: Change) -> str:
    return "".join(f'<div class="d">{_text(line)}</div>' for line in change.details)


def _text(text: str) -> str:
    """One line of at most 2,000 characters, escaped for text and attribute alike."""
    return escape(one_line(text[:2_000]), quote=True)
