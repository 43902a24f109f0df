"""A file of a run that could not be written, as a sentence."""

from __future__ import annotations

import os
import re

_CODE = re.compile(r"os_error_code='(\d+)'")
"""How TensorStore says which error of the system is behind its own."""
_LONGEST = 300


class NotWritten(Exception):
    """Says what could not be written, where, and why."""


def why(error: Exception) -> str:
    """The system's words where an error of it is behind this one, else those of the error."""
    code = _CODE.search(str(error))
    number = error.errno if isinstance(error, OSError) else int(code[1]) if code is not None else None
    if number is not None:
        return os.strerror(number)
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:_LONGEST]
