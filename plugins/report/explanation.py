"""One rule's documentation: headings, prose that wraps, examples kept as written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from ...linters.rule import Rule
from ...linters.source.rule import SourceRule
from .catalogue import as_json, is_preview
from .json import dumps
from .printable import many_lines, one_line
from .rule_docs import sections
from .text import COLOURS, DEFAULT_WIDTH, to_text

PREVIEW = "In preview, still being proven: runs with --preview, or where --select names it."


def render(rule: Rule, form: str, width: int | None = None, color: bool = False, examples: bool = False) -> str:
    """The explanation of one rule in `text`, `json` or `markdown`; the tested examples in text only if asked for."""
    if form == "json":
        return dumps({"schema_version": 1, "rule": as_json(rule)})
    if form == "markdown":
        return _markdown(rule)
    head = Text(f"{rule.code} {rule.name}", style="bold")
    head.append("  ").append(rule.severity, style=COLOURS[rule.severity])
    head.append(f"  {rule.confidence}, from the {rule.evidence}", style="not bold dim")
    parts: list[RenderableType] = ["", Text(PREVIEW, style="yellow")] if is_preview(rule) else []
    for heading, body in sections(rule.doc):
        if not body.strip():
            continue
        parts += ["", Text(heading, style="bold cyan")] if heading else [""]
        parts += [_block(text, verbatim, indent=2 if heading else 0) for text, verbatim in blocks(body)]
    for heading, tested in twins(rule) if examples else ():
        parts += ["", Text(heading, style="bold cyan")]
        for at, (name, code) in enumerate(tested):
            parts += [*([""] if at else []), _block(f"{name}:", False, indent=2), _block(code, True, indent=2)]
    left_out = 0 if examples else sum(len(tested) for _, tested in twins(rule))
    if left_out:
        parts += ["", Text(f"Tested with {left_out} examples: --examples shows them.", style="dim")]
    title, accept = acceptance(rule)
    parts += ["", Text(title, style="dim"), _block(accept, True, indent=0)]
    return to_text(parts, width or DEFAULT_WIDTH, color, first=head)


def twins(rule: Rule) -> list[tuple[str, list[tuple[str, str]]]]:
    """The tested examples of a rule about source, as heading and (name, code); other rules have none."""
    if not isinstance(rule, SourceRule):
        return []
    return [
        (heading, [(example.name, example.shown) for example in examples])
        for heading, examples in (("Tested: found on the lines marked `# bad`", rule.bad), ("Tested: clean", rule.good))
        if examples
    ]


def acceptance(rule: Rule) -> tuple[str, str]:
    """How one finding is accepted: a title and the line to copy."""
    if isinstance(rule, SourceRule):
        return "To accept one on its line:", f"# contract-lint: ignore[{rule.code}] the reason"
    if rule.evidence == "dump":
        return "To leave it out:", f"contract-lint hlo lint FILE --ignore {rule.code}"
    if rule.evidence == "batch":
        return "To leave it out:", f"contract-lint batch check FILE --ignore {rule.code}"
    if rule.evidence == "data":
        return "To leave it out:", f"contract-lint batch manifest check DIR --ignore {rule.code}"
    if rule.evidence == "checkpoint":
        return "To leave it out:", f"contract-lint checkpoint check PATH --ignore {rule.code}"
    if rule.evidence == "record":
        return "To leave it out:", f"contract-lint record verify RECORD --ignore {rule.code}"
    return "To accept one in a contract:", f"deviations: [{{rule: {rule.code}, match: {{...}}, reason: ...}}]"


def blocks(body: str) -> Iterator[tuple[str, bool]]:
    """Paragraphs as one line each, and indented or fenced code as written with whether it is code, in order."""
    fenced: list[str] | None = None
    paragraph: list[str] = []
    code: list[str] = []

    def flush() -> Iterator[tuple[str, bool]]:
        if paragraph:
            yield " ".join(paragraph), False
            paragraph.clear()
        if any(line.strip() for line in code):
            yield dedent("\n".join(code)).strip("\n"), True
        code.clear()

    for line in body.splitlines():
        if line.strip().startswith("```"):
            if fenced is None:
                yield from flush()
                fenced = []
            else:
                yield dedent("\n".join(fenced)), True
                fenced = None
        elif fenced is not None:
            fenced.append(line)
        elif line.startswith("    ") or (code and not line.strip()):
            if paragraph:
                yield from flush()
            code.append(line)
        elif not line.strip():
            yield from flush()
        elif re.match(r"[-*] ", line):
            yield from flush()
            paragraph.append(line.strip())
        else:
            if code:
                yield from flush()
            paragraph.append(line.strip())
    if fenced:
        yield dedent("\n".join(fenced)), True
    yield from flush()


def _block(text: str, verbatim: bool, indent: int) -> RenderableType:
    if verbatim:
        margin = " " * (indent + 4)
        lines = (margin + line if line else "" for line in many_lines(text).split("\n"))
        return Text("\n".join(lines), style="green", no_wrap=True)
    if text.startswith("- https://"):
        return Text(" " * indent + one_line(text), no_wrap=True)
    return Padding(Text(many_lines(text)), (0, 0, 0, indent))


def _markdown(rule: Rule) -> str:
    parts = [f"## {rule.code} {rule.name}", f"_{rule.severity}, {rule.confidence}, from the {rule.evidence}_"]
    parts += [PREVIEW] if is_preview(rule) else []
    for heading, body in sections(rule.doc):
        if body.strip():
            parts += [f"### {heading}"] if heading else []
            parts += [f"```\n{text}\n```" if verbatim else text for text, verbatim in blocks(body)]
    for heading, tested in twins(rule):
        parts += [f"### {heading}", *(f"{name}\n\n```python\n{code}\n```" for name, code in tested)]
    return "\n\n".join(parts) + "\n"
