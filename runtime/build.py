"""From a contract's `entry` to a step: import, mesh, call of the user's `build`, concrete placements."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding

from .frames import FramePaths
from .load_entry import load_entry
from .request import MeshRequest, StepFailure, StepRequest
from .step import NormalisedStep, as_step
from .targets import Target

IN_A_CONTRACT = "change mesh.axes, or give the target a mesh of its own: { target: ..., mesh: { axes: ... } }"


def make_mesh(request: MeshRequest, target: Target, advice: str = IN_A_CONTRACT) -> Mesh:
    """The mesh that was asked for over the target's devices, laid out as the machine is, with Auto axes.

    `advice` says what to change where it does not fit.
    Raises StepFailure where the sizes do not multiply to the number of devices or do not fit the machine.
    """
    sizes = tuple(request.axes.values())
    if math.prod(sizes) != target.device_count:
        product = " x ".join(f"{name}={size}" for name, size in request.axes.items())
        raise StepFailure(
            f"the mesh {product} needs {math.prod(sizes)} devices, but {target.name} has {target.device_count}",
            help=advice,
            key=("mesh", "axes"),
        )
    return Mesh(
        target.arranged(request.axes, request.dcn), tuple(request.axes), axis_types=(AxisType.Auto,) * len(sizes)
    )


def default_axes(target: Target) -> MeshRequest:
    """One axis `data` over all devices: where a build function wants a mesh and nobody has named one."""
    slices = len({getattr(device, "slice_index", 0) for device in target.devices()})
    dcn = {"data": slices} if slices > 1 and target.platform == "tpu" else {}
    return MeshRequest(axes={"data": target.device_count}, dcn=dcn)


def load_builder(request: StepRequest, paths: FramePaths) -> Any:
    """Import the build function of a step. Raises StepFailure with the user's own frames."""
    name = request.name
    key = ("step", name, "entry")
    return load_entry(request.entry, request.path, paths, key, f"step.{name}.path", request.fallback_path)


def takes_mesh(builder: Any, args: Mapping[str, Any]) -> str | None:
    """The name of the parameter that wants the mesh, if there is one: `mesh`, or a first one without value."""
    try:
        parameters = list(inspect.signature(builder).parameters.values())
    except (TypeError, ValueError):
        return None
    if any(p.name == "mesh" for p in parameters):
        return "mesh"
    first = parameters[0] if parameters else None
    if first is not None and first.kind in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD):
        return first.name if first.default is first.empty and first.name not in args else None
    return None


def _has_default(builder: Any, parameter: str) -> bool:
    """Whether the function says itself what it does without a mesh."""
    known = inspect.signature(builder).parameters[parameter]
    return known.default is not known.empty


def call_build(
    builder: Any, request: StepRequest, args: Mapping[str, Any], mesh: Mesh | None, static: Any = None
) -> NormalisedStep:
    """Call the user's build function and normalise what it returns; the user's exceptions pass through.

    Raises StepFailure where arguments do not fit the function or it needs a mesh that the contract does not give.
    """
    parameter = takes_mesh(builder, args)
    if parameter is not None and mesh is None and _has_default(builder, parameter):
        parameter = None
    if parameter is not None and mesh is None:
        raise StepFailure(
            f"`{request.entry}` takes `{parameter}`, but the contract has no `mesh` section",
            help="add e.g. mesh: { axes: { data: 8 } }",
            key=("step", request.name, "entry"),
        )
    positional: tuple[Any, ...] = ()
    keywords = dict(args)
    if parameter is not None:
        kind = inspect.signature(builder).parameters[parameter].kind
        if kind is inspect.Parameter.KEYWORD_ONLY:
            keywords[parameter] = mesh
        elif next(iter(inspect.signature(builder).parameters)) == parameter:
            positional = (mesh,)
        else:
            keywords[parameter] = mesh
    try:
        inspect.signature(builder).bind(*positional, **keywords)
    except TypeError as error:
        raise StepFailure(
            f"`{request.entry}` cannot be called with the contract's args ({', '.join(args) or 'none'}): {error}",
            help=f"its signature is {request.entry.partition(':')[2]}{inspect.signature(builder)}",
            key=("step", request.name, "args"),
        ) from None
    except ValueError:
        pass  # a builtin without signature: let the call itself say what does not fit
    try:
        built = builder(*positional, **keywords)
    except StepFailure as error:
        if error.key[:1] != ("args",):
            raise
        # An adapter knows its arguments, not the step's name in the contract.
        raise StepFailure(error.message, error.location, error.help, ("step", request.name, *error.key)) from None
    return with_concrete_mesh(as_step(built, static), mesh)


def with_concrete_mesh(step: NormalisedStep, mesh: Mesh | None) -> NormalisedStep:
    """Abstract leaves that carry an AbstractMesh (as `eval_shape` of an optimizer gives them) get a concrete one."""
    from dataclasses import replace

    leaves = jax.tree.leaves((step.args, step.kwargs))
    concrete = {
        leaf.sharding.mesh.abstract_mesh: leaf.sharding.mesh
        for leaf in leaves
        if isinstance(getattr(leaf, "sharding", None), NamedSharding) and isinstance(leaf.sharding.mesh, Mesh)
    }

    def rebuild(leaf: Any) -> Any:
        sharding = getattr(leaf, "sharding", None)
        if not isinstance(leaf, jax.ShapeDtypeStruct) or not isinstance(sharding, NamedSharding):
            return leaf
        if not isinstance(sharding.mesh, AbstractMesh):
            return leaf
        found = concrete.get(sharding.mesh) or _over_devices(sharding.mesh, mesh)
        if found is None:
            return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, weak_type=leaf.weak_type)
        placed = NamedSharding(found, sharding.spec, memory_kind=sharding.memory_kind)
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=placed, weak_type=leaf.weak_type)

    args, kwargs = jax.tree.map(rebuild, (step.args, step.kwargs))
    return replace(step, args=args, kwargs=kwargs)


def _over_devices(abstract: AbstractMesh, mesh: Mesh | None) -> Mesh | None:
    """The abstract mesh's axes over the devices of a concrete one, where the numbers agree."""
    if mesh is None or abstract.empty or math.prod(abstract.axis_sizes) != mesh.devices.size:
        return None
    return Mesh(mesh.devices.reshape(abstract.axis_sizes), abstract.axis_names, axis_types=abstract.axis_types)


def project_paths(request_root: str, steps: list[StepRequest]) -> FramePaths:
    """Frame paths for all steps of one request."""
    return FramePaths(Path(request_root), [Path(folder) for step in steps for folder in step.path])
