"""Texts to findings: what has not changed comes out of the cache, the rest is analysed, in processes if it is much.

Two rounds, as a summary of every file is needed before any can be judged. A round over many files is divided among
processes; what a file's findings depend on is the same in each, so that their number changes nothing but the time.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

from ...contracts.finding import Finding
from ..third_party import third_party_code
from .cache import Cache, stamp
from .modules import Named, module_names
from .options import SourceOptions
from .tasks import Run, Task, has_failed, summarise_all, tasks_of
from .text import SourceText

if TYPE_CHECKING:
    from .program import Program

__all__ = ["Run", "analysed", "kept_in", "understood"]


def kept_in(path: str, options: SourceOptions) -> Cache:
    """The cache in a file, for runs with these options."""
    return Cache(path, stamp(sys.version, options.digest, *map(repr, third_party_code())))


def analysed(sources: Sequence[SourceText], context: Sequence[SourceText], run: Run) -> list[Finding]:
    """The findings of every rule on `sources`, which are understood together with `context`.

    Raises unread.Changed where a file is not any more what it was when the file system was asked about it.
    """
    if not sources:
        return []
    everything = [*sources, *context]
    names = module_names(everything)
    shape = _shape(everything, names, len(sources))
    if run.cache is not None and run.cache.program == shape:
        from .again import again

        kept = again(everything, names, len(sources), run)
        if kept is not None:
            return kept
    tasks = _whole(everything, names, len(sources), run)
    if run.cache is not None:
        _keep(run.cache, tasks, shape)
    return [finding for task in tasks[: len(sources)] for finding in task.findings or ()]


def _whole(everything: Sequence[SourceText], names: Sequence[Named], judged: int, run: Run) -> list[Task]:
    """A run over all files, each with its findings."""
    from .analyse import no_collection
    from .judging import judge_all
    from .values.interpreter import deep_recursion

    for source in everything:
        source.text  # noqa: B018 # whoever fails to read it does so before anything rests on it
    tasks = tasks_of(everything, names, run.cache)
    with no_collection(), deep_recursion():
        summarise_all(tasks, run)
        judge_all(tasks, judged, run)
    return tasks


def _keep(cache: Cache, tasks: Sequence[Task], shape: str) -> None:
    for task in tasks:
        if task.entry is not None and not has_failed(task.findings):
            cache.put(task.key, task.entry)
            if task.source.state is not None:
                cache.note(task.key, task.source.state)
    cache.program = shape
    cache.save()


def understood(sources: Sequence[SourceText], run: Run) -> tuple[Program, list[Finding]]:
    """The program that the texts make, and the findings on those that cannot be parsed."""
    from .analyse import no_collection
    from .program import link
    from .values.interpreter import deep_recursion

    tasks = tasks_of(sources, module_names(sources), None)
    with no_collection(), deep_recursion():
        summarise_all(tasks, run)
        program = link((task.summary for task in tasks if task.summary is not None), run.options)
    return program, [finding for task in tasks for finding in task.findings or ()]


def _shape(everything: Sequence[SourceText], names: Sequence[Named], judged: int) -> str:
    """The name of the list of these files, whatever is in them, and of which of them are judged."""
    seen = blake2b(str(judged).encode("utf-8", "surrogatepass"), digest_size=16)
    for source, (module, _) in zip(everything, names, strict=True):
        seen.update(f"{source.path}\0{source.file}\0{module}\n".encode("utf-8", "surrogatepass"))
    return seen.hexdigest()
