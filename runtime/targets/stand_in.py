"""Described devices in the place of real ones, for code that asks `jax.devices()` instead of taking a mesh."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .protocol import Target


def stand_in(target: Target) -> None:
    """Make `jax.devices()`, the device counts and jax's own mesh builders answer with the target's devices.

    Only where no backend is asked for by name: helpers that want the CPU still get it. Programs can be compiled for
    such a device, but no value can be put on it or computed there. To the code this is one process that sees all
    devices.
    """
    import jax
    from jax._src import xla_bridge

    real, canonical = xla_bridge.devices, xla_bridge.canonicalize_platform

    def devices(backend: Any = None) -> list[Any]:
        return target.devices() if backend is None else real(backend)

    def local_devices(process_index: int | None = None, backend: Any = None, host_id: int | None = None) -> list[Any]:
        return target.devices() if backend is None else real_local_devices(process_index, backend, host_id)

    def real_local_devices(
        process_index: int | None = None, backend: Any = None, host_id: int | None = None
    ) -> list[Any]:
        return list(xla_bridge.get_backend(backend).local_devices())

    def canonicalize_platform(platform: str) -> str:
        # A described GPU calls itself `gpu`; which kind that is, jax looks up among the GPUs that are there.
        return target.platform if (platform, target.platform) == ("gpu", "cuda") else canonical(platform)

    def count(backend: Any = None) -> int:
        return len(devices(backend))

    def process_count(backend: Any = None) -> int:
        return 1

    # jax's own mesh builders look their devices up here; new arrays still live on a real local device.
    xla_bridge.devices = devices
    xla_bridge.local_devices = real_local_devices
    xla_bridge.process_count = process_count
    # The lowering of a callback asks for the platform that it already knows.
    xla_bridge.canonicalize_platform = canonicalize_platform
    for name, function in (
        ("devices", devices),
        ("local_devices", local_devices),
        ("device_count", count),
        ("local_device_count", count),
        ("process_count", process_count),
    ):
        setattr(jax, name, function)


def without_callbacks(lowered: Any, target: Target) -> None:
    """Let a described GPU compile a program that calls the host: the calls stay in it, their Python functions go.

    The compiler would hand the functions to a machine that runs the program. One for TPUs asks for none.
    """
    arguments = getattr(getattr(lowered, "_lowering", None), "compile_args", None)
    if target.platform == "cuda" and isinstance(arguments, dict) and "host_callbacks" in arguments:
        arguments["host_callbacks"] = []


def default_device(target: Target) -> AbstractContextManager[Any]:
    """Where a program goes none of whose arguments is placed, while it is lowered and compiled."""
    import jax

    return nullcontext() if target.executes else jax.default_device(target.devices()[0])
