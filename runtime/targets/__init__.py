"""Targets: what a step is compiled for. `cpu:N` is here; other platforms add a module and an entry in `_PARSERS`.

Importing this package never imports jax; the methods that need devices do, in the child process.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ...contracts.errors import ContractLintError
from .cpu import CpuTarget

if TYPE_CHECKING:
    from pathlib import Path


class Target(Protocol):
    """One compile target.

    `environment` is laid over the child's environment before Python starts; `configure` runs after `import jax` and
    before the first device is used; `devices` returns the jax devices in mesh order; `compiler_options` are given to
    `Lowered.compile` and must make XLA dump its modules into the given folder. `partitioned_dump` matches the name of
    the dumped text after SPMD partitioning, `optimized_dump` that of the optimised module.
    """

    @property
    def name(self) -> str: ...

    @property
    def platform(self) -> str: ...

    @property
    def device_count(self) -> int: ...

    @property
    def effort(self) -> str: ...

    @property
    def executes(self) -> bool: ...

    @property
    def partitioned_dump(self) -> re.Pattern[str]: ...

    @property
    def optimized_dump(self) -> re.Pattern[str]: ...

    def environment(self) -> dict[str, str]: ...

    def configure(self) -> None: ...

    def devices(self) -> list[Any]: ...

    def compiler_options(self, dump: Path) -> dict[str, Any]: ...


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
