"""Python frames of the user's own code, with paths that mean the same on every machine."""

from __future__ import annotations

import os
import re
import sysconfig
from pathlib import Path
from types import TracebackType
from typing import Any

from ..contracts.manifest import Frame

_RUNTIME = Path(__file__).resolve().parent
_PACKAGE = _RUNTIME.parent
# The reference trainer is a step like any user's, wherever the package is installed.
_TRAINER = str(_RUNTIME / "trainer") + os.sep


class FramePaths:
    """Decides which frames are the user's and how their paths are printed.

    `root` is the project root; `extra` are the folders of the contract's `path`. Paths lose the longest known
    prefix: installed packages, the project root, an extra folder, our own package, the home folder. The same
    pattern is given to JAX, so the frames inside HLO text read alike and no text carries a user's name.
    """

    def __init__(self, root: Path, extra: list[Path] | None = None) -> None:
        self.root = root.resolve()
        # Our own folder goes before the root only by way of installed packages: a checkout of ours may be the root.
        folders = [self.root, *(p.resolve() for p in extra or []), _PACKAGE, Path.home()]
        prefixes = [
            re.escape(str(folder).rstrip(os.sep) + os.sep) for folder in folders if folder != Path(folder.anchor)
        ]
        stdlib = re.escape(sysconfig.get_path("stdlib") + os.sep)
        self.pattern = "^(?:" + "|".join([r".*/(?:site|dist)-packages/", stdlib, *prefixes]) + ")"
        self._strip = re.compile(self.pattern)
        self._foreign = re.compile(rf"/(?:site|dist)-packages/|^{stdlib}|^<")
        self._machinery = re.compile(rf"^{re.escape(str(_RUNTIME) + os.sep)}(?!trainer/)")

    def printed(self, path: str) -> str:
        """The path as reports show it, with forward slashes."""
        return self._strip.sub("", path).replace("\\", "/")

    def is_user(self, path: str) -> bool:
        """Whether a file is the user's own: not installed, not Python's, not the machinery that runs the step."""
        if path.startswith(_TRAINER):
            return True
        return not (self._foreign.search(path) or self._machinery.search(path))

    def is_user_printed(self, path: str) -> bool:
        """The same for a path that has lost its prefix: below the project root there is a file of that name."""
        return (self.root / path).is_file() or (_PACKAGE / path).is_file() or path.startswith("/")

    def of_traceback(self, traceback: TracebackType | None) -> list[Frame]:
        """The user's frames of an exception's traceback, innermost first."""
        frames: list[Frame] = []
        while traceback is not None:
            code = traceback.tb_frame.f_code
            if self.is_user(code.co_filename):
                frames.append(
                    Frame(
                        path=self.printed(code.co_filename),
                        line=traceback.tb_lineno,
                        column=_column(code, traceback.tb_lasti),
                        function=code.co_qualname,
                    )
                )
            traceback = traceback.tb_next
        return frames[::-1]

    def of_equation(self, source_info: Any) -> list[Frame]:
        """The user's frames of a jaxpr equation, innermost first; library frames only where there are no others."""
        from jax._src import source_info_util

        raw = list(source_info_util.user_frames(source_info.traceback))
        mine = [frame for frame in raw if self.is_user(frame.file_name)]
        return [
            Frame(
                path=self.printed(frame.file_name),
                line=frame.start_line,
                column=frame.start_column + 1 if frame.start_column is not None else None,
                function=frame.function_name,
            )
            for frame in mine or raw
            if frame.start_line and not self._machinery.search(frame.file_name)
        ]

    def of_function(self, function: Any) -> Frame | None:
        """Where a function is defined, if Python knows."""
        code = getattr(_unwrapped(function), "__code__", None)
        if code is None:
            return None
        return Frame(path=self.printed(code.co_filename), line=code.co_firstlineno, function=code.co_qualname)


def hide_machinery() -> None:
    """Keep our own frames out of the locations that JAX writes into programs."""
    import jax.extend.source_info_util as source_info_util

    source_info_util.register_exclusion("<frozen ")
    for file in sorted(_RUNTIME.glob("*.py")):
        source_info_util.register_exclusion(str(file))
    for folder in sorted(p for p in _RUNTIME.iterdir() if p.is_dir() and p.name != "trainer"):
        source_info_util.register_exclusion(str(folder) + os.sep)


def _column(code: Any, last_instruction: int) -> int | None:
    for index, position in enumerate(code.co_positions()):
        if index == last_instruction // 2:
            return position[2] + 1 if position[2] is not None else None
    return None


def _unwrapped(function: Any) -> Any:
    """Through functools.partial and `__wrapped__` to the function somebody wrote."""
    for _ in range(32):
        inner = getattr(function, "__wrapped__", None) or getattr(function, "func", None)
        if inner is None:
            break
        function = inner
    return function
