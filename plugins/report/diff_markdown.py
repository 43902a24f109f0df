"""A diff for a pull-request comment: the cause, the figures, and the rest behind a fold."""

from __future__ import annotations

from ...hlo_tools.diff import Change
from ..pipeline.diff import Compared
from .diff_words import effects, figures, headline, lines, moved, peak, value
from .ledger_markdown import table
from .markdown import MAX_CHARACTERS, ROW_CHARACTERS, escape
from .printable import cut, plural

SHOWN_CAUSES = 5
SHOWN_EFFECTS = 10
SHOWN_DETAILS = 4


def markdown(compared: Compared) -> str:
    """At most some 50 lines and MAX_CHARACTERS; what does not fit is counted."""
    diff = compared.diff
    parts = [f"### {_cell(headline(compared))}", f"`A` {_cell(diff.a)}, `B` {_cell(diff.b)}"]
    if diff.placement is not None and diff.placement.sentence:
        made = f"; made with {', '.join(diff.placement.made_by)}" if diff.placement.made_by else ""
        parts.append(f"**{_cell(diff.placement.sentence)}**{_cell(made)}")
    if compared.broken:
        parts.append("\n".join(f"- threshold **{_cell(b.threshold)}**: {_cell(b.said)}" for b in compared.broken))
    elif compared.thresholds is not None:
        parts.append(f"kept: {_cell(compared.thresholds)}")
    rows = figures(diff) if diff.changes else []
    if rows:
        parts.append(table(("figure", "A", "B", "change"), [tuple(map(_cell, row)) for row in rows]))
    causes, following = diff.roots, effects(diff)
    if causes:
        parts.append("\n".join([*map(_cause, causes[:SHOWN_CAUSES]), *_left(len(causes) - SHOWN_CAUSES, "cause")]))
    buffers = peak(diff)[:SHOWN_DETAILS]
    if buffers:
        parts.append(f"At the peak: {'; '.join(map(_cell, buffers))}")
    if following:
        rows = [
            (
                change.kind,
                _cell(change.subject or change.what),
                _cell(value(change, change.before)),
                _cell(value(change, change.after)),
            )
            for change in following[:SHOWN_EFFECTS]
        ]
        left = "\n".join(_left(len(following) - SHOWN_EFFECTS, "consequence"))
        inner = table(("kind", "what follows", "A", "B"), rows) + (f"\n\n{left}" if left else "")
        parts.append(f"<details><summary>{plural(len(following), 'consequence')}</summary>\n\n{inner}\n\n</details>")
    parts += [f"_{_cell(note)}_" for note in diff.notes]
    return _within(parts)


def _cause(change: Change) -> str:
    where = lines(change)
    places = f" ({_cell(where)})" if " -> " in where else ""
    detail = "; ".join(_cell(text) for text in change.details[:SHOWN_DETAILS])
    return f"- **{change.kind}**: {_cell(change.what)}{places}: {_cell(moved(change))}" + (
        f"; {detail}" if detail else ""
    )


def _cell(text: str) -> str:
    return escape(cut(text, ROW_CHARACTERS))


def _left(count: int, noun: str) -> list[str]:
    return [f"_{plural(count, f'more {noun}')}; `--format json` has all._"] if count > 0 else []


def _within(parts: list[str]) -> str:
    used, kept = 0, []
    for part in parts:
        if used + len(part) + 2 > MAX_CHARACTERS:
            kept.append("_The rest is left out to fit a comment; `--format text` shows it._")
            break
        kept.append(part)
        used += len(part) + 2
    return "\n\n".join(kept) + "\n"
