"""A process that kills itself at a point of its own saving: what it does to files is heard from Python's audit hooks.

A save is committed by a rename of the step's folder, and its items by renames in it; so the point is found without
knowing who saves. What native code writes is not heard, and lies between two of these.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...contracts.resume import KillPoint

_WRITING = frozenset({"os.rename", "os.mkdir", "os.remove", "open"})


class Killer:
    """Kills this process once it is armed and the point is reached; `last` is called just before, in any thread."""

    def __init__(self, folder: str | Path, point: KillPoint, last: Callable[[], None]) -> None:
        self._folder, self._point, self._last = os.path.realpath(folder), point, last
        self._armed = self._returned = False
        self._items = 0
        sys.addaudithook(self._heard)

    def arm(self) -> None:
        """From now on."""
        self._armed = True

    def returned(self) -> None:
        """The call that saves has returned: what follows is done in the background."""
        self._returned = True

    def die(self) -> None:
        """At once."""
        self._armed = False
        self._last()
        os.kill(os.getpid(), signal.SIGKILL)

    def _heard(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._armed or event not in _WRITING:
            return
        depth = self._depth(args[1] if event == "os.rename" else args[0])
        if depth < 1 or (event == "open" and not _writes(args)):
            return
        if self._point == "while it finalises":
            if self._returned:
                self.die()
        elif event == "os.rename":
            self._items += depth > 1
            if depth == 1 or (self._point == "between items" and self._items > 1):
                self.die()

    def _depth(self, path: Any) -> int:
        """1 for an entry of the folder, 2 for one in that, ...; 0 for anything outside."""
        if not isinstance(path, (str, bytes, os.PathLike)):
            return 0
        whole = os.path.abspath(os.fsdecode(path))
        if not whole.startswith(f"{self._folder}{os.sep}"):
            return 0
        return whole[len(self._folder) + 1 :].count(os.sep) + 1


def _writes(args: tuple[Any, ...]) -> bool:
    mode, flags = args[1], args[2]
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR))
