"""Python stack frames of instructions: the tables of newer texts, `source_file`/`source_line` of older ones."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..contracts.manifest import Frame
from .text.attributes import unquote

_ROW = re.compile(r"^[ \t]*(\d{1,18}) (.*?)[ \t]*$", re.MULTILINE)
_FIELD = re.compile(r"([a-z_]+)=(\d{1,18})")
# XLA's lines and columns are 32-bit; a larger or negative one in a protobuf is no place.
_TOO_FAR = 1 << 31
# Frames of installed packages and of the interpreter are not the user's.
_LIBRARY = re.compile(r"(?:^|[/\\])(?:site-packages|dist-packages|lib[/\\]python3[^/\\]*)[/\\]|^<frozen |^<string>")


class FrameTable:
    """The stacks of one module. Ids are 1-based; parent 0 means none (the numbering of the protobuf)."""

    __slots__ = ("_cache", "_files", "_functions", "_locations", "_stacks")

    def __init__(
        self,
        files: Sequence[str] = (),
        functions: Sequence[str] = (),
        locations: Sequence[Mapping[str, int]] = (),
        stacks: Sequence[tuple[int, int]] = (),
    ) -> None:
        """`locations`: file_name_id, function_name_id, line, column; `stacks`: (location id, parent frame id)."""
        self._files = {i: f for i, f in enumerate(files, 1)}
        self._functions = {i: f for i, f in enumerate(functions, 1)}
        self._locations = {i: location for i, location in enumerate(locations, 1)}
        self._stacks = {i: stack for i, stack in enumerate(stacks, 1)}
        self._cache: dict[int, list[Frame]] = {}

    @classmethod
    def from_text(cls, tables: Mapping[str, str]) -> FrameTable:
        """From the raw tables of a text. There `parent_frame_id` is printed one too high: 1 means no parent."""
        table = cls()
        table._files = {int(i): unquote(v) for i, v in _ROW.findall(tables.get("FileNames", ""))}
        table._functions = {int(i): unquote(v) for i, v in _ROW.findall(tables.get("FunctionNames", ""))}
        for i, row in _ROW.findall(tables.get("FileLocations", "")):
            table._locations[int(i)] = {key: int(value) for key, value in _FIELD.findall(row)}
        for i, row in _ROW.findall(tables.get("StackFrames", "")):
            fields = {key: int(value) for key, value in _FIELD.findall(row)}
            table._stacks[int(i)] = (fields.get("file_location_id", 0), max(0, fields.get("parent_frame_id", 1) - 1))
        return table

    def __len__(self) -> int:
        return len(self._stacks)

    def stack(self, frame_id: int) -> list[Frame]:
        """The stack of `stack_frame_id`, innermost frame first; empty for an id the table does not hold."""
        cached = self._cache.get(frame_id)
        if cached is not None:
            return cached
        frames: list[Frame] = []
        seen: set[int] = set()
        at = frame_id
        while at in self._stacks and at not in seen:
            seen.add(at)
            location_id, at = self._stacks[at]
            location = self._locations.get(location_id)
            if location is None:
                continue
            path = self._files.get(location.get("file_name_id", 0))
            if path:
                function = self._functions.get(location.get("function_name_id", 0), "")
                # XLA counts columns from 0, a Frame from 1.
                column = location["column"] + 1 if location.get("column", _TOO_FAR) < _TOO_FAR else None
                line = location.get("line", 0)
                frames.append(Frame(path=path, line=line if line < _TOO_FAR else 0, column=column, function=function))
        self._cache[frame_id] = frames
        return frames


def user_frame(frames: Sequence[Frame]) -> Frame | None:
    """The innermost frame outside installed packages; the innermost of all where there is no such frame."""
    return next(iter(user_frames(frames) or frames), None)


def user_frames(frames: Sequence[Frame]) -> list[Frame]:
    """The frames outside installed packages and the interpreter, in their order."""
    return [frame for frame in frames if not _LIBRARY.search(frame.path)]
