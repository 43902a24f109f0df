"""What one step of a program does, counted: operations, kernels, loops and host calls by meaning and place.

Executions are multiplied in, so a loop of four layers and four layers written out give the same counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..cost.opcodes import PLUMBING, base
from ..instruction import Instruction
from ..loops import Executions, executions
from ..module import Computation, HloModule
from ..text.attributes import unquote
from ..transfers import KINDS
from .fingerprint import Fingerprints
from .keys import Keys, called_by
from .place import Place, Places

HOST_OPCODES = frozenset(("infeed", "outfeed"))
HOST_SPACE = 5
_ENDS = ("-done", "-update")
_FUSES = frozenset(("fusion", "custom-call", "fusion-start"))
_NO_WORK = PLUMBING | {"fusion", "fusion-start"}
# Of these the result's type does not tell what they read.
_READS_TYPES = frozenset(("dot", "convolution", "convert", "custom-call", "ragged-dot", "scaled-dot"))


@dataclass(slots=True)
class Tally:
    """One meaning at one place: executions per step, bytes of results per step, and an instruction that shows it."""

    sample: Instruction
    count: int = 0
    bytes: int = 0

    def add(self, count: int, size: int) -> None:
        self.count += count
        self.bytes += count * size


@dataclass(slots=True)
class Kernel:
    """One instruction that runs by itself, with what is fused into it: (key, place) of each operation."""

    instruction: Instruction
    key: int
    place: Place
    count: int
    content: tuple[tuple[int, Place], ...] = ()


@dataclass(slots=True)
class Census:
    """The counts of one module."""

    module: HloModule
    runs: Executions
    operations: dict[int, dict[Place, Tally]] = field(default_factory=dict)
    kernels: list[Kernel] = field(default_factory=list)
    layouts: dict[tuple[str, Place], dict[str, int]] = field(default_factory=dict)
    """(shape, place) -> layouts of what kernels write there, executions counted."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Shape -> bytes, of what kernels write."""
    loops: dict[Place, list[int | None]] = field(default_factory=dict)
    """Rounds of each loop, None where the program does not tell."""
    host: dict[tuple[str, Place], Tally] = field(default_factory=dict)
    """Callbacks, infeeds, outfeeds and transfers to or from host memory."""
    places: Places = field(default_factory=Places)


def census(module: HloModule, keys: Keys, fingerprints: Fingerprints) -> Census:
    """The census of what the entry reaches. Raises ContractLintError for what cannot be read."""
    runs = executions(module)
    made = Census(module, runs)
    fused = _fused(module)
    contents: dict[str, tuple[tuple[int, Place], ...]] = {}
    for computation in module.computations:
        run = runs.of(computation)
        if not run.count:
            continue
        if computation.name in fused:
            contents[computation.name] = tuple(_operations(made, computation, keys, fingerprints, run.count).values())
    for computation in module.computations:
        run = runs.of(computation)
        if run.count and computation.name not in fused:
            _kernels(made, computation, keys, fingerprints, run.count, contents)
    return made


def _fused(module: HloModule) -> frozenset[str]:
    """Computations whose instructions run inside a kernel."""
    found: set[str] = set()
    for computation in module.computations:
        for position, opcode in enumerate(computation.opcodes()):
            if opcode in _FUSES:
                found.update(callee.name for callee in computation.instruction_at(position).called)
    return frozenset(found)


def _operations(
    made: Census, computation: Computation, keys: Keys, fingerprints: Fingerprints, count: int
) -> dict[int, tuple[int, Place]]:
    """Counts the operations of a computation, fusions and collectives left out; (key, place) of each by position."""
    found: dict[int, tuple[int, Place]] = {}
    for position, opcode in enumerate(computation.opcodes()):
        if opcode in _NO_WORK or opcode.endswith(_ENDS):
            continue
        instruction = computation.instruction_at(position)
        place = made.places.of(instruction)
        host = host_kind(instruction)
        if host is not None:
            _add(made.host, (host, place), instruction, count)
        if opcode not in KINDS:
            key = meaning(instruction, keys, fingerprints)
            _add(made.operations.setdefault(key, {}), place, instruction, count)
            found[position] = key, place
    return found


def _kernels(
    made: Census,
    computation: Computation,
    keys: Keys,
    fingerprints: Fingerprints,
    count: int,
    contents: dict[str, tuple[tuple[int, Place], ...]],
) -> None:
    own = _operations(made, computation, keys, fingerprints, count)
    for position, opcode in enumerate(computation.opcodes()):
        if opcode == "while":
            loop = computation.instruction_at(position)
            made.loops.setdefault(made.places.of(loop), []).append(made.runs.trip_counts.get(loop.name))
        if opcode in PLUMBING or opcode.endswith(_ENDS):
            continue
        instruction = computation.instruction_at(position)
        if position in own:
            content = (own[position],)
            key, place = own[position]
        elif opcode in KINDS:
            content, place = (), made.places.of(instruction)
            key = keys.number(("collective", keys.own(instruction)))
        else:
            content = tuple(item for callee in instruction.called for item in contents.get(callee.name, ()))
            place = _place_of_fusion(made.places, instruction, content)
            key = keys.number(("kernel", tuple(sorted(key for key, _ in content))))
        made.kernels.append(Kernel(instruction, key, place, count, content))
        shape = keys.shape(instruction.shape)
        made.sizes.setdefault(shape, instruction.shape.bytes)
        layouts = made.layouts.setdefault((shape, place), {})
        layout = keys.layout(instruction.shape)
        layouts[layout] = layouts.get(layout, 0) + count


def _place_of_fusion(places: Places, fusion: Instruction, content: tuple[tuple[int, Place], ...]) -> Place:
    place = places.of(fusion)
    if place.source is not None or not content:
        return place
    return next((inner for _, inner in reversed(content) if inner.source is not None), place)


def meaning(instruction: Instruction, keys: Keys, fingerprints: Fingerprints) -> int:
    """The key of an operation: what it is, with the computations it applies (the sum of a reduction)."""
    own = keys.own(instruction)
    called = called_by(instruction)
    if instruction.opcode not in _READS_TYPES and not called:
        return own
    applied = tuple(fingerprints.computation(callee) for callee in called)
    read: tuple[str, ...] = ()
    if instruction.opcode in _READS_TYPES:
        read = tuple(keys.shape(operand.shape) for operand in instruction.operands)
    return keys.number(("operation", own, applied, read))


def host_kind(instruction: Instruction) -> str | None:
    """How an instruction talks to the host; None where it does not."""
    opcode = instruction.opcode
    if opcode in HOST_OPCODES:
        return opcode
    if opcode == "custom-call":
        target = unquote(instruction.attributes.get("custom_call_target", ""))
        return "callback" if "callback" in target else None
    if opcode in ("send", "recv") and instruction.attributes.get("is_host_transfer") == "true":
        return f"host {opcode}"
    if base(opcode) == "copy" and instruction.operands and not instruction.shape.is_tuple:
        here, there = instruction.shape.memory_space, instruction.operands[0].shape.memory_space
        if (here == HOST_SPACE) != (there == HOST_SPACE):
            return "offload" if here == HOST_SPACE else "fetch"
    return None


def _add(tallies: dict, key: object, instruction: Instruction, count: int) -> None:
    tally = tallies.get(key)
    if tally is None:
        tally = tallies[key] = Tally(instruction)
    tally.add(count, instruction.shape.bytes)
