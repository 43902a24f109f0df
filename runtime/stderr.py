"""What compiler and user code wrote to file descriptor 2: cleaned, and searched for warnings that matter."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..contracts.manifest import CompilerWarning, Frame
from .frames import FramePaths

_ABSL = re.compile(r"^([IWEF])\d{4} [\d:.]+\s+\d+ ([\w./-]+\.(?:cc|h):\d+\]) ?", re.M)
_ABSL_LATE = re.compile(
    r"^WARNING: All log messages before absl::InitializeLog\(\) is called are written to STDERR\n", re.M
)
_ABSOLUTE = re.compile(r"(?<![\w./-])/(?:[\w.@+-]+/)+[\w.@+-]+")
_INVOLUNTARY = re.compile(r"\[SPMD\] Involuntary full rematerialization\.[^\n]*")
_FRAME_ID = re.compile(r"stack_frame_id=(\d+)")
_OPERATION = re.compile(
    r"from sharding (?P<old>.*?) to (?P<new>.*?) efficiently for HLO operation (?P<op>%?[\w.-]+ = \S+ [\w-]+)"
)


def cleaned(text: str, paths: FramePaths) -> str:
    """Without times, process numbers and the machine's own paths, so that two captures of one program agree."""
    text = _ABSL_LATE.sub("", text)
    text = _ABSL.sub(r"\1 \2 ", text)
    return _ABSOLUTE.sub(lambda match: paths.printed(match[0]), text)


def compiler_warnings(text: str, unoptimized: str, paths: FramePaths) -> list[CompilerWarning]:
    """Involuntary full rematerializations in `text` (file descriptor 2), each once, in order.

    `unoptimized` is the module before optimisation: the message's `stack_frame_id` counts in its tables.
    """
    found: dict[tuple[str, tuple[Frame, ...]], CompilerWarning] = {}
    frames: StackFrames | None = None
    for match in _INVOLUNTARY.finditer(text):
        line = match[0]
        stack: list[Frame] = []
        frame_id = _FRAME_ID.search(line)
        if frame_id:
            frames = frames or StackFrames(unoptimized)
            stack = [f for f in frames.stack(int(frame_id[1])) if paths.is_user_printed(f.path)]
        operation = _OPERATION.search(line)
        message = (
            f"from sharding {operation['old']} to {operation['new']} for {operation['op']}"
            if operation
            else line.strip()
        )
        found.setdefault(
            (message, tuple(stack)),
            CompilerWarning(kind="involuntary-rematerialization", message=message, frames=stack),
        )
    return list(found.values())


def donation_warnings(messages: Iterable[str], frames: list[Frame]) -> list[CompilerWarning]:
    """Python warnings of the lowering that say a donated buffer cannot be reused."""
    return [
        CompilerWarning(kind="donation-unusable", message=message.split("\n")[0], frames=frames)
        for message in dict.fromkeys(messages)
        if message.startswith("Some donated buffers were not usable")
    ]


class StackFrames:
    """The four tables at the head of an HLO text: file and function names, locations, frames.

    The text prints each frame's parent as the real one plus 1, so 1 means that there is none.
    """

    _SECTION = re.compile(r"^(FileNames|FunctionNames|FileLocations|StackFrames)\n((?:\d+ .*\n)*)", re.M)
    _NAME = re.compile(r'^(\d+) "(.*)"$', re.M)
    _LOCATION = re.compile(
        r"^(\d+) \{file_name_id=(\d+) function_name_id=(\d+) line=(\d+)(?: end_line=\d+)?(?: column=(\d+))?", re.M
    )
    _FRAME = re.compile(r"^(\d+) \{file_location_id=(\d+)(?: parent_frame_id=(\d+))?", re.M)

    def __init__(self, text: str) -> None:
        tables = {match[1]: match[2] for match in self._SECTION.finditer(text)}
        names = [dict(self._NAME.findall(tables.get(key, ""))) for key in ("FileNames", "FunctionNames")]
        self._locations = {
            int(key): Frame(
                path=names[0].get(file, ""),
                line=int(line),
                column=int(column) + 1 if column else None,
                function=names[1].get(function, ""),
            )
            for key, file, function, line, column in self._LOCATION.findall(tables.get("FileLocations", ""))
        }
        self._frames = {
            int(key): (int(location), int(parent or 1) - 1)
            for key, location, parent in self._FRAME.findall(tables.get("StackFrames", ""))
        }

    def stack(self, frame_id: int) -> list[Frame]:
        """Frames of one id, innermost first."""
        stack: list[Frame] = []
        seen: set[int] = set()
        while frame_id in self._frames and frame_id not in seen:
            seen.add(frame_id)
            location, frame_id = self._frames[frame_id]
            if location in self._locations:
                stack.append(self._locations[location])
        return stack
