"""`tpu:v5e:4x4`: a TPU topology, compiled for by libtpu without a TPU.

A chip is one device from v4 on (v4 with its two cores as one), two on v2, v3 and 7x. With `:slices=N` there are N such
topologies, joined by the data-centre network.
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
from .dumping import PARTITIONER, dump_options
from .protocol import Effort
from .readiness import readiness

_TOPOLOGY = {"7x": "tpu7x"}
"""Our names of kinds, as libtpu spells them where that differs."""
_MEGACORE = frozenset({"v4"})
"""Kinds whose two cores libtpu shows as two devices unless asked for one."""
_FAST = "O1"


@dataclass(frozen=True, slots=True)
class TpuTarget:
    """The devices of one topology, or of several slices of it."""

    name: str
    parsed: TargetName
    effort: Effort = "fast"
    platform: str = "tpu"
    executes: bool = False
    partitioned_dump: re.Pattern[str] = re.compile(r"\.after_tpu-spmd-partitioning\.before_[^/]*\.txt$")
    optimized_dump: re.Pattern[str] = re.compile(r"\.after_optimizations\.(?:txt|hlo\.pb)$")

    @classmethod
    def parse(cls, name: str, effort: Effort | None = None) -> TpuTarget:
        """`tpu:v5e:4x4` -> 16 devices. Raises ContractLintError for anything that is no TPU target, and for sizes
        that no slice has."""
        try:
            parsed = parse_target(name)
        except ValueError as error:
            raise ContractLintError(f"`{name}` is not a TPU target: {error}", help=LISTED) from None
        if (reason := no_such_machine(parsed)) is not None:
            raise ContractLintError(f"`{name}` is no slice that there is: {reason}", help=LISTED)
        return cls(name, parsed, effort or "fast")

    @property
    def device_count(self) -> int:
        return self.parsed.devices

    def require(self) -> None:
        readiness("tpu").require()

    def environment(self) -> dict[str, str]:
        return {
            # libtpu is loaded by the topology alone; a TPU backend would look for a TPU.
            "JAX_PLATFORMS": "cpu",
            "TF_CPP_MIN_LOG_LEVEL": "1",
            # A second process would otherwise be refused by the lock file of the first.
            "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
            # No look-up of what machine this is, in the network or elsewhere; the values do not matter.
            "TPU_SKIP_MDS_QUERY": "1",
            "TPU_WORKER_HOSTNAMES": "localhost",
            "TPU_ACCELERATOR_TYPE": "v5litepod-8",
            # Warnings of the compiler on file descriptor 2. Its log files, which nothing prevents, go to the temporary
            # folder of the child.
            "TPU_STDERR_LOG_LEVEL": "1",
        }

    def configure(self) -> None:
        import jax

        jax.config.update("jax_platforms", "cpu")
        if self.effort == "fast":
            jax.config.update("jax_optimization_level", _FAST)

    def devices(self) -> list[Any]:
        return list(_devices(self.parsed))

    def arranged(self, axes: Mapping[str, int], dcn: Mapping[str, int]) -> Any:
        return arranged(self.parsed, self.devices(), axes, dcn)

    def compiler_options(self, dump: Path) -> dict[str, Any]:
        return dump_options(dump, PARTITIONER)


@lru_cache(maxsize=1)
def _devices(parsed: TargetName) -> list[Any]:
    """The devices of the topology. Raises StepFailure with libtpu's reason where there is no such topology."""
    from jax.experimental import topologies

    options: dict[str, Any] = {}
    if parsed.slices > 1:
        options["num_slices"] = parsed.slices
    if parsed.kind.name in _MEGACORE:
        options["chip_config_name"] = "megacore"
    if 1 in parsed.sizes[:2]:
        # The usual host has 2 x 2 chips; a machine that is narrower has narrower hosts.
        options["chips_per_host_bounds"] = (*(min(2, size) for size in (*parsed.sizes, 1)[:2]), 1)
    sizes = "x".join(map(str, parsed.sizes))
    kind = _TOPOLOGY.get(parsed.kind.name, parsed.kind.name)
    try:
        described = topologies.get_topology_desc(platform="tpu", topology_name=f"{kind}:{sizes}", **options)
    except Exception as error:  # a library that cannot be loaded raises anything
        if unloadable(error):
            raise not_loaded("libtpu", error) from None
        raise StepFailure(
            f"libtpu knows no topology for {parsed.text}: {str(error).splitlines()[0]}",
            help="give chips per dimension as a slice has them, e.g. tpu:v5e:4x4, tpu:v5p:4x4x4",
            key=("targets",),
        ) from None
    devices = list(described.devices)
    if len(devices) != parsed.devices:
        raise StepFailure(
            f"libtpu shows {len(devices)} devices for {parsed.text}, where {parsed.devices} were expected",
            help="this version of libtpu counts the cores of a chip differently: please report it",
            key=("targets",),
        )
    return devices
