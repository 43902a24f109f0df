"""One ledger in the format that was asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal

from ...contracts.errors import ContractLintError
from ...hlo_tools.collectives import CollectiveLedger
from ...hlo_tools.hotspots import HotSpots
from ...hlo_tools.memory import MemoryLedger
from ...hlo_tools.postmortem import PostMortem
from ...hlo_tools.roofline import Roofline
from ...hlo_tools.summary import SummaryLedger
from ...hlo_tools.tensors import TensorLedger
from .collectives import collectives_markdown, collectives_text
from .hot_spots import hot_spots_markdown, hot_spots_text
from .ledger_text import summary_text, tensors_text
from .markdown import escape
from .memory_text import memory_text
from .postmortem import postmortem_markdown, postmortem_text
from .roofline import roofline_markdown, roofline_text

Ledger = CollectiveLedger | MemoryLedger | TensorLedger | SummaryLedger | Roofline | PostMortem | HotSpots
LedgerFormat = Literal["text", "json", "markdown", "html"]

_TEXT: dict[type, Callable[[Any, int, bool], str]] = {
    CollectiveLedger: collectives_text,
    MemoryLedger: memory_text,
    TensorLedger: tensors_text,
    SummaryLedger: summary_text,
    Roofline: roofline_text,
    PostMortem: postmortem_text,
    HotSpots: hot_spots_text,
}


def render_ledger(ledger: Ledger, format: LedgerFormat = "text", width: int = 100, color: bool = False) -> str:
    """The ledger as text for a terminal of `width` columns, as JSON in its published shape, as Markdown or HTML.

    The same bytes for the same ledger, format, width and colour.
    """
    if format == "json":
        return json.dumps(ledger.as_json(), indent=2, ensure_ascii=False) + "\n"
    if format == "markdown":
        return markdown(ledger)
    if format == "html":
        return html(ledger)
    return _TEXT[type(ledger)](ledger, width, color)


def markdown(ledger: Ledger) -> str:
    """The ledger for a comment or a note."""
    from .ledger_markdown import memory_markdown, tensors_markdown

    views: dict[type, Callable[[Any], str]] = {
        CollectiveLedger: collectives_markdown,
        MemoryLedger: memory_markdown,
        TensorLedger: tensors_markdown,
        Roofline: roofline_markdown,
        PostMortem: postmortem_markdown,
        HotSpots: hot_spots_markdown,
    }
    if isinstance(ledger, SummaryLedger):
        parts = [f"### {ledger.module}: {ledger.instructions:,} instructions, {ledger.partitions:,} partitions\n"]
        if ledger.target is not None:
            parts.append(f"Compiled for {escape(ledger.target)} at effort {escape(str(ledger.effort))}.\n")
        parts.append(collectives_markdown(ledger.collectives))
        parts += [memory_markdown(ledger.memory)] if ledger.memory is not None else []
        return "\n".join(parts)
    return views[type(ledger)](ledger)


def html(ledger: Ledger) -> str:
    """The ledger as an offline page. Raises ContractLintError for one that has none."""
    from .memory_html import memory_html
    from .postmortem_html import postmortem_html

    if isinstance(ledger, MemoryLedger):
        return memory_html(ledger)
    if isinstance(ledger, PostMortem):
        return postmortem_html(ledger)
    raise ContractLintError("only memory has a page in HTML", help="choose text, json or markdown")
