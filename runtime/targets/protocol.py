"""What a target must offer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Protocol


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
