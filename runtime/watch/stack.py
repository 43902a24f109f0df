"""The user's own frames of the running thread."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from types import FrameType

from ...contracts.manifest import Frame
from ..frames import FramePaths

MAX_FRAMES = 32
_MACHINERY = re.compile(r"contract_lint\.(?:plugins|runtime\.(?!trainer))")


def live_frames(paths: FramePaths, skip: int = 1) -> list[Frame]:
    """The user's frames of the calling thread, innermost first; none where only libraries are on the stack."""
    frames: list[Frame] = []
    for frame in walk(sys._getframe(skip + 1)):
        code = frame.f_code
        # By module as well as by path: behind a symbolic link our own files have more than one path.
        if not paths.is_user(code.co_filename) or _MACHINERY.match(frame.f_globals.get("__name__", "")):
            continue
        path = paths.printed(code.co_filename)
        frames.append(Frame(path=path, line=frame.f_lineno or code.co_firstlineno, function=code.co_qualname))
        if len(frames) == MAX_FRAMES:
            break
    return frames


def walk(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and its callers, innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back
