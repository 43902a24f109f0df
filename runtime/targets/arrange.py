"""Devices of described machines as the array of a mesh: neighbours of an axis are neighbours of the machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...contracts.target_name import TargetName
from ..request import StepFailure


def arranged(name: TargetName, devices: list[Any], axes: Mapping[str, int], dcn: Mapping[str, int]) -> Any:
    """The devices in mesh order, as jax's own mesh utilities lay them out.

    Without data-centre axes and with several hosts of GPUs: in order of their ids. Raises StepFailure where the
    data-centre axes do not make the slices or hosts, or where the axes do not fit the machine.
    """
    import numpy as np
    from jax.experimental import mesh_utils

    sizes = tuple(axes.values())
    across = tuple(dcn.get(axis, 1) for axis in axes)
    groups = int(np.prod(across))
    wanted = name.groups if name.platform == "tpu" or groups > 1 else 1
    word = "slices" if name.platform == "tpu" else "hosts"
    if groups != wanted or any(size % part for size, part in zip(sizes, across, strict=True)):
        written = ", ".join(f"{axis}: {part}" for axis, part in dcn.items()) or "none"
        raise StepFailure(
            f"{name.text} has {wanted} {word}, which the mesh's data-centre axes ({written}) do not make",
            help=f"say which axis lies across the {word}: mesh.dcn, e.g. {{ {next(iter(axes))}: {wanted} }}",
            key=("mesh", "dcn"),
        )
    if name.platform == "cuda" and groups == 1:
        return np.array(devices, dtype=object).reshape(sizes)
    try:
        if groups == 1:
            return mesh_utils.create_device_mesh(sizes, devices, allow_split_physical_axes=True)
        inside = tuple(size // part for size, part in zip(sizes, across, strict=True))
        return mesh_utils.create_hybrid_device_mesh(
            inside, across, devices, process_is_granule=name.platform == "cuda", allow_split_physical_axes=True
        )
    except (NotImplementedError, ValueError) as error:
        written = " x ".join(f"{axis}={size}" for axis, size in axes.items())
        raise StepFailure(
            f"the mesh {written} cannot be laid over {name.text}: {error}",
            help="choose axis sizes that are products of the machine's dimensions",
            key=("mesh", "axes"),
        ) from None
