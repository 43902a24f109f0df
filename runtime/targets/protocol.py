"""What a target must offer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

Effort = Literal["fast", "full"]
EFFORTS: tuple[Effort, ...] = ("fast", "full")


class Target(Protocol):
    """One compile target.

    `environment` is laid over the child's environment before Python starts; `configure` runs after `import jax` and
    before the first device is used; `devices` returns all jax devices; `arranged` returns them as an array of the
    mesh's shape (`axes`: name -> size, outermost first; `dcn`: the part of an axis that lies across slices or hosts);
    `compiler_options` are given to `Lowered.compile` and must make XLA dump its modules into the given folder.
    `partitioned_dump` matches the name of the dumped text after SPMD partitioning, `optimized_dump` that of the
    optimised module. `require` raises ContractLintError where this Python lacks what the target needs, or has a pair
    of versions that does not work; it never imports jax.
    """

    @property
    def name(self) -> str: ...

    @property
    def platform(self) -> str: ...

    @property
    def device_count(self) -> int: ...

    @property
    def effort(self) -> Effort: ...

    @property
    def executes(self) -> bool: ...

    @property
    def partitioned_dump(self) -> re.Pattern[str]: ...

    @property
    def optimized_dump(self) -> re.Pattern[str]: ...

    def require(self) -> None: ...

    def environment(self) -> dict[str, str]: ...

    def configure(self) -> None: ...

    def devices(self) -> list[Any]: ...

    def arranged(self, axes: Mapping[str, int], dcn: Mapping[str, int]) -> Any: ...

    def compiler_options(self, dump: Path) -> dict[str, Any]: ...
