"""One diff in the format that was asked for; only that view is imported."""

from __future__ import annotations

import json

from ..pipeline.diff import Compared
from .diff_words import headline


def render_diff(compared: Compared, form: str = "text", width: int = 100, color: bool = False) -> str:
    """The diff as text for a terminal of `width` columns, Markdown, JSON in its published shape, or one HTML page.

    The same bytes for the same diff, format, width and colour.
    """
    if form == "json":
        said = compared.diff.as_json()
        said["threshold"] = compared.thresholds
        said["broken"] = [{"threshold": each.threshold, "said": each.said} for each in compared.broken]
        return json.dumps(said, indent=2, ensure_ascii=False) + "\n"
    if form == "markdown":
        from .diff_markdown import markdown

        return markdown(compared)
    if form == "html":
        from .diff_html import html

        return html(compared)
    from .diff_text import text

    return text(compared, width, color)


__all__ = ["headline", "render_diff"]
