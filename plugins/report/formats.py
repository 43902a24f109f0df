"""Every format by its name; only the one asked for is imported."""

from __future__ import annotations

from importlib import import_module

from ..pipeline.report import Report


def render(report: Report, form: str, width: int | None = None, color: bool = False) -> str:
    """The report as text, concise, json, sarif, github, gitlab, junit or markdown; `width` and `color` are for text."""
    if form == "text":
        from . import plain

        if plain.fits(report):
            return plain.render(report, width or plain.DEFAULT_WIDTH, color)
        from .text import DEFAULT_WIDTH
        from .text import render as as_text

        return as_text(report, width or DEFAULT_WIDTH, color)
    return import_module(f".{form}", __package__).render(report)
