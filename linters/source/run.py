"""Texts to findings: what has not changed comes out of the cache, the rest is analysed, in processes if it is much.

Two rounds, as a summary of every file is needed before any can be judged. A round over many files is divided among
processes; what a file's findings depend on is the same in each, so that their number changes nothing but the time.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from ...contracts.finding import Finding, Location
from ...contracts.problems import UNPARSEABLE
from .cache import WHOLE, Cache, Entry, dump_findings, load_findings, stamp
from .options import SourceOptions
from .text import SourceText

if TYPE_CHECKING:
    from .facts import Module
    from .modules import Named
    from .program import Program
    from .rule import SourceRule
    from .summary import FileSummary

FAILED = "failed: "
HELD = 120
"""Files whose trees stay in memory between the rounds: those of a usual repository are read once."""


@dataclass(frozen=True, slots=True)
class Run:
    """How the analysis is run. `cache` is the file that keeps results between runs; None keeps none.

    `rules` are those to ask, without a cache: what is kept is what all of them say. `raises`: a bug of ours is raised.
    """

    options: SourceOptions
    cache: str | None = None
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


def analysed(sources: Sequence[SourceText], context: Sequence[SourceText], run: Run) -> list[Finding]:
    """The findings of every rule on `sources`, which are understood together with `context`."""
    if not sources:
        return []
    cache = Cache(run.cache, stamp(sys.version, run.options.digest) if run.cache else "")
    everything = [*sources, *context]
    whole = _whole(everything, len(sources))
    kept = _unchanged(cache, sources, whole)
    if kept is not None:
        return kept
    from .analyse import no_collection
    from .values.interpreter import deep_recursion

    tasks = _tasks(everything, cache)
    with no_collection(), deep_recursion():
        _summarise(tasks, run)
        _judge(tasks, len(sources), run)
    for task in tasks:
        # What we failed at is tried again.
        if task.entry is not None and not any(each.subject.startswith(FAILED) for each in task.findings or ()):
            cache.put(task.key, task.entry)
    cache.put(WHOLE, Entry(whole, "", "", ""))
    cache.save()
    return [finding for task in tasks[: len(sources)] for finding in task.findings or ()]


def understood(sources: Sequence[SourceText], run: Run) -> tuple[Program, list[Finding]]:
    """The program that the texts make, and the findings on those that cannot be parsed."""
    from .analyse import no_collection
    from .program import link
    from .values.interpreter import deep_recursion

    tasks = _tasks(sources, Cache(None, ""))
    with no_collection(), deep_recursion():
        _summarise(tasks, run)
        program = link((task.summary for task in tasks if task.summary is not None), run.options)
    return program, [finding for task in tasks for finding in task.findings or ()]


def _tasks(sources: Sequence[SourceText], cache: Cache) -> list[Task]:
    from .modules import module_names

    return [
        Task(source, name, cache.get(source.file or source.path, source.digest))
        for source, name in zip(sources, module_names(sources), strict=True)
    ]


def _whole(everything: Sequence[SourceText], judged: int) -> str:
    """The name of these texts, as one program, and of which of them are judged."""
    seen = blake2b(str(judged).encode(), digest_size=16)
    for source in everything:
        seen.update(f"{source.path}\0{source.file}\0{source.digest}\n".encode("utf-8", "surrogatepass"))
    return seen.hexdigest()


def _unchanged(cache: Cache, sources: Sequence[SourceText], whole: str) -> list[Finding] | None:
    """All findings, where the program is the one of the last run; then nothing needs to be understood again."""
    if cache.get(WHOLE, whole) is None:
        return None
    found: list[Finding] = []
    for source in sources:
        entry = cache.get(source.file or source.path, source.digest)
        here = None if entry is None else load_findings(entry.findings, source.path)
        if here is None:
            return None
        found += here
    return found


def _summarise(tasks: list[Task], run: Run) -> None:
    """A summary for every file, out of the cache where its content and name are the same; or why there is none."""
    from .summary import FileSummary

    todo = []
    for task in tasks:
        if task.entry is None or not _recalled(task, FileSummary):
            task.entry = None
            todo.append(task)
    if _processes(len(todo), run) > 1:
        from .workers import in_processes

        made = in_processes(lambda task: _summary(task, run, hold=False), todo, _processes(len(todo), run))
        for task, (entry, found) in zip(todo, made, strict=True):
            task.entry, task.findings = entry, found
            if entry.summary:
                task.summary = FileSummary.from_json(json.loads(entry.summary))
    else:
        for number, task in enumerate(todo):
            task.entry, task.findings = _summary(task, run, hold=number < HELD)


def _recalled(task: Task, kind: type[FileSummary]) -> bool:
    """Whether the entry's summary is that of this file under this name; it becomes the task's."""
    entry = task.entry
    assert entry is not None
    if not entry.summary:
        task.findings = load_findings(entry.findings, task.source.path)
        return task.findings is not None
    try:
        summary = kind.from_json(json.loads(entry.summary))
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
    summary.path = task.source.path
    task.summary = summary
    return summary.module == task.name[0]


def _summary(task: Task, run: Run, hold: bool) -> tuple[Entry, list[Finding] | None]:
    """The entry of a file with its summary, or, for one that cannot be parsed, with the finding that says so."""
    from .analyse import modules_of, unparsed
    from .parse import Unparsed
    from .summary import summarise

    try:
        module = modules_of(task.source, *task.name)
        if isinstance(module, Unparsed):
            found = [unparsed(task.source, module)]
        else:
            task.summary = summarise(module)
            if hold:
                task.held = module
            else:
                module.dismantle()
            data = json.dumps(task.summary.as_json(), separators=(",", ":"))
            return Entry(task.source.digest, data), None
    except Exception as error:
        found = [failed(task.source, error, run)]
    return Entry(task.source.digest, "", "", dump_findings(found)), found


def _judge(tasks: list[Task], judged: int, run: Run) -> None:
    """The findings of the first `judged` tasks, out of the cache where all that they depend on is the same."""
    from .outside import Outside
    from .program import link

    program = link((task.summary for task in tasks if task.summary is not None), run.options)
    # An entry's summary is the JSON of it: its digest costs nothing to speak of.
    digests = {
        task.summary.module: blake2b(task.entry.summary.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
        for task in tasks
        if task.summary is not None and task.entry is not None
    }
    outside_of = Outside(program, digests)
    todo = []
    for task in tasks[:judged]:
        if task.summary is None or task.entry is None:
            continue
        outside = outside_of.of(task.source.path)
        if task.entry.outside == outside:
            task.findings = load_findings(task.entry.findings, task.source.path)
        if task.findings is None:
            task.entry = replace(task.entry, outside=outside)
            todo.append(task)
    count = _processes(len(todo), run)
    if count > 1:
        from .workers import in_processes

        made = in_processes(lambda task: dump_findings(_findings(task, program, run)), todo, count)
        for task, packed in zip(todo, made, strict=True):
            task.findings = load_findings(packed, task.source.path)
            task.entry = None if task.entry is None else replace(task.entry, findings=packed)
    else:
        for task in todo:
            task.findings = _findings(task, program, run)
            task.held = None
            task.entry = None if task.entry is None else replace(task.entry, findings=dump_findings(task.findings))
    program.dismantle()


def _findings(task: Task, program: Program, run: Run) -> list[Finding]:
    """What the rules say about one file."""
    from .analyse import check_file, modules_of, source_rules, unparsed
    from .facts import FileFacts
    from .parse import Unparsed

    try:
        module = task.held or modules_of(task.source, *task.name)
        if isinstance(module, Unparsed):
            return [unparsed(task.source, module)]
        found = check_file(FileFacts(module, program), source_rules() if run.rules is None else run.rules)
        module.dismantle()
        return found
    except Exception as error:
        return [failed(task.source, error, run)]
    finally:
        program.forget()


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


def _processes(files: int, run: Run) -> int:
    from .workers import processes

    return processes(files, run.options.jobs)
