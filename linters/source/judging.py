"""The second round: the findings of every file, with the program linked, out of the cache where all that they depend on
is the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...contracts.finding import Finding
from .findings import pack_findings, unpack_findings
from .tasks import Run, Task, failed

if TYPE_CHECKING:
    from .program import Program


def judge_all(tasks: list[Task], judged: int, run: Run) -> None:
    """The findings of the first `judged` tasks."""
    from .links import links_of
    from .outside import Outside
    from .program import link
    from .workers import in_processes, processes

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
    count = processes(len(todo), run.options.jobs)
    if count > 1:
        made = in_processes(lambda task: pack_findings(findings_of(task, program, run)), todo, count)
        for task, packed in zip(todo, made, strict=True):
            task.findings = unpack_findings(packed, task.source.path)
            task.entry = None if task.entry is None else replace(task.entry, findings=packed)
    else:
        for task in todo:
            task.findings = findings_of(task, program, run)
            task.held = None
            if run.cache is not None and task.entry is not None:
                task.entry = replace(task.entry, findings=pack_findings(task.findings))
    program.dismantle()


def findings_of(task: Task, program: Program, run: Run) -> list[Finding]:
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
