"""From a configuration file and overrides to MaxText's own configuration object, for the devices of one target."""

# MaxText is not installed where types are checked: it needs a newer Python.
# pyright: reportMissingImports=false

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax

from ...request import StepFailure
from .installed import package_folder

CONFIG, OVERRIDES = ("args", "config"), ("args", "overrides")

SURROUNDINGS: dict[str, Any] = {
    "run_name": "contract-lint",
    "base_output_directory": "maxtext_output",
    "dataset_type": "synthetic",
    "enable_checkpointing": False,
    "load_parameters_path": "",
    "load_full_state_path": "",
    "jax_cache_dir": "",
    "enable_goodput_recording": False,
    "monitor_goodput": False,
    "log_config": False,
    "skip_jax_distributed_system": True,
}
"""What a training run does around its step: no file is read or written, no service asked, no compiler cache used."""

_INSTALLED = re.compile(r"[/\\](?:site|dist)-packages$|\.zip$")
_AXIS_SIZE = re.compile(r"(?:ici|dcn)_\w+_parallelism")
HARDWARE = {"cpu": "cpu", "tpu": "tpu", "cuda": "gpu", "gpu": "gpu"}


def load(
    file: str, overrides: Mapping[str, Any], mesh: jax.sharding.Mesh, devices: int | None, compute: str | None
) -> Any:
    """MaxText's `HyperParameters` for the devices of `mesh`. Raises StepFailure with MaxText's own message."""
    path = find(file)
    wanted = {**overrides, **SURROUNDINGS, **_machine(overrides, mesh)}
    if devices is not None and mesh.size != devices:
        wanted |= _on_one_device(path, wanted, mesh, devices)
    if compute is not None:
        wanted["dtype"] = _dtype(compute)
    return _initialize(path, wanted)


def find(file: str) -> Path:
    """The configuration file: on `sys.path`, where a step's own folders are, else among MaxText's configurations."""
    shipped = package_folder() / "configs"
    own = [Path(folder) for folder in sys.path if not _INSTALLED.search(folder)]
    folders = [*own, shipped, shipped.parent]
    for folder in folders:
        if (folder / file).is_file():
            return (folder / file).absolute()
    raise StepFailure(
        f"there is no MaxText configuration `{file}`: neither beside the contract nor in MaxText itself",
        help="name a file relative to the contract's folder, or one that MaxText brings, such as base.yml",
        key=CONFIG,
    )


def _machine(overrides: Mapping[str, Any], mesh: jax.sharding.Mesh) -> dict[str, Any]:
    """The keys that say what MaxText runs on, so that it counts the devices of the mesh and not those of this machine.

    A configuration that names a topology of its own keeps it.
    """
    platform = mesh.devices.flat[0].platform
    hardware = HARDWARE.get(platform, "tpu")
    if hardware == "cpu":
        return {"hardware": "cpu"}
    slices = len({getattr(device, "slice_index", 0) for device in mesh.devices.flat})
    if overrides.get("compile_topology"):
        return {"hardware": hardware}
    return {
        "hardware": hardware,
        "internal_compile": True,
        "internal_compile_num_devices": mesh.size,
        "compile_topology_num_slices": slices,
    }


def _on_one_device(path: Path, wanted: Mapping[str, Any], mesh: jax.sharding.Mesh, devices: int) -> dict[str, Any]:
    """No parallelism, and the batch of all devices on one."""
    from maxtext.configs import types

    if mesh.size != 1:
        raise StepFailure(
            f"the step's args say {devices} devices, the mesh has {mesh.size}",
            help="`devices` is needed to execute the step; leave it out of a contract for several targets",
            key=("args", "devices"),
        )
    alone = {key: 1 for key in types.MaxTextConfig.model_fields if _AXIS_SIZE.fullmatch(key)}
    per_device = _initialize(path, {**wanted, **alone}).per_device_batch_size
    return {**alone, "per_device_batch_size": per_device * devices}


def _dtype(compute: str) -> str:
    if compute == "float64":
        raise StepFailure("MaxText has no float64: its dtypes are bfloat16, float32, float16 and two of 8 bits")
    return compute


def _initialize(path: Path, wanted: Mapping[str, Any]) -> Any:
    """MaxText's configuration, or its refusal as a StepFailure: it ends the process with code 2 after a log line."""
    from maxtext.configs import pyconfig

    try:
        return pyconfig.initialize(["", str(path)], **wanted)
    except SystemExit as stop:
        problem: BaseException = stop.__context__ or stop
    except Exception as error:
        problem = error
    text = " ".join(str(problem).split())
    shown = text if len(text) <= 600 else f"{text[:400]} ... {text[-160:]}"
    raise StepFailure(
        f"MaxText refuses the configuration {path.name}: {type(problem).__name__}: {shown}", key=OVERRIDES
    ) from None
