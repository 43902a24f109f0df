"""All findings after few files changed, out of what the last run kept; whatever does not fit begins a whole run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...contracts.finding import Finding
from .findings import pack_findings, unpack_findings
from .modules import Named
from .tasks import Run, Task, has_failed, summarised
from .text import SourceText

if TYPE_CHECKING:
    from .cache import Cache

FEW = 8
"""Files that are looked at in this way; more have usually to do with each other."""


def again(sources: Sequence[SourceText], names: Sequence[Named], judged: int, run: Run) -> list[Finding] | None:
    """The findings, where the last run was on the same files and the rest of the program cannot tell which changed."""
    cache = run.cache
    assert cache is not None
    changed = _changed(cache, sources)
    if changed is None:
        return None
    here: dict[int, list[Finding] | None] = {}
    if changed:
        here = _judged(cache, sources, names, judged, changed, run)
        if not here:
            return None
    for number, source in enumerate(sources[:judged]):
        if number not in here:
            known = cache.short(source.file or source.path)
            packed = known[2] if known is not None else None
            here[number] = [] if packed == [] else unpack_findings(packed, source.path)
    if any(found is None for found in here.values()):
        return None
    cache.save(whole=False)
    return [finding for number in range(judged) for finding in here[number] or ()]


def _changed(cache: Cache, sources: Sequence[SourceText]) -> list[int] | None:
    """Which files are not what they were in the last run; None where these are many, or one was not there."""
    changed = []
    for number, source in enumerate(sources):
        known = cache.short(source.file or source.path)
        if known is None:
            return None
        if known[0] != source.digest:
            changed.append(number)
        elif source.state is not None and source.state != known[3]:
            cache.note(source.file or source.path, source.state)
    return changed if len(changed) <= FEW else None


def _judged(
    cache: Cache, sources: Sequence[SourceText], names: Sequence[Named], judged: int, changed: Sequence[int], run: Run
) -> dict[int, list[Finding] | None]:
    """The findings on the files that changed, which the cache then knows; nothing where others can tell."""
    from .analyse import no_collection
    from .judging import findings_of
    from .quick import Damaged, relinked
    from .values.interpreter import deep_recursion

    found: dict[int, list[Finding] | None] = {}
    with no_collection(), deep_recursion():
        tasks = {number: Task(sources[number], names[number]) for number in changed}
        for task in tasks.values():
            task.entry, _ = summarised(task, run, hold=True)
        made = {number: task.summary for number, task in tasks.items() if task.summary is not None}
        if len(made) < len(tasks):
            return {}
        try:
            words = {number: task.entry.words for number, task in tasks.items() if task.entry is not None}
            program = relinked(cache, sources, names, made, words, run.options)
        except Damaged:
            return {}
        if program is None:
            return {}
        for number, task in tasks.items():
            here = found[number] = findings_of(task, program, run) if number < judged else []
            if has_failed(here):
                return {}
        for number, task in tasks.items():
            old = cache.get(task.key)
            assert task.entry is not None and old is not None
            packed = pack_findings(found[number] or ()) if number < judged else None
            cache.put(task.key, replace(task.entry, findings=packed, linked=old.linked))
        program.dismantle()
    return found
