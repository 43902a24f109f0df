"""Python frames of the user's own code, with paths that mean the same on every machine."""

from __future__ import annotations

import ast
import os
import re
import sysconfig
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

from ..contracts.manifest import Frame

# As imported and as it lies on disk: an installation may be a symbolic link, and code keeps the path of its import.
_RUNTIMES = tuple(dict.fromkeys((Path(__file__).absolute().parent, Path(__file__).resolve().parent)))
# The reference trainer is a step like any user's, wherever the package is installed.
_TRAINERS = tuple(str(folder / "trainer") + os.sep for folder in _RUNTIMES)


def _spellings(folders: list[Path]) -> list[str]:
    """Each folder as given and with symbolic links followed, with a separator at the end; never the root folder."""
    both = dict.fromkeys(each for folder in folders for each in (folder.absolute(), folder.resolve()))
    return [str(folder).rstrip(os.sep) + os.sep for folder in both if folder != Path(folder.anchor)]


class FramePaths:
    """Decides which frames are the user's and how their paths are printed.

    `root` is the project root; `extra` are the folders of the contract's `path`. Paths lose the longest known
    prefix: installed packages, the project root, an extra folder, our own package, the home folder. The same
    pattern is given to JAX, so the frames inside HLO text read alike and no text carries a user's name.
    """

    def __init__(self, root: Path, extra: list[Path] | None = None) -> None:
        self.root = root.resolve()
        packages = [folder.parent for folder in _RUNTIMES]
        folders = _spellings([root, *(extra or []), *packages])
        self._sources = tuple(dict.fromkeys(folders))
        stdlib = re.escape(sysconfig.get_path("stdlib") + os.sep)
        above_stdlib = re.escape(str(Path(sysconfig.get_path("stdlib")).parents[1]) + os.sep)
        prefixes = [re.escape(folder) for folder in (*folders, *_spellings([Path.home()]))]
        # Installed packages go first: an environment often lies below the project root. They keep the folder's name,
        # and the standard library keeps `lib/python3.x`, so that a reader of the capture can tell them from the user's
        # files.
        installed = [r".*/(?=(?:site|dist)-packages/)", rf"{above_stdlib}(?=lib/python3)"]
        self.pattern = "^(?:" + "|".join([*installed, *prefixes]) + ")"
        self._strip = re.compile(self.pattern)
        self._foreign = re.compile(rf"/(?:site|dist)-packages/|^{stdlib}|^<|\.pyx$")
        ours = "|".join(re.escape(str(folder) + os.sep) for folder in _RUNTIMES)
        self._machinery = re.compile(rf"^(?:{ours})(?!trainer/)")

    def printed(self, path: str) -> str:
        """The path as reports show it, with forward slashes."""
        return self._strip.sub("", path).replace("\\", "/")

    def is_user(self, path: str) -> bool:
        """Whether a file is the user's own: not installed, not Python's, not the machinery that runs the step."""
        if path.startswith(_TRAINERS):
            return True
        return not (self._foreign.search(path) or self._machinery.search(path))

    def is_user_printed(self, path: str) -> bool:
        """The same for a path that has lost its prefix: below the project root there is a file of that name."""
        if path.startswith(("/", "contract_lint/runtime/trainer/")):
            return True
        return any(os.path.isfile(folder + path) for folder in self._sources)

    def in_loop(self, frame: Frame) -> bool:
        """Whether the line stands in a Python loop or comprehension, as far as its source can be read."""
        file = next((f for folder in ("", *self._sources) if os.path.isfile(f := folder + frame.path)), None)
        return file is not None and any(first <= frame.line <= last for first, last in _loops(file))

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


@cache
def _loops(file: str) -> tuple[tuple[int, int], ...]:
    """First and last line of the body of every loop in a source file; none where it cannot be parsed."""
    loops = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ()
    found = []
    for node in ast.walk(tree):
        if isinstance(node, loops):
            first = node.body[0].lineno if isinstance(node, (ast.For, ast.While)) else node.lineno
            found.append((first, node.end_lineno or first))
    return tuple(found)


def hide_machinery() -> None:
    """Keep our own frames out of the locations that JAX writes into programs."""
    import jax.extend.source_info_util as source_info_util

    source_info_util.register_exclusion("<frozen ")
    for runtime in _RUNTIMES:
        for file in sorted(runtime.glob("*.py")):
            source_info_util.register_exclusion(str(file))
        for folder in sorted(p for p in runtime.iterdir() if p.is_dir() and p.name != "trainer"):
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
