"""What ruamel.yaml says of a syntax error, in words for somebody who does not know how YAML is scanned."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ruamel.yaml.error import MarkedYAMLError, StringMark

LONGEST = 200


@dataclass(frozen=True, slots=True)
class Words:
    """A sentence, what to do, and whether the error stands where its construct begins, not where reading stopped."""

    message: str
    help: str | None = None
    at_start: bool = False


_QUOTE = "put the value in quotes"
_TABLE: tuple[tuple[str, str, Words], ...] = (
    # context, problem (both regular expressions), what is said; {0} is the problem's first group, {line} the line where
    # the construct begins
    ("", r"found character '\\t'", Words("a tab stands where only blanks are allowed", "indent with blanks, not tabs")),
    ("", r"found character '(.+)' that cannot start", Words("the character {0} cannot begin a value", _QUOTE)),
    (
        "anchor|alias",
        "expected alphabetic",
        Words("`&` and `*` need a name right behind them", "put a value that begins with `*` or `&` in quotes", True),
    ),
    (
        "simple key",
        "could not find expected ':'",
        Words(
            "this line is neither `key: value` nor an item of a list",
            "write a blank behind the colon, and behind the dash of a list item",
            True,
        ),
    ),
    (
        "",
        "mapping values are not allowed",
        Words(
            "a `:` stands where no key can be",
            "put a value that holds `: ` in quotes, and indent the keys of one mapping alike",
        ),
    ),
    (
        "block (mapping|collection|sequence)",
        "expected <block end>|did not find expected",
        Words(
            "this line is not indented like those it belongs to (from line {line})",
            "indent the keys of one mapping, and the items of one list, alike",
        ),
    ),
    (
        "flow mapping",
        r"expected ',' or '}'",
        Words(
            "expected `,` or `}}` here: the `{{` of line {line} is not closed",
            "close the brace, or put a value that holds `{{`, `}}` or `: ` in quotes",
        ),
    ),
    (
        "flow sequence",
        r"expected ',' or '\]'",
        Words(
            "expected `,` or `]` here: the `[` of line {line} is not closed",
            "close the bracket, or put a value that holds `[` or `]` in quotes",
        ),
    ),
    (
        "quoted scalar",
        "unexpected end of stream|document separator",
        Words("the quote that opens here is not closed", "close it, or double a quote that is part of the text", True),
    ),
    (
        "double-quoted",
        "unknown escape character '(.*)'",
        Words("`\\{0}` means nothing in double quotes", "write `\\\\` for a backslash, or use single quotes"),
    ),
    ("double-quoted", "escape sequence of (\\d+)", Words("this escape needs {0} hexadecimal digits")),
    (
        "block scalar",
        "expected chomping|expected a comment",
        Words("only a line break may follow `|` or `>`", "put a value that begins with `|` or `>` in quotes"),
    ),
    (
        "",
        "incompatible YAML document",
        Words("the `%YAML` line asks for a version other than 1", "leave that line out"),
    ),
)


def reworded(error: MarkedYAMLError) -> tuple[StringMark | None, str, str | None]:
    """Where the error stands, what it says, and what to do; ruamel's own words where they are not known here."""
    context, problem = (str(part).strip() if part else "" for part in (error.context, error.problem))
    start, stop = _mark(error.context_mark), _mark(error.problem_mark)
    for where, what, words in _TABLE:
        match = re.search(what, problem)
        if match is None or not re.search(where, context):
            continue
        values = [group or "" for group in match.groups()]
        line = start.line + 1 if start is not None else "?"
        said = [
            None if text is None else text.format(*values, line=line)[:LONGEST] for text in (words.message, words.help)
        ]
        return (start or stop) if words.at_start else (stop or start), said[0] or "", said[1]
    return stop or start, ", ".join(part for part in (context, problem) if part)[:LONGEST] or "syntax error", None


def _mark(mark: object) -> StringMark | None:
    return mark if isinstance(mark, StringMark) else None
