"""A program as one digest: its text without the places in source that it came from, which move with every edit."""

from __future__ import annotations

import hashlib
import re

_TABLE = re.compile(r"^(?:FileNames|FunctionNames|FileLocations|StackFrames)[ \t]*\n(?:[ \t]*\d+ [^\n]*\n)*\n*", re.M)
_METADATA = re.compile(r', metadata=\{(?:[^"{}]|"(?:[^"\\]|\\.)*")*\}')


def program_digest(text: str) -> str:
    """sha256, in hexadecimal digits. Equal programs by equal compilers have equal ones; `diff` says what differs."""
    return hashlib.sha256(_METADATA.sub("", _TABLE.sub("", text)).encode()).hexdigest()
