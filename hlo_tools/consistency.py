"""Facts of a capture held against each other, its mesh and its program: figures that contradict prove nothing.

A digest shows that a file is the one the manifest lists, not that its figures are true. What a reader can check without
compiling again is checked here, so that a fact that was lost or edited is an error and never a promise kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from math import prod

from ..contracts.errors import ContractLintError
from ..contracts.finding import Location
from ..contracts.manifest import Leaf, Manifest, MeshFact, Phase, RunFacts, StepFacts
from ..contracts.target_name import parse_target
from .instruction import Instruction
from .module import HloModule
from .proto import HloProto
from .shape import numpy_dtype

PHASES: tuple[Phase, ...] = ("build", "trace", "lower", "compile", "read", "run")
PROGRAM = "optimized.hlo.txt.gz"

_ALIAS = re.compile(r"\(\s*(\d+),\s*\{[^{}]*\},\s*(?:may|must)-alias\)")
_WIDTH = re.compile(r"(?:u?int|b?float|complex)(\d+)(?:_e\w+)?")
AGAIN = "make the capture again with `contract-lint capture CONTRACT -o DIR`"


def check_manifest(manifest: Manifest, place: Location) -> None:
    """The mesh fits the devices, and the devices the target. Raises ContractLintError for the first that does not."""
    for problem in _manifest_problems(manifest):
        raise ContractLintError(f"the manifest contradicts itself: {problem}", place, AGAIN)


def check_facts(facts: StepFacts, name: str, manifest: Manifest, place: Location) -> None:
    """The facts of step `name` are those its stage demands and agree with each other and with the step's mesh.

    Raises ContractLintError for the first that is missing or contradicts another.
    """
    for problem in _mesh_problems(facts.mesh, manifest.devices):
        raise ContractLintError(f"the facts of step `{name}` contradict each other: {problem}", place, AGAIN)
    for problem in _missing(facts, name, manifest.files):
        raise ContractLintError(f"half a capture of step `{name}`: {problem}", place, AGAIN)
    for problem in _contradictions(facts, name, mesh_of(facts, manifest)):
        raise ContractLintError(f"the facts of step `{name}` contradict each other: {problem}", place, AGAIN)


def mesh_of(facts: StepFacts, manifest: Manifest) -> MeshFact | None:
    """The mesh of one step: its own where the steps of a capture do not share one."""
    return facts.mesh or manifest.mesh


def check_run(run: RunFacts, place: Location) -> None:
    """The figures of the executed loop fit its number of steps. Raises ContractLintError where they do not."""
    for problem in _run_problems(run):
        raise ContractLintError(f"the facts of the run contradict each other: {problem}", place, AGAIN)


def check_assignment(facts: StepFacts, target: str, proto: HloProto, place: Location) -> None:
    """XLA's sum of the arguments is that of its buffer assignment.

    Only on CPU targets: other backends may count what an assignment does not hold. Raises ContractLintError.
    """
    if facts.memory is None or proto.assignment is None or not target.startswith("cpu:"):
        return
    held = sum(a.size for a in proto.assignment.allocations if a.is_entry_parameter)
    if held != facts.memory.argument_bytes:
        raise ContractLintError(
            f"the facts are not those of the program beside them: its arguments take {held:,} bytes, "
            f"`memory.argument_bytes` is {facts.memory.argument_bytes:,}",
            place,
            AGAIN,
        )


def check_program(facts: StepFacts, mesh: MeshFact | None, module: HloModule, place: Location) -> None:
    """The arguments in the facts are the entry parameters of the optimised program: number, shape, dtype, aliasing.

    Raises ContractLintError for the first that is not.
    """
    for problem in _program_problems(facts, mesh, module):
        raise ContractLintError(f"the facts are not those of the program beside them: {problem}", place, AGAIN)


def _manifest_problems(manifest: Manifest) -> Iterator[str]:
    try:
        devices = parse_target(manifest.provenance.target).devices
    except ValueError:
        devices = manifest.devices  # a target of a later version
    if devices != manifest.devices:
        yield f"`devices` is {manifest.devices}, target {manifest.provenance.target} has {devices}"
    yield from _mesh_problems(manifest.mesh, manifest.devices)


def _mesh_problems(mesh: MeshFact | None, devices: int) -> Iterator[str]:
    if mesh is None:
        return
    size = prod(mesh.axes.values())
    if size > devices:
        yield f"the mesh {_axes(mesh.axes)} has {size} devices, the target {devices}"
    if mesh.device_ids and (len(mesh.device_ids) != size or len(set(mesh.device_ids)) != size):
        yield f"the mesh {_axes(mesh.axes)} has {size} devices, `mesh.device_ids` names {len(set(mesh.device_ids))}"
    if mesh.axis_types and len(mesh.axis_types) != len(mesh.axes):
        yield f"the mesh has {len(mesh.axes)} axes, `mesh.axis_types` {len(mesh.axis_types)}"
    for axis, parts in mesh.dcn.items():
        if axis not in mesh.axes or mesh.axes[axis] % parts:
            yield f"`mesh.dcn` gives axis {axis} {parts} parts, the mesh is {_axes(mesh.axes)}"


def _missing(facts: StepFacts, name: str, files: Iterable[str]) -> Iterator[str]:
    """What is not there, although the step got far enough to make it."""
    reached = len(PHASES) if facts.error is None else PHASES.index(facts.error.phase)
    if reached > PHASES.index("trace") and facts.jaxpr is None:
        yield "`jaxpr` is empty, although the step was traced"
    if reached <= PHASES.index("compile"):
        return
    if f"{name}/{PROGRAM}" not in files:
        yield f"there is no {PROGRAM}, although the step was compiled"
    if facts.memory is None and f"{name}/optimized.hlo.pb.gz" in files:
        yield "`memory` is empty, although the program has its buffer assignment"


def _contradictions(facts: StepFacts, name: str, mesh: MeshFact | None) -> Iterator[str]:
    if facts.step != name:
        yield f"`step` is {facts.step!r}"
    known = set(facts.argument_names)
    for key, names in (("donate", facts.donate), ("static", facts.static), ("carry", facts.carry.values())):
        for argument in names:
            if argument not in known:
                yield f"`{key}` names {argument!r}, which is no argument"
    sizes = dict(mesh.axes) if mesh is not None else {}
    for key, leaves in (("arguments", facts.arguments), ("outputs", facts.outputs)):
        for index, leaf in enumerate(leaves):
            for problem in _leaf_problems(leaf, sizes):
                yield f"`{key}[{index}]` ({leaf.argument or 'output'} {leaf.path}): {problem}".replace(" )", ")")
    for index, leaf in enumerate(facts.arguments):
        if known and leaf.argument not in known:
            yield f"`arguments[{index}]` belongs to {leaf.argument!r}, which is no argument"
    if facts.memory is not None:
        on_device = [leaf for leaf in facts.arguments if leaf.parameter is not None and not leaf.host]
        whole = [leaf for leaf in on_device if (_bits(leaf.dtype) or 0) >= 8]
        held = sum(leaf.bytes or 0 for leaf in whole)
        if held > facts.memory.argument_bytes:
            yield f"the arguments take {held:,} bytes, `memory.argument_bytes` is {facts.memory.argument_bytes:,}"
        if facts.memory.alias_bytes > facts.memory.output_bytes:
            yield (
                f"`memory.alias_bytes` is {facts.memory.alias_bytes:,}, "
                f"`memory.output_bytes` only {facts.memory.output_bytes:,}"
            )


def _leaf_problems(leaf: Leaf, sizes: dict[str, int]) -> Iterator[str]:
    """Shape, placement and bytes of one array against each other; an axis splits evenly at the border of jit."""
    local, spec = leaf.local_shape, leaf.spec
    if local is None:
        if leaf.parameter is not None:
            yield "the compiled program has it, `local_shape` does not say how"
        if leaf.bytes is not None or spec is not None:
            yield "`bytes` or `spec` without a `local_shape`"
        return
    if len(local) != len(leaf.shape) or (spec is not None and len(spec) != len(leaf.shape)):
        yield f"`shape` {leaf.shape}, `local_shape` {local} and `spec` {spec} are not of one rank"
        return
    used = [axis for axes in spec or () for axis in axes]
    unknown = sorted(set(used) - set(sizes))
    if unknown:
        yield f"`spec` names {unknown[0]!r}, which is no axis of the mesh {_axes(sizes)}"
        return
    if len(set(used)) < len(used):
        yield f"`spec` {spec} names an axis twice"
    for whole, part, axes in zip(leaf.shape, local, spec or (), strict=False):
        parts = prod(sizes[axis] for axis in axes)
        if part * parts != whole:
            yield f"{whole} over {', '.join(axes) or 'no axis'} is {whole / parts:g}, `local_shape` says {part}"
            return
    bits = _bits(leaf.dtype)
    if leaf.bytes is None:
        yield "`local_shape` without `bytes`"
    elif bits is not None and leaf.bytes != prod(local) * max(bits, 8) // 8:
        yield f"{local} of {leaf.dtype} are {prod(local) * max(bits, 8) // 8:,} bytes, `bytes` says {leaf.bytes:,}"


def _run_problems(run: RunFacts) -> Iterator[str]:
    if len(run.losses) + len(run.not_finite) > run.steps:
        yield f"{len(run.losses) + len(run.not_finite)} losses of {run.steps} steps"
    for key, indices in (
        ("not_finite", run.not_finite),
        ("compiles", [event.index for event in run.compiles]),
        ("transfers", [event.index for event in run.transfers]),
    ):
        late = max(indices, default=-1)
        if late >= run.steps:
            yield f"`{key}` speaks of step {late}, the loop ran {run.steps}"
    if run.error is None and not run.compiles:
        yield "the step ran, `compiles` holds not even its first"


def _program_problems(facts: StepFacts, mesh: MeshFact | None, module: HloModule) -> Iterator[str]:
    partitions = module.num_partitions * module.replica_count
    size = prod(mesh.axes.values()) if mesh is not None else 1
    # libtpu makes one program for each slice: collectives across slices are sends and receives in it.
    slices = prod(mesh.dcn.values()) if mesh is not None else 1
    if partitions not in (1, size, size // slices):
        yield f"it runs on {partitions} devices, the mesh has {size}"
    parameters = {number: made for made in _parameters(module) if (number := made.parameter_number) is not None}
    kept = {leaf.parameter: leaf for leaf in facts.arguments if leaf.parameter is not None}
    if len(kept) < sum(leaf.parameter is not None for leaf in facts.arguments):
        yield "two arguments are one parameter"
    # Effect tokens and constants that JAX hoisted out of the step stand before its own arguments.
    before = len(parameters) - len(kept)
    hoisted = 0 if facts.jaxpr is None else len(facts.jaxpr.constants) + len(facts.jaxpr.callbacks)
    if before > 0 and (before > hoisted or sorted(kept) != list(range(before, len(parameters)))):
        yield f"it has {len(parameters)} parameters, `arguments` explain {len(kept)} of them"
    aliased = {int(number) for number in _ALIAS.findall(module.attributes.get("input_output_alias", ""))}
    for number, leaf in sorted(kept.items()):
        made = parameters.get(number)
        name = f"{leaf.argument} {leaf.path}".rstrip()
        if made is None:
            yield f"it has no parameter {number}, which {name} should be"
            return
        shape = made.shape
        if _bits(leaf.dtype) is not None and (list(shape.dims), numpy_dtype(shape.dtype)) != (
            leaf.local_shape,
            leaf.dtype,
        ):
            yield f"parameter {number} is {shape.text}, {name} is said to be {leaf.dtype}{leaf.local_shape}"
        if leaf.aliased != (number in aliased):
            is_not = "is" if number in aliased else "is not"
            yield f"parameter {number}, {name}, {is_not} aliased with an output in it; `aliased` says otherwise"


def _parameters(module: HloModule) -> Iterator[Instruction]:
    entry = module.entry
    for position, opcode in enumerate(entry.opcodes()):
        if opcode == "parameter":
            yield entry.instruction_at(position)


def _bits(dtype: str) -> int | None:
    """Bits of one element by the dtype's name; None for random keys and whatever is no plain number."""
    if dtype == "bool":
        return 8
    match = _WIDTH.fullmatch(dtype)
    return int(match[1]) if match else None


def _axes(axes: dict[str, int]) -> str:
    return " x ".join(f"{axis}={size}" for axis, size in axes.items()) or "without axes"
