"""A compiler option that the compiler refuses: the step's own, or one that every capture is made with."""

from __future__ import annotations

import re
from collections.abc import Collection

from ..contracts.manifest import Phase, StepError

KIND = "compiler-option"
# What XLA says, on every backend: no option of that name, no such value, a value of libtpu's own flags.
_UNKNOWN = re.compile(r"No such compile option: '([^']*)'")
_VALUE = re.compile(r"While setting option ([\w.-]+), (.*)|Failed to parse (.*?) into flag ([\w.-]+)")


def refused_option(error: BaseException, phase: Phase, ours: Collection[str]) -> StepError | None:
    """The error as one of the step, where it refuses an option that is none of `ours`; else None."""
    if not any(cls.__name__ in ("JaxRuntimeError", "XlaRuntimeError") for cls in type(error).__mro__):
        return None
    text = str(error)
    if (unknown := _UNKNOWN.search(text)) is not None:
        name, said = unknown[1], "which the target's compiler does not know"
    elif (value := _VALUE.search(text)) is not None:
        name = value[1] or value[4]
        said = f"with a value that the target's compiler cannot read: {value[2] or value[3]}"
    else:
        return None
    if name in ours:
        return None
    message = f"the `compiler_options` of the step ask for `{name}`, {said}"
    return StepError(kind=KIND, type=type(error).__name__, message=message, phase=phase)
