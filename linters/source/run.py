"""Texts to findings: what has not changed comes out of the cache, the rest is analysed, in processes if it is much.

Two rounds, as a summary of every file is needed before any can be judged. A round over many files is divided among
processes; what a file's findings depend on is the same in each, so that their number changes nothing but the time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from ...contracts.finding import Finding, Location
from ...contracts.problems import UNPARSEABLE
from .cache import Cache, Entry, stamp
from .findings import pack_findings, unpack_findings
from .modules import Named, module_names
from .options import SourceOptions
from .text import SourceText

if TYPE_CHECKING:
    from .facts import Module
    from .program import Program
    from .rule import SourceRule
    from .summary import FileSummary

FAILED = "failed: "
HELD = 1_000_000
"""Characters of source whose trees stay in memory between the rounds: a small repository is read once."""


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
    names = module_names(everything)
    shape = _shape(everything, names, len(sources))
    if run.cache is not None and cache.program == shape:
        kept = _again(cache, everything, names, len(sources), run)
        if kept is not None:
            return kept
    from .analyse import no_collection
    from .values.interpreter import deep_recursion

    tasks = _tasks(everything, names, cache)
    with no_collection(), deep_recursion():
        _summarise(tasks, run)
        _judge(tasks, len(sources), run)
    for task in tasks:
        # What we failed at is tried again.
        if task.entry is not None and not any(each.subject.startswith(FAILED) for each in task.findings or ()):
            cache.put(task.key, task.entry)
    cache.program = shape
    cache.save()
    return [finding for task in tasks[: len(sources)] for finding in task.findings or ()]


def understood(sources: Sequence[SourceText], run: Run) -> tuple[Program, list[Finding]]:
    """The program that the texts make, and the findings on those that cannot be parsed."""
    from .analyse import no_collection
    from .program import link
    from .values.interpreter import deep_recursion

    tasks = _tasks(sources, module_names(sources), Cache(None, ""))
    with no_collection(), deep_recursion():
        _summarise(tasks, run)
        program = link((task.summary for task in tasks if task.summary is not None), run.options)
    return program, [finding for task in tasks for finding in task.findings or ()]


def _tasks(sources: Sequence[SourceText], names: Sequence[Named], cache: Cache) -> list[Task]:
    return [
        Task(source, name, cache.get(source.file or source.path, source.digest))
        for source, name in zip(sources, names, strict=True)
    ]


def _shape(everything: Sequence[SourceText], names: Sequence[Named], judged: int) -> str:
    """The name of the list of these files, whatever is in them, and of which of them are judged."""
    seen = blake2b(str(judged).encode(), digest_size=16)
    for source, (module, _) in zip(everything, names, strict=True):
        seen.update(f"{source.path}\0{source.file}\0{module}\n".encode("utf-8", "surrogatepass"))
    return seen.hexdigest()


def _again(
    cache: Cache, sources: Sequence[SourceText], names: Sequence[Named], judged: int, run: Run
) -> list[Finding] | None:
    """All findings, where the last run was on the same files and the rest of the program cannot tell which changed."""
    from .quick import changed_files

    changed = changed_files(cache, sources)
    if changed is None:
        return None
    here: dict[int, list[Finding] | None] = {}
    if changed:
        here = _changed(cache, sources, names, judged, changed, run)
        if not here:
            return None
    for number, source in enumerate(sources[:judged]):
        if number not in here:
            known = cache.short(source.file or source.path)
            packed = known[2] if known is not None else None
            here[number] = [] if packed == [] else unpack_findings(packed, source.path)
    if any(found is None for found in here.values()):
        return None
    cache.save(tidy=False)
    return [finding for number in range(judged) for finding in here[number] or ()]


def _changed(
    cache: Cache, sources: Sequence[SourceText], names: Sequence[Named], judged: int, changed: Sequence[int], run: Run
) -> dict[int, list[Finding] | None]:
    """The findings on the files that changed, which the cache then knows; nothing where others can tell."""
    from .analyse import no_collection
    from .quick import Damaged, relinked
    from .values.interpreter import deep_recursion

    found: dict[int, list[Finding] | None] = {}
    with no_collection(), deep_recursion():
        tasks = {number: Task(sources[number], names[number]) for number in changed}
        for task in tasks.values():
            task.entry, _ = _summary(task, run, hold=True)
        made = {number: task.summary for number, task in tasks.items() if task.summary is not None}
        if len(made) < len(tasks):
            return {}
        try:
            program = relinked(cache, sources, names, made, run.options)
        except Damaged:
            return {}
        if program is None:
            return {}
        for number, task in tasks.items():
            here = found[number] = _findings(task, program, run) if number < judged else []
            if any(each.subject.startswith(FAILED) for each in here):
                return {}
        for number, task in tasks.items():
            old = cache.get(task.key)
            assert task.entry is not None and old is not None
            packed = pack_findings(found[number] or ()) if number < judged else None
            cache.put(task.key, replace(task.entry, findings=packed, linked=old.linked))
        program.dismantle()
    return found


def _summarise(tasks: list[Task], run: Run) -> None:
    """A summary for every file, out of the cache where its content and name are the same; or why there is none."""
    todo = []
    for task in tasks:
        if task.entry is None or not _recalled(task):
            task.entry = None
            todo.append(task)
    if _processes(len(todo), run) > 1:
        from .workers import in_processes

        made = in_processes(lambda task: _summary(task, run, hold=False), todo, _processes(len(todo), run))
        for task, (entry, found) in zip(todo, made, strict=True):
            task.entry, task.findings = entry, found
            if entry.small is not None:
                task.summary = _unpacked(task, entry)
    else:
        held = 0
        for task in todo:
            held += len(task.source.text)
            task.entry, task.findings = _summary(task, run, hold=held < HELD)


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
            summary = task.summary = summarise(module)
            if hold:
                task.held = module
            else:
                module.dismantle()
            return Entry(task.source.digest, [summary.module, dict(summary.data)], summary.data.packed), None
    except Exception as error:
        found = [failed(task.source, error, run)]
    return Entry(task.source.digest, findings=pack_findings(found)), found


def _judge(tasks: list[Task], judged: int, run: Run) -> None:
    """The findings of the first `judged` tasks, out of the cache where all that they depend on is the same."""
    from .links import links_of
    from .outside import Outside
    from .program import link

    program = link((task.summary for task in tasks if task.summary is not None), run.options)
    if run.cache is not None:
        outside_of = Outside(program)
        links = links_of(program)
    todo = []
    for number, task in enumerate(tasks):
        if task.summary is None or task.entry is None:
            continue
        if run.cache is not None:
            outside = outside_of.of(task.source.path) if number < judged else task.entry.outside
            if number < judged and task.entry.outside == outside:
                task.findings = unpack_findings(task.entry.findings, task.source.path)
            task.entry = replace(task.entry, outside=outside, linked=links.get(task.summary.module, b""))
        if number < judged and task.findings is None:
            todo.append(task)
    count = _processes(len(todo), run)
    if count > 1:
        from .workers import in_processes

        made = in_processes(lambda task: pack_findings(_findings(task, program, run)), todo, count)
        for task, packed in zip(todo, made, strict=True):
            task.findings = unpack_findings(packed, task.source.path)
            task.entry = None if task.entry is None else replace(task.entry, findings=packed)
    else:
        for task in todo:
            task.findings = _findings(task, program, run)
            task.held = None
            if run.cache is not None and task.entry is not None:
                task.entry = replace(task.entry, findings=pack_findings(task.findings))
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
        program.begin()
        task.source.forget()


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
