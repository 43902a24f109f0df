"""Targets: what a step is compiled for. `cpu:N` is here; other platforms add a module and an entry in `_PARSERS`.

Importing this package never imports jax; the methods that need devices do, in the child process.
"""

from __future__ import annotations

from collections.abc import Callable

from ...contracts.errors import ContractLintError
from .cpu import CpuTarget
from .protocol import Target

__all__ = ["Target", "target"]

_PARSERS: dict[str, Callable[[str], Target]] = {"cpu": CpuTarget.parse}


def target(name: str) -> Target:
    """The target called `name`, for example `cpu:8`. Raises ContractLintError if there is none."""
    platform = name.partition(":")[0]
    parser = _PARSERS.get(platform)
    if parser is None:
        known = ", ".join(f"{p}:..." for p in sorted(_PARSERS))
        raise ContractLintError(
            f"unknown target `{name}`: the platforms of this version are {known}", help="write e.g. `cpu:8`"
        )
    return parser(name)
