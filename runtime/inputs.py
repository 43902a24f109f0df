"""Which files a step was made from: modules imported and files read while it was built. The cache keys on them."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from typing import Any

_NOT_OURS = frozenset(("__pycache__", ".contract-lint", ".git", "site-packages", "dist-packages"))
_SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/")


class InputFiles:
    """Collects, from `watch()` on, every file opened for reading; adds the sources of all imported modules."""

    def __init__(self) -> None:
        self._opened: set[str] = set()
        self._active = False
        self._system = (sysconfig.get_path("stdlib") + os.sep, *_SYSTEM)

    def watch(self) -> None:
        """Start. An audit hook cannot be removed, so it lives as long as the process."""
        self._active = True
        sys.addaudithook(self._hook)

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if event != "open" or not self._active:
            return
        path, mode, flags = args
        writes = any(c in mode for c in "wax+") if isinstance(mode, str) else bool(flags & (os.O_WRONLY | os.O_RDWR))
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if isinstance(path, (str, os.PathLike)) and not writes:
            self._opened.add(os.path.abspath(path))

    def files(self, without: Path | None = None) -> list[str]:
        """Absolute paths of the project's own files, sorted: installed packages are known by their versions.

        `without`: the folder being written, which is no input.
        """
        self._active = False
        sources = {getattr(m, "__file__", None) for m in list(sys.modules.values())}
        found = {os.path.abspath(f) for f in sources if f} | self._opened
        own = f"{without}{os.sep}" if without else "\0"
        return sorted(path for path in found if self._counts(path) and not path.startswith(own))

    def _counts(self, path: str) -> bool:
        ours = not path.startswith(self._system) and _NOT_OURS.isdisjoint(path.split(os.sep))
        return ours and os.path.isfile(path)
