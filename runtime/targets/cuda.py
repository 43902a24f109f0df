"""`cuda:h100:32x8`: hosts x GPUs of one kind, compiled for by jax's CUDA plugin without card or driver.

The GPU is described by a text file in `gpus/`, written from its vendor's published figures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...contracts.errors import ContractLintError
from ...contracts.target_name import LISTED, TargetName, no_such_machine, parse_target
from ..request import StepFailure
from .arrange import arranged
from .damage import not_loaded, unloadable
from .dumping import dump_options
from .protocol import Effort
from .readiness import cuda_compiler, readiness


@dataclass(frozen=True, slots=True)
class CudaTarget:
    """Hosts x GPUs of one kind. Both efforts compile at XLA's default level: below it loops are unrolled."""

    name: str
    parsed: TargetName
    effort: Effort = "fast"
    platform: str = "cuda"
    executes: bool = False
    partitioned_dump: re.Pattern[str] = re.compile(r"\.after_spmd_partitioner\.txt$")
    optimized_dump: re.Pattern[str] = re.compile(r"_gpu_after_optimizations\.(?:txt|hlo\.pb)$")

    @classmethod
    def parse(cls, name: str, effort: Effort | None = None) -> CudaTarget:
        """`cuda:h100:1x8` -> 8 devices. Raises ContractLintError for anything that is no CUDA target."""
        try:
            parsed = parse_target(name)
        except ValueError as error:
            raise ContractLintError(f"`{name}` is not a CUDA target: {error}", help=LISTED) from None
        if (reason := no_such_machine(parsed)) is not None:
            raise ContractLintError(f"`{name}` is no machine that there is: {reason}", help=LISTED)
        if not described(parsed.kind.name):
            raise ContractLintError(f"`{name}`: there is no description of the GPU `{parsed.kind.name}` to compile for")
        return cls(name, parsed, effort or "fast")

    @property
    def device_count(self) -> int:
        return self.parsed.devices

    def require(self) -> None:
        readiness("cuda").require()

    def environment(self) -> dict[str, str]:
        # No card is looked for: what is compiled for is described, not found.
        return {"JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "1", "CUDA_VISIBLE_DEVICES": ""}

    def configure(self) -> None:
        import jax

        jax.config.update("jax_platforms", "cpu")

    def devices(self) -> list[Any]:
        return list(_devices(self.parsed))

    def arranged(self, axes: Mapping[str, int], dcn: Mapping[str, int]) -> Any:
        return arranged(self.parsed, self.devices(), axes, dcn)

    def compiler_options(self, dump: Path) -> dict[str, Any]:
        return dump_options(dump)


def described(kind: str) -> str | None:
    """The description of a kind of GPU: a GpuTargetConfigProto as text, comments left out; None where there is none."""
    file = Path(__file__).with_name("gpus") / f"{kind}.txtpb"
    if not file.is_file():
        return None
    return "\n".join(line for line in file.read_text().splitlines() if line.strip() and not line.startswith("#")) + "\n"


@lru_cache(maxsize=1)
def _devices(parsed: TargetName) -> list[Any]:
    """The devices of the described machine. Raises StepFailure with the plugin's reason where it refuses it."""
    from jax.experimental import topologies

    hosts, gpus = parsed.sizes
    try:
        topology = topologies.get_topology_desc(
            platform="cuda",
            topology_name=parsed.kind.name,
            target_config=described(parsed.kind.name),
            topology=f"1x{hosts}x{gpus}",
        )
    except Exception as error:  # a library that cannot be loaded raises anything
        if unloadable(error):
            raise not_loaded(cuda_compiler(), error) from None
        raise StepFailure(
            f"the CUDA plugin refuses {parsed.text}: {str(error).splitlines()[0]}", key=("targets",)
        ) from None
    return list(topology.devices)
