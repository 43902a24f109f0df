"""`contract-lint check --why FILE:LINE`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..pipeline.settings import Settings


def explain_trace(
    place: str,
    paths: Sequence[str],
    settings: Settings,
    settings_of: Callable[[str], Settings],
    form: str,
    output: str | None,
) -> int:
    """Says why the function at a place is traced, as text or JSON; the exit code is 0."""
    from ..pipeline.why import why_traced
    from .output import folded, write

    if form not in ("text", "json"):
        raise click.UsageError("--why is said in --format text or json.")
    reasons = why_traced(place, paths, settings, settings_of)
    if form == "json":
        from ..report.json import dumps

        write(dumps({"schema_version": 1, "place": place, "why": reasons}), output)
    else:
        write("".join(folded(reason, "  ", err=False) + "\n" for reason in reasons), output)
    return 0
