"""A pasted out-of-memory report for people: the verdict and the largest thing to do first, then every buffer."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from ...contracts.model import format_bytes
from ...hlo_tools.postmortem import Advice, PostMortem, Reported, advice
from .ledger_markdown import table
from .ledger_text import table_of
from .markdown import escape
from .printable import one_line
from .text import to_text

SHOWN_ADVICE = 5


def verdict(report: PostMortem) -> str:
    """One sentence: how much is missing, what is largest, and what frees most of it."""
    said, largest = report.said, report.largest
    if report.usage:
        main = next((each for each in report.usage if each.color == 0), report.usage[0])
        space = "device" if main.color == 0 else main.name
        first = f"The program's allocations take {format_bytes(main.total_bytes)} of {space} memory"
    elif said is None:
        first = "A part of an out-of-memory report, without its sums"
    else:
        first = (
            f"{said.module or 'The program'} does not fit: {format_bytes(said.needed_bytes)} of {said.space} needed, "
        )
        first += f"{format_bytes(said.available_bytes)} there"
        if said.needed_bytes > said.available_bytes:
            first += f", {format_bytes(said.needed_bytes - said.available_bytes)} too much"
    if largest is None:
        return f"{first}. The message lists no buffers: look at the dump of the failed compile, or `verify` the step."
    if report.usage:
        first += " (the folder this report lies in says what each is for)"
    if largest.bytes is None and not advice(largest):
        return f"{first}. The report is cut before the size of a buffer: paste more of it."
    sentence = f"{first}. Largest: {_name(largest)} {format_bytes(largest.bytes or 0)}"
    best = next(iter(advice(largest)), None)
    return f"{sentence}; {_said(best)}." if best else f"{sentence}."


def postmortem_text(report: PostMortem, width: int, color: bool = False) -> str:
    """The verdict, the report's sums, every buffer largest first, and what would shrink the largest."""
    parts: list[RenderableType] = []
    if report.said is not None and report.said.sections:
        sums = table_of(("As reported",), ("bytes",))
        for name, size in report.said.sections:
            sums.add_row(name, format_bytes(size))
        parts += ["", sums]
    if report.buffers:
        each = table_of(("Buffer", "what"), ("bytes", "elements"), ("shape", "scope or line"))
        for buffer in _sorted(report):
            each.add_row(
                str(buffer.number or "-"),
                buffer.kind,
                "cut" if buffer.bytes is None else format_bytes(buffer.bytes),
                "-" if buffer.unpadded_bytes is None else format_bytes(buffer.unpadded_bytes),
                one_line(buffer.shape) or "-",
                one_line(buffer.scope or buffer.source) or "-",
            )
        parts += ["", each]
    todo = [f"{_name(buffer)}: {_said(each)}" for buffer in _sorted(report) for each in advice(buffer)]
    if todo:
        parts += ["", Text("What would shrink it", style="bold")]
        parts += [Text(f"- {one_line(line)}") for line in todo[:SHOWN_ADVICE]]
    cut = sum(not buffer.is_complete for buffer in report.buffers)
    if cut:
        parts += ["", Text(f"{cut} of {len(report.buffers)} entries are cut: paste the report whole", style="yellow")]
    return to_text(parts, width, color, Text(verdict(report)))


def postmortem_markdown(report: PostMortem) -> str:
    """The same for a comment or a note."""
    rows = [
        (
            str(buffer.number or "-"),
            buffer.kind,
            "cut" if buffer.bytes is None else format_bytes(buffer.bytes),
            "-" if buffer.unpadded_bytes is None else format_bytes(buffer.unpadded_bytes),
            escape(buffer.shape),
            escape(buffer.scope or buffer.source),
        )
        for buffer in _sorted(report)
    ]
    todo = [
        f"- {escape(_name(buffer))}: {escape(_said(each))}" for buffer in _sorted(report) for each in advice(buffer)
    ]
    head = ("buffer", "what", "bytes", "elements", "shape", "scope or line")
    return "\n\n".join((escape(verdict(report)), table(head, rows), "\n".join(todo[:SHOWN_ADVICE]))) + "\n"


def _sorted(report: PostMortem) -> list[Reported]:
    return sorted(report.buffers, key=lambda buffer: -(buffer.bytes or 0))


def _name(buffer: Reported) -> str:
    return buffer.shape or buffer.label[:60] or "a buffer"


def _said(best: Advice) -> str:
    return f"{best.text} (frees {format_bytes(best.frees)})"
