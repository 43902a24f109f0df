"""The edit that writes the new name of something in the place of its old one."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from ...contracts.finding import Edit, Fix, Location
from .pattern import Pattern
from .records import Mention
from .removals import Allowed, Removal

if TYPE_CHECKING:
    from .facts import FileFacts

LOADED = ("jax.extend", "jax.export", "jax.experimental", "jax.example_libraries", "jax.scipy")
"""Modules that `import jax` alone does not load in every version."""


_NAMES = Pattern(r"(?P<closed>(?:\s*\))*)[\s\\]*\.[\w.\s\\]*")
"""The names behind one that stays as it is, maybe in parentheses, which close before them."""


def renamed(facts: FileFacts, mention: Mention, removal: Removal, versions: Allowed) -> Fix | None:
    """A rewrite to the new name, where it means the same and every declared version has it."""
    if not removal.same or (removal.since and versions.lowest and not versions.always(removal.since)):
        return None
    if mention.how == "import":
        edit = _import_edit(facts, mention, removal)
    else:
        edit = _attribute_edit(facts, mention, removal)
    return Fix(f"use {removal.new}", (edit,), safe=True) if edit is not None else None


def _attribute_edit(facts: FileFacts, mention: Mention, removal: Removal) -> Edit | None:
    """`jnp.row_stack` becomes `jnp.vstack`: what the new name shares with the old one stays as it is written."""
    node, known = mention.node, removal.name
    if removal.is_module or removal.new.startswith(LOADED):
        return None
    inner: ast.AST = node
    while isinstance(inner, ast.Attribute):
        known = known.rpartition(".")[0]
        inner = inner.value
        if removal.new.startswith(f"{known}."):
            start, end = facts.location(inner), facts.location(node)
            place = Location(facts.path, start.end_line, start.end_column, end.end_line, end.end_column)
            written = _NAMES.fullmatch(facts.source.between(place))
            if written is None:
                return None  # a comment would be lost, or a parenthesis that closes between the names
            line, column = start.end_line or 1, start.end_column or 1
            *above, last = written["closed"].split("\n")
            column = len(last) + 1 if above else column + len(last)
            return Edit(replace(place, line=line + len(above), column=column), removal.new[len(known) :])
    return None


def _import_edit(facts: FileFacts, mention: Mention, removal: Removal) -> Edit | None:
    """The import of the new name under the old one; what else the statement imports stays, on a line of its own."""
    statement, alias = mention.statement, mention.node
    if not isinstance(alias, ast.alias) or statement is None or statement.lineno != statement.end_lineno:
        return None
    if isinstance(statement, ast.Import):
        if alias.asname is None or alias.name != removal.name:
            return None
        return Edit(facts.location(alias), f"{removal.new} as {alias.asname}")
    if not isinstance(statement, ast.ImportFrom) or statement.level:
        return None
    if removal.is_module and statement.module == removal.name:
        names = ", ".join(each.name + (f" as {each.asname}" if each.asname else "") for each in statement.names)
        return Edit(facts.location(statement), f"from {removal.new} import {names}")
    if f"{statement.module}.{alias.name}" != removal.name:
        return None
    module, _, name = removal.new.rpartition(".")
    bound = alias.asname or alias.name
    renamed = f" as {bound}" if bound != name else ""
    others = [
        each.name + (f" as {each.asname}" if each.asname else "") for each in statement.names if each is not alias
    ]
    if not module or (others and not _has_its_line(facts, statement)):
        return None
    lines = [f"from {module} import {name}{renamed}"]
    if others:
        indent = facts.source.lines[statement.lineno - 1][: statement.col_offset]
        lines.append(f"{indent}from {statement.module} import {', '.join(others)}")
    return Edit(facts.location(statement), "\n".join(lines))


def _has_its_line(facts: FileFacts, statement: ast.stmt) -> bool:
    """Whether only its indentation stands before a statement on its line, and nothing but a comment behind it."""
    data = facts.source.lines[statement.lineno - 1].encode("utf-8", "surrogatepass")
    before, behind = data[: statement.col_offset], data[statement.end_col_offset :].strip()
    return not before.strip(b" \t") and (not behind or behind.startswith(b"#"))
