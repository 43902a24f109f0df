"""The same work on many files, divided among processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

ENOUGH = 100
"""Files that are worth a second process; below that, starting it takes longer than it saves."""
CHUNK = 8

_work: tuple[Callable[[Any], Any], Sequence[Any]] | None = None


def processes(files: int, jobs: int) -> int:
    """How many processes work on so many files; `jobs` 0 means one for each CPU."""
    if files < ENOUGH or not _can_fork():
        return 1
    return max(1, min(jobs or _cpus(), files // (ENOUGH // 2)))


def in_processes(function: Callable[[Item], Result], items: Sequence[Item], count: int) -> list[Result]:
    """`function` of every item, in order. The processes are forked: they see all there is, and only results travel.

    What cannot be had from a process (it was killed, say) is computed here.
    """
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    global _work
    _work = (function, items)
    try:
        with ProcessPoolExecutor(count, get_context("fork")) as pool:
            return list(pool.map(_call, range(len(items)), chunksize=CHUNK))
    except (BrokenProcessPool, OSError):
        return [function(item) for item in items]
    finally:
        _work = None


def _call(index: int) -> Any:
    assert _work is not None
    function, items = _work
    return function(items[index])


def _can_fork() -> bool:
    """Elsewhere a process would have to be told the whole program first, which takes as long as the work."""
    return sys.platform.startswith("linux") and hasattr(os, "fork")


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
