"""`cpu:N`: N simulated CPU devices. Proves values and structure; programs run here as well as compile."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ...contracts.errors import ContractLintError
from ...contracts.target_name import LISTED, parse_target
from .dumping import PARTITIONER, dump_options
from .protocol import Effort
from .readiness import readiness


def cpu_flags(jaxlib: str) -> list[str]:
    """The flags that XLA gets with this version of jaxlib.

    Machine code is not what is judged: spend as little as possible on it. XLA reads the variable when the first device
    is used and ends the process on a flag it does not know, so each is given only where it is known.
    """
    flags = ["--xla_backend_optimization_level=0"]
    return [*flags, "--xla_cpu_use_fusion_emitters=false"] if jaxlib.startswith("0.10.") else flags


@dataclass(frozen=True, slots=True)
class CpuTarget:
    """N CPU devices in one process."""

    name: str
    device_count: int
    platform: str = "cpu"
    effort: Effort = "full"
    executes: bool = True
    partitioned_dump: re.Pattern[str] = re.compile(r"\.after_spmd-partitioning\.before_[^/]*\.txt$")
    optimized_dump: re.Pattern[str] = re.compile(r"\.cpu_after_optimizations\.(?:txt|hlo\.pb)$")

    @classmethod
    def parse(cls, name: str, effort: Effort | None = None) -> CpuTarget:
        """`cpu:8` -> 8 devices, whatever the effort: there is only one. Raises ContractLintError for anything else."""
        try:
            return cls(name, parse_target(name).devices)
        except ValueError as error:
            raise ContractLintError(f"`{name}` is not a CPU target: {error}", help=LISTED) from None

    def require(self) -> None:
        readiness("cpu").require()

    def environment(self) -> dict[str, str]:
        # Level 1 shows XLA's warnings and hides its information lines.
        return {"JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "1"}

    def configure(self) -> None:
        import jax

        os.environ["XLA_FLAGS"] = " ".join(cpu_flags(version("jaxlib")))
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_num_cpu_devices", self.device_count)

    def devices(self) -> list[Any]:
        import jax

        return jax.devices("cpu")

    def arranged(self, axes: Mapping[str, int], dcn: Mapping[str, int]) -> Any:
        """Row-major: simulated devices have no network."""
        import numpy as np

        return np.array(self.devices()[: self.device_count], dtype=object).reshape(tuple(axes.values()))

    def compiler_options(self, dump: Path) -> dict[str, Any]:
        return dump_options(dump, PARTITIONER)
