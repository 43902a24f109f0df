"""The first round: a summary of every file, out of the cache where its content and name are the same."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...contracts.finding import Finding, Location
from ...contracts.problems import UNPARSEABLE
from .findings import pack_findings, unpack_findings
from .modules import Named
from .options import SourceOptions
from .stored import Entry
from .text import SourceText

if TYPE_CHECKING:
    from .cache import Cache
    from .facts import Module
    from .rule import SourceRule
    from .summary import FileSummary

FAILED = "failed: "
HELD = 1_000_000
"""Characters of source whose trees stay in memory between the rounds: a small repository is read once."""


@dataclass(frozen=True, slots=True)
class Run:
    """How the analysis is run. `cache` keeps results between runs; None keeps none.

    `rules` are those to ask, without a cache: what is kept is what all of them say. `raises`: a bug of ours is raised.
    """

    options: SourceOptions
    cache: Cache | None = None
    rules: Sequence[SourceRule] | None = None
    raises: bool = False

    def __post_init__(self) -> None:
        assert self.rules is None or self.cache is None


@dataclass(slots=True)
class Task:
    """One file on its way: its entry, if any, then its summary, then its findings. `held` is its interpreted tree."""

    source: SourceText
    name: Named
    entry: Entry | None = None
    summary: FileSummary | None = None
    findings: list[Finding] | None = None
    held: Module | None = None

    @property
    def key(self) -> str:
        return self.source.file or self.source.path


def tasks_of(sources: Iterable[SourceText], names: Iterable[Named], cache: Cache | None) -> list[Task]:
    """A task for every file, with what the cache knows of this content."""
    return [
        Task(source, name, None if cache is None else cache.get(source.file or source.path, source.digest))
        for source, name in zip(sources, names, strict=True)
    ]


def summarise_all(tasks: list[Task], run: Run) -> None:
    """A summary for every file, or why there is none."""
    todo = []
    for task in tasks:
        if task.entry is None or not _recalled(task):
            task.entry = None
            todo.append(task)
    if _processes(len(todo), run) > 1:
        from .workers import in_processes

        made = in_processes(lambda task: summarised(task, run, hold=False), todo, _processes(len(todo), run))
        for task, (entry, found) in zip(todo, made, strict=True):
            task.entry, task.findings = entry, found
            if entry.small is not None:
                task.summary = _unpacked(task, entry)
    else:
        held = 0
        for task in todo:
            held += len(task.source.text)
            task.entry, task.findings = summarised(task, run, hold=held < HELD)


def _recalled(task: Task) -> bool:
    """Whether the entry's summary is that of this file under this name; it becomes the task's."""
    entry = task.entry
    assert entry is not None
    if entry.small is None:
        task.findings = unpack_findings(entry.findings, task.source.path)
        return task.findings is not None
    task.summary = _unpacked(task, entry)
    return task.summary is not None


def _unpacked(task: Task, entry: Entry) -> FileSummary | None:
    """The summary in an entry, if it is that of the module that the file is now."""
    from .packed import Packed
    from .summary import FileSummary

    module, small = entry.small
    return FileSummary(task.source.path, module, Packed(small, entry.summary)) if module == task.name[0] else None


def summarised(task: Task, run: Run, hold: bool) -> tuple[Entry, list[Finding] | None]:
    """The entry of a file with its summary, or, for one that cannot be parsed, with the finding that says so."""
    from .analyse import modules_of, unparsed
    from .parse import Unparsed
    from .summary import summarise
    from .words import words_of

    source = task.source
    words = b"" if run.cache is None else words_of(source.text)
    try:
        module = modules_of(source, *task.name)
        if isinstance(module, Unparsed):
            found = [unparsed(source, module)]
        else:
            summary = task.summary = summarise(module)
            if hold:
                task.held = module
            else:
                module.dismantle()
            small = [summary.module, dict(summary.data)]
            return Entry(source.digest, small, summary.data.packed, words=words, state=source.state), None
    except Exception as error:
        found = [failed(source, error, run)]
    return Entry(source.digest, findings=pack_findings(found), words=words, state=source.state), found


def failed(source: SourceText, error: Exception, run: Run) -> Finding:
    """The finding that we failed at a file: one bug must not keep all other files from being checked."""
    if run.raises or os.environ.get("CONTRACT_LINT_DEBUG", "") not in ("", "0"):
        raise error
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
    return UNPARSEABLE.at(
        Location(source.path, 1),
        f"contract-lint failed at this file: {type(error).__name__}: {str(error)[:200]}{where}",
        subject=f"{FAILED}{type(error).__name__}{where}",
        help="this is a bug in contract-lint; please report it with the file",
    )


def has_failed(findings: Iterable[Finding] | None) -> bool:
    """Whether we failed at a file: it is tried again next time."""
    return any(each.subject.startswith(FAILED) for each in findings or ())


def _processes(files: int, run: Run) -> int:
    from .workers import processes

    return processes(files, run.options.jobs)
