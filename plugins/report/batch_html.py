"""A row of a batch as one offline page. Every string from outside is escaped; nothing is loaded."""

from __future__ import annotations

from html import escape

from ...contracts.model import Role
from ..pipeline.batch import RowView
from .batch_text import LABELS
from .batch_words import facts, headline, pieces, ranges, visible
from .printable import one_line

SHOWN = 16_384
SHOWN_WITH_PIECES = 8_192
_PIECE = 12
_STYLE = """
:root { color-scheme: light dark; font: 14px/1.45 system-ui, sans-serif }
body { max-width: 90rem; margin: 2rem auto; padding: 0 1rem } h1 { font-size: 1.25rem }
.row { display: flex; flex-wrap: wrap; gap: 2px } .t { font: 11px/1.4 ui-monospace, monospace; padding: 2px 4px }
.t { border-top: 3px solid var(--c); background: #8881; min-width: 2.2rem; text-align: right } .t b { display: block }
.off { opacity: .45 } .seen { outline: 2px solid #2b6cd3 } .dim { opacity: .7 }
.legend { font: 11px/1.4 ui-monospace, monospace }
"""
_COLOURS = ("#2b6cd3", "#d38a2b", "#2b9a4a", "#a03cc8", "#c83c5a", "#2ba7a7")


def html(view: RowView) -> str:
    """The page: a box for each token, coloured by document, faint where its target does not count; under 2 MB."""
    title = _text(headline(view))
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{title}</title><style>{_STYLE}</style></head><body><h1>{title}</h1>",
        *(f"<p class=dim>{_text(line)}</p>" for line in facts(view)),
    ]
    if view.query is not None:
        parts.append(f"<p>{_text(visible(view))}</p>")
    roles: list[Role] = [role for role in LABELS if role in view.fields]
    texts = pieces(view, _PIECE)
    legend = ", ".join([*(["piece"] if texts else []), *(LABELS[role] for role in roles)])
    parts.append(f"<p class=legend>each box, top to bottom: column, {_text(legend)}; faint: not counted</p>")
    colour = {}
    for number, span in enumerate(view.spans):
        name = _COLOURS[number % len(_COLOURS)]
        colour.update(dict.fromkeys(range(span.start, span.stop), name))
        columns = ranges([(span.start, span.stop)])
        if number < 200:
            parts.append(f'<div class=legend style="color:{name}">segment {span.segment}: columns {columns}</div>')
    counted = {column for start, stop in view.counted for column in range(start, stop)}
    seen = {column for start, stop in view.visible for column in range(start, stop)}
    shown = min(view.facts.columns, SHOWN_WITH_PIECES if texts else SHOWN)
    parts.append("<div class=row>")
    for column in range(shown):
        marks = "t" + " off" * (column not in counted) + " seen" * (column in seen)
        values = f"<b>{_text(texts[column])}</b>" if texts else ""
        values += "".join(f"<b>{_text(f'{view.fields[role][column]:g}')}</b>" for role in roles)
        parts.append(f'<div class="{marks}" style="--c:{colour.get(column, "#8884")}">{column}{values}</div>')
    parts.append("</div>")
    if shown < view.facts.columns:
        parts.append(f"<p class=dim>and {view.facts.columns - shown:,} more columns; --format json has all</p>")
    return "\n".join([*parts, "</body></html>"]) + "\n"


def _text(text: str) -> str:
    return escape(one_line(text[:2_000]), quote=True)
