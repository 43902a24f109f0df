"""The report of `targets`: what this machine can compile for."""

from __future__ import annotations

import json

from ...contracts.model import format_bytes
from ..pipeline.machine import Machine, PlatformRow
from .text import DEFAULT_WIDTH
from .wrap import sentences

LABEL = " " * len("      targets  ")
LISTS = frozenset(("kinds", "found", "wanted"))


def render(found: Machine, form: str, width: int | None = None) -> str:
    """`text`, `json` or `markdown`; text is `width` columns wide, commands excepted."""
    if form == "json":
        return json.dumps(found.as_json(), indent=2) + "\n"
    ready = [row.platform for row in found.rows if row.readiness.ready]
    head = (
        f"This Python ({found.python}, {found.system} {found.machine}) can compile for {', '.join(ready) or 'nothing'}."
    )
    if form == "markdown":
        return "\n".join([head, "", *_table(found)]) + "\n"
    columns = width or DEFAULT_WIDTH
    blocks = ("\n".join(_fitted(line, columns) for line in _lines(row)) for row in found.rows)
    return "\n\n".join([sentences(head, columns), *blocks]) + "\n"


def _fitted(line: str, width: int) -> str:
    """A line of a label and what it says, which goes on below itself; a name and its figure stay together."""
    label, said = line[: len(LABEL)], line[len(LABEL) :]
    if not line.startswith(" "):
        return line
    if label.split()[0] not in LISTS:
        return label + sentences(said, width - len(LABEL)).replace("\n", f"\n{LABEL}")
    lines = [label]
    for item in said.replace(", ", ",\n").replace(": ", ":\n").splitlines():
        glue = "" if lines[-1] in (label, LABEL) else " "
        if glue and len(lines[-1]) + 1 + len(item) > width:
            lines.append(LABEL)
            glue = ""
        lines[-1] += glue + item
    return "\n".join(lines)


def _lines(row: PlatformRow) -> list[str]:
    state = ("ready" + ("" if row.executes else ", compiles only")) if row.readiness.ready else "MISSING"
    lines = [f"{row.platform:<5} {state}", f"      targets  {row.spelling}"]
    if row.kinds:
        lines.append(f"      kinds    {_kinds(row)}, in brackets what a program gets")
    if row.readiness.versions:
        lines.append(f"      found    {_versions(row.readiness.versions)}")
    if row.asked:
        lines.append(f"      wanted   {_versions(row.asked)}")
    if row.readiness.missing is not None:
        lines.append(f"      missing  {row.readiness.missing}")
        lines.append(f"      get it   {row.readiness.help}")
    return lines


def _table(found: Machine) -> list[str]:
    rows = ["| platform | state | targets | kinds | found |", "| --- | --- | --- | --- | --- |"]
    for row in found.rows:
        state = "ready" if row.readiness.ready else f"{row.readiness.missing}: {row.readiness.help}"
        rows.append(
            f"| {row.platform} | {state} | {row.spelling} | {_kinds(row)} | {_versions(row.readiness.versions)} |"
        )
    return rows


def _kinds(row: PlatformRow) -> str:
    return ", ".join(
        kind.name if kind.program_bytes is None else f"{kind.name} ({format_bytes(kind.program_bytes)})"
        for kind in row.kinds
    )


def _versions(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())
