"""The process between this tool and user code: nothing of what the code starts outlives it, or the tool.

`python -m contract_lint.runtime.guard LIFELINE FOLDER MODULE ARGUMENT...` runs MODULE as a program in a forked process,
and ends that one with all its descendants when it is done, on SIGTERM, and when the pipe LIFELINE (a file descriptor)
closes, which happens however the tool dies; FOLDER, the tool's temporary one, is then removed in its stead. The exit
status is that of the module.

On Linux it adopts what its descendants leave behind (prctl), so that a process in a session of its own is found too,
and the module dies with it. Elsewhere it ends the module's process group. Imports nothing large, for it is forked.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import runpy
import select
import shutil
import signal
import sys
import time
from pathlib import Path

_PARENT_DEATH_SIGNAL, _DUMPABLE, _CHILD_SUBREAPER = 1, 4, 36  # <sys/prctl.h>
_PATIENCE = 10.0
"""Seconds for processes that were killed to be gone."""


def main(argv: list[str]) -> None:
    """Fork, run the module there, and follow it here. Returns only in the fork, when the module has ended."""
    lifeline, folder, module = int(argv[0]), argv[1], argv[2]
    heard, told = os.pipe()
    os.set_blocking(told, False)
    _linux(_CHILD_SUBREAPER, 1)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, _wake)
    signal.set_wakeup_fd(told)
    guard = os.getpid()
    worker = os.fork()
    if worker == 0:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        for descriptor in (lifeline, heard, told):
            os.close(descriptor)
        os.setpgid(0, 0)
        _linux(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != guard:
            os._exit(1)  # it died before its death could be told
        sys.argv = [module, *argv[3:]]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        return
    _close_others({lifeline, heard, told})
    status = _follow(worker, lifeline, heard)
    _end(worker)
    if not isinstance(status, int):
        if status == "abandoned":
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)
    _leave(os.waitstatus_to_exitcode(status))


def _wake(*_: object) -> None:
    """Any handler makes a signal end the wait."""


def _close_others(kept: set[int]) -> None:
    """Close what only the module needs: its owner waits for the ends of these pipes."""
    for name in os.listdir("/dev/fd"):
        if int(name) > 2 and int(name) not in kept:
            with contextlib.suppress(OSError):  # the one that listed them
                os.close(int(name))


def _follow(worker: int, lifeline: int, heard: int) -> int | str:
    """The status of the module's process; `ended` where that is asked for, `abandoned` where nobody is left to ask."""
    while True:
        ready, _, _ = select.select([heard, lifeline], [], [])
        if heard in ready and signal.SIGTERM in os.read(heard, 4096):
            return "ended"
        for pid, status in _buried():
            if pid == worker:
                return status
        if lifeline in ready:
            return "abandoned"


def _buried() -> list[tuple[int, int]]:
    """Children that have ended since they were last asked for, with their status."""
    found: list[tuple[int, int]] = []
    with contextlib.suppress(ChildProcessError):  # there is none
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            found.append(ended)
    return found


def _end(worker: int) -> None:
    """Kill the module's group and every descendant until none is left: those whose parents die become our children."""
    deadline, pause = time.monotonic() + _PATIENCE, 0.002
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(worker, signal.SIGKILL)
    while (left := _descendants()) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(pause)
        pause = min(2 * pause, 0.1)
        _buried()


def _descendants() -> set[int]:
    """Processes below this one, by /proc; none where the system has no such folder."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):  # it has just ended
            parent = int(entry.read_text(errors="replace").rsplit(")", 1)[1].split()[1])
            children.setdefault(parent, []).append(int(entry.parent.name))
    below: set[int] = set()
    waiting = [os.getpid()]
    while waiting:
        for pid in children.get(waiting.pop(), ()):
            if pid not in below:
                below.add(pid)
                waiting.append(pid)
    return below


def _leave(code: int) -> None:
    """End as the module did, without saying or dumping again what it has said."""
    if code < 0:
        faulthandler.disable()
        _linux(_DUMPABLE, 0)
        with contextlib.suppress(OSError, ValueError):  # SIGKILL takes no handler
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)


def _linux(what: int, value: int) -> None:
    """prctl, where there is such a thing."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(what, value, 0, 0, 0)


if __name__ == "__main__":
    main(sys.argv[1:])
