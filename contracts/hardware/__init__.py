"""What a device of each kind has, as its vendor publishes it: memory, peaks and bandwidths, each with its source."""

from __future__ import annotations

from .cuda import GPUS
from .figure import GB, GIB, TERA, DeviceKind, Figure, Peak, Rate
from .hosts import no_such_host
from .slices import no_such_slice
from .tpu import TPUS

__all__ = [
    "DEVICES",
    "GB",
    "GIB",
    "TERA",
    "DeviceKind",
    "Figure",
    "Peak",
    "Rate",
    "device_kind",
    "kinds",
    "no_such_host",
    "no_such_slice",
]

DEVICES: tuple[DeviceKind, ...] = (
    DeviceKind("cpu", "cpu", None, "host memory, not a property of the kind"),
    *TPUS,
    *GPUS,
)

_BY_NAME = {(device.platform, device.name): device for device in DEVICES}


def kinds(platform: str) -> list[str]:
    """Names of the known kinds of one platform."""
    return [device.name for device in DEVICES if device.platform == platform]


def device_kind(platform: str, name: str) -> DeviceKind:
    """The kind with this name. Raises KeyError."""
    return _BY_NAME[platform, name]
