"""What this machine can compile for: platforms and kinds, what is missing and how to get it. Never imports jax."""

from __future__ import annotations

import platform as host
from dataclasses import dataclass
from typing import Any

from ...contracts.hardware import DEVICES, DeviceKind
from ...contracts.target_name import MOST_CPUS, PLATFORMS
from ...runtime.targets.readiness import Readiness, asked_for, readiness

SCHEMA_VERSION = 1
SPELLING = {
    "cpu": f"cpu:N, N up to {MOST_CPUS}",
    "tpu": "tpu:KIND:SIZES[:slices=N], e.g. tpu:v5e:4x4, tpu:v5e:4x4:slices=2",
    "cuda": "cuda:KIND:HOSTSxGPUS, e.g. cuda:h100:1x8",
}
EXECUTES = frozenset({"cpu"})


@dataclass(frozen=True, slots=True)
class PlatformRow:
    """One platform: how its targets are spelled, its kinds, and whether this Python can compile for it."""

    platform: str
    spelling: str
    executes: bool
    readiness: Readiness
    asked: dict[str, str]
    """What jax's metadata asks for: distribution -> versions."""
    kinds: tuple[DeviceKind, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "platform": self.platform,
            "spelling": self.spelling,
            "ready": self.readiness.ready,
            "executes": self.executes,
            "versions": self.readiness.versions,
            "asked": self.asked,
            "missing": self.readiness.missing,
            "help": self.readiness.help,
            "kinds": [
                {
                    "name": kind.name,
                    "hbm_bytes": kind.hbm_bytes,
                    "program_bytes": kind.program_bytes,
                    "devices_per_chip": kind.devices_per_chip,
                    "source": kind.source,
                }
                for kind in self.kinds
            ],
        }


@dataclass(frozen=True, slots=True)
class Machine:
    """This machine, this Python, and every platform."""

    system: str
    machine: str
    python: str
    rows: tuple[PlatformRow, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "machine": {"system": self.system, "machine": self.machine, "python": self.python},
            "targets": [row.as_json() for row in self.rows],
        }


def machine() -> Machine:
    """Look at this machine and at the metadata of what is installed."""
    return Machine(
        host.system(), host.machine(), host.python_version(), tuple(_row(platform) for platform in PLATFORMS)
    )


def _row(platform: str) -> PlatformRow:
    kinds = tuple(kind for kind in DEVICES if kind.platform == platform and platform != "cpu")
    found = readiness(platform)
    return PlatformRow(platform, SPELLING[platform], platform in EXECUTES, found, asked_for(platform, found), kinds)
