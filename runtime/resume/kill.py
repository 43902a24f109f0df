"""What a process does to files in its own saving is heard from Python's audit hooks; and at a point of it, it kills
itself.

A save is committed by a rename of the step's folder, and its items by renames in it; or, where nothing is renamed, by
its last write. So the points are found without knowing who saves: a first save is listened to. What native code writes
is not heard, and lies between two of these.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...contracts.resume import KillPoint, SaveSeen

_TO = frozenset({"os.rename", "os.symlink", "os.link"})
"""The second path is what is made."""
_WRITING = _TO | {"os.mkdir", "os.remove", "open"}
_FOLDER = "os.mkdir"
_FILES = frozenset({"open", "os.symlink", "os.link"})


class Listener:
    """Hears a save from `arm` on, in any thread."""

    def __init__(self, folder: str | Path) -> None:
        # As it is called and as it is: a folder for temporary files may lie behind a link.
        self._folders = {f"{path}{os.sep}" for path in (os.path.abspath(folder), os.path.realpath(folder))}
        self._process = os.getpid()
        self._armed = self._returned = False
        self.seen = SaveSeen()
        self._counting = threading.Lock()
        sys.addaudithook(self._heard)

    def arm(self) -> None:
        """From now on."""
        self._armed, self._returned, self.seen = True, False, SaveSeen()

    def returned(self) -> None:
        """The call that saves has returned: what follows is done in the background."""
        self._returned = True

    def disarm(self) -> None:
        """The save is committed."""
        self._armed = False

    def _heard(self, event: str, args: tuple[Any, ...]) -> None:
        # A child that saves inherits this hook: the process to kill is its parent, and is not in the save.
        if (
            not self._armed
            or os.getpid() != self._process
            or event not in _WRITING
            or (event == "open" and not _writes(args))
        ):
            return
        path = self._below(args[1] if event in _TO else args[0])
        if path is not None:
            with self._counting:
                self.seen = _with(self.seen, event, path, self._returned)
            self.act(event, path)

    def act(self, event: str, path: str) -> None:
        """Something is about to be done; `seen` counts it already."""

    def _below(self, path: Any) -> str | None:
        """The path below the folder; None for anything outside."""
        if not isinstance(path, (str, bytes, os.PathLike)):
            return None
        whole = os.path.abspath(os.fsdecode(path))
        return next((whole[len(folder) :] for folder in self._folders if whole.startswith(folder)), None)


class Killer(Listener):
    """Kills this process where a save comes to the point; `like` is a save that was heard before, `last` is called just
    before, with the path."""

    def __init__(self, folder: str | Path, point: KillPoint, like: SaveSeen, last: Callable[[str], None]) -> None:
        super().__init__(folder)
        self._point, self._like, self._last = point, like, last

    def act(self, event: str, path: str) -> None:
        seen, like = self.seen, self._like
        behind = False
        if self._point == "before the commit":
            now = bool(seen.commits)
        elif self._point == "before its last rename":
            now = 1 < len(like.commits) <= len(seen.commits)
        elif self._point == "between items":
            now = event == "os.rename" and (seen.items > 1 or bool(seen.commits))
        elif self._point == "while it finalises":
            now = seen.background
        elif self._point == "at its first write":
            # A single file may be a marker behind what native code writes into the folder.
            now = behind = event in _FILES or (event == _FOLDER and like.files < 2)
        else:
            now = event in _FILES and seen.files == like.files
            behind = self._point == "at its last write"
        if now and behind:
            # This is told of before it is done: the next call or return in this thread is behind it.
            self.disarm()
            sys.setprofile(lambda *_: self._die(path))
        elif now:
            self._die(path)

    def _die(self, path: str) -> None:
        self.disarm()
        sys.setprofile(None)
        self._last(path)
        os.kill(os.getpid(), signal.SIGKILL)


def _with(seen: SaveSeen, event: str, path: str, returned: bool) -> SaveSeen:
    """What was seen, and one act more."""
    renamed, below = event == "os.rename", os.sep in path
    return SaveSeen(
        commits=(*seen.commits, path) if renamed and not below else seen.commits,
        items=seen.items + (renamed and below),
        background=seen.background or returned,
        files=seen.files + (event in _FILES),
        folders=seen.folders + (event == _FOLDER),
    )


def _writes(args: tuple[Any, ...]) -> bool:
    mode, flags = args[1], args[2]
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR))
