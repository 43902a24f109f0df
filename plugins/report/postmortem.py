"""A pasted out-of-memory report for people: the verdict and the largest thing to do first, then every buffer."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from ...contracts.model import format_bytes
from ...hlo_tools.postmortem import Advice, PostMortem, Reported, advice
from ...hlo_tools.refusals import Refusal
from .ledger_markdown import table
from .ledger_text import table_of
from .markdown import escape
from .printable import one_line, plural
from .text import to_text

SHOWN_ADVICE = 5


def verdict(report: PostMortem) -> str:
    """One sentence: how much is missing, what is largest, and what frees most of it."""
    first, largest = _what(report), report.largest
    if largest is None:
        return f"{first}. {_without_list(report)}"
    if report.usage:
        first += " (the folder this report lies in says what each is for)"
    if largest.bytes is None and not advice(largest):
        return f"{first}. Of no buffer a size can be read: paste the report whole."
    place = f", made at {largest.source}" if largest.source else ""
    sentence = f"{first}. Largest: {_name(largest)} {format_bytes(largest.bytes or 0)}{place}"
    best = next(iter(advice(largest)), None)
    return f"{sentence}; {_said(best)}." if best else f"{sentence}."


def _what(report: PostMortem) -> str:
    """How much is missing of what, without a full stop."""
    said, limit = report.said, report.limit
    if report.usage:
        main = next((each for each in report.usage if each.color == 0), report.usage[0])
        space = "device" if main.color == 0 else main.name
        return f"The program's allocations take {format_bytes(main.total_bytes)} of {space} memory"
    if said is not None:
        first = f"{said.module or 'The program'} does not fit: {format_bytes(said.needed_bytes)} of {said.space} needed"
        first += f", {format_bytes(said.available_bytes)} there"
        return first + _over(said.needed_bytes - said.available_bytes)
    if report.refused is not None:
        return _refused(report, report.refused)
    if report.sections:
        sums = dict(report.sections)
        total = f": its allocations take {format_bytes(sums['total'])}" if "total" in sums else ""
        return f"A program did not fit as it ran{total}"
    if limit is not None:
        first = f"The program takes {format_bytes(limit.reached_bytes)} by the compiler's count, "
        if limit.limit_bytes <= 0:
            first += "and what it is given already leaves it nothing"
        else:
            over = format_bytes(limit.reached_bytes - limit.limit_bytes)
            first += f"{over} more than the {format_bytes(limit.limit_bytes)} that it aims at"
        if limit.first_bytes is not None:
            first += f"; recomputing saved {format_bytes(limit.first_bytes - limit.reached_bytes)}"
        return first
    return "A part of an out-of-memory report, without its sums"


def _refused(report: PostMortem, refused: Refusal) -> str:
    wanted = format_bytes(refused.wanted_bytes)
    if refused.by == "compiler" and refused.limit_bytes is not None:
        who = "The program" if refused.space == "hbm" else "A kernel"
        first = f"{who} does not fit: {wanted} of {refused.space} needed, {format_bytes(refused.limit_bytes)} there"
        return first + _over(refused.wanted_bytes - refused.limit_bytes)
    what = f"{refused.program}: " if refused.program else ""
    what += f"{wanted} of {refused.space} memory could not be allocated"
    if report.is_temporaries:
        what += ", all temporaries of the program"
    if refused.free_bytes is None:
        return what
    usable = refused.usable_bytes
    pieces = "" if usable is None or usable == refused.free_bytes else f", {format_bytes(usable)} in one piece"
    return f"{what}: {format_bytes(refused.free_bytes)} free{pieces}"


def _over(missing: int) -> str:
    return f", {format_bytes(missing)} too much" if missing > 0 else ""


def _without_list(report: PostMortem) -> str:
    """What to do first where no buffer is named."""
    refused = report.refused
    if refused is not None and refused.is_fragmented:
        return (
            "Enough is free, but not in one piece: free arrays that are no longer used before this point, or allocate "
            "large ones first."
        )
    if refused is not None and refused.by == "array":
        return (
            "It is an array put on the device, or a result: drop references to arrays that are no longer used, donate "
            "what a step replaces, or shard it over more devices."
        )
    if refused is not None and refused.space == "host":
        return "It is memory of the host, not of the device: offload less, or give the process more."
    if refused is not None and refused.by == "compiler" and refused.space != "hbm":
        return "It is the scratch memory of one kernel: give that kernel smaller blocks."
    return (
        'The message lists no buffers: run once more with XLA_FLAGS="--xla_dump_to=DIR --xla_dump_hlo_as_proto" and '
        "give `contract-lint hlo memory` that folder, or `verify` the step."
    )


def sums(report: PostMortem) -> list[tuple[str, int]]:
    """The figures that a report says of the whole, by their names."""
    found = list(report.sections)
    refused, limit = report.refused, report.limit
    if refused is not None:
        said = (refused.wanted_bytes, refused.free_bytes, refused.usable_bytes, refused.limit_bytes)
        names = ("asked for", "free", "free for one allocation", "limit")
        found = [(name, size) for name, size in zip(names, said, strict=True) if size is not None] + found
    if limit is not None:
        found.append(("limit of rematerialization", limit.limit_bytes))
        found.append(("after rematerialization", limit.reached_bytes))
        found += [("before rematerialization", limit.first_bytes)] if limit.first_bytes is not None else []
    return found


def postmortem_text(report: PostMortem, width: int, color: bool = False) -> str:
    """The verdict, the report's sums, every buffer largest first, and what would shrink the largest."""
    parts: list[RenderableType] = []
    reported = sums(report)
    if reported:
        figures = table_of(("As reported",), ("bytes",))
        for name, size in reported:
            figures.add_row(name, format_bytes(size))
        parts += ["", figures]
    if report.buffers:
        each = table_of(("Buffer", "what"), ("bytes", "elements"), ("shape", "scope or line"))
        for buffer in _sorted(report):
            each.add_row(
                str(buffer.number or "-"),
                buffer.kind,
                "-" if buffer.bytes is None else format_bytes(buffer.bytes),
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
        said = f"{cut} of {plural(len(report.buffers), 'buffer')} without size or shape: paste the report whole"
        parts += ["", Text(said, style="yellow")]
    return to_text(parts, width, color, Text(verdict(report)))


def postmortem_markdown(report: PostMortem) -> str:
    """The same for a comment or a note."""
    rows = [
        (
            str(buffer.number or "-"),
            buffer.kind,
            "-" if buffer.bytes is None else format_bytes(buffer.bytes),
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
    figures = [(escape(name), format_bytes(size)) for name, size in sums(report)]
    parts = (
        escape(verdict(report)),
        table(("as reported", "bytes"), figures) if figures else "",
        table(head, rows) if rows else "",
        "\n".join(todo[:SHOWN_ADVICE]),
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _sorted(report: PostMortem) -> list[Reported]:
    return sorted(report.buffers, key=lambda buffer: -(buffer.bytes or 0))


def _name(buffer: Reported) -> str:
    return buffer.shape or buffer.label[:60] or "a buffer"


def _said(best: Advice) -> str:
    return f"{best.text} (frees {format_bytes(best.frees)})"
