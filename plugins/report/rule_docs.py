"""A rule's documentation by code, for reports; a code that no installed rule has gives None."""

from __future__ import annotations

import re
from inspect import cleandoc

from ...linters.registry import find_rule

_HEADING = re.compile(
    r"^\s*(?:#+\s*)?(What it does|Why is this bad\?|Example|Use instead|What stays clean|References)\s*:?\s*$"
)


def summary(code: str) -> str | None:
    """The first sentence of the rule's documentation."""
    rule = find_rule(code)
    return None if rule is None else rule.summary


def description(code: str) -> str | None:
    """The rule's reason: the section *Why is this bad?* as one paragraph."""
    rule = find_rule(code)
    if rule is None:
        return None
    text = dict(sections(rule.doc)).get("Why is this bad?")
    return " ".join(text.split()) if text else None


def sections(doc: str) -> list[tuple[str, str]]:
    """Heading and body of each part of a rule's documentation, in order; the first part has the heading ""."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    for line in cleandoc(doc).splitlines():
        heading = _HEADING.match(line)
        if heading is not None:
            parts.append((heading[1], []))
        elif not re.fullmatch(r"\s*[-=~]{3,}\s*", line):
            parts[-1][1].append(line)
    return [(name, "\n".join(lines).strip("\n")) for name, lines in parts]
