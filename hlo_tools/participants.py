"""Which devices take part in a collective: replica groups read with the instruction's id mode."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from ..contracts.errors import ContractLintError
from ..contracts.manifest import MeshFact
from .instruction import Instruction
from .located import at
from .module import MAX_DEVICES, HloModule
from .replica_groups import Groups, parse_groups, parse_mesh_groups
from .transfers import KINDS

# Kinds that list (source, target) pairs.
PAIRED = frozenset(("collective-permute", "send-recv"))
# With a channel, these number partitions; all-gather, all-reduce and reduce-scatter say use_global_device_ids instead.
_PARTITION_IDS = frozenset(
    ("all-to-all", "ragged-all-to-all", "collective-broadcast", "collective-permute", "send-recv")
)
_SEND_PAIRS = "_xla_send_recv_source_target_pairs"


@dataclass(frozen=True, slots=True)
class Participants:
    """`groups` in flat partition numbers (replica * partitions + partition), pairs for a permute; `size` of the
    largest group; `moves` is False where every pair of a permute stays on its device."""

    groups: Groups
    size: int
    moves: bool = True


def groups_text(instruction: Instruction) -> str:
    """The attribute that lists groups or pairs, as printed; empty where there is none."""
    attributes = instruction.attributes
    if KINDS.get(instruction.opcode) in PAIRED:
        if "source_target_pairs" in attributes:
            return attributes["source_target_pairs"]
        return instruction.frontend_attributes.get(_SEND_PAIRS, "")
    return attributes.get("replica_groups", "")


def device_count(module: HloModule, found: Iterable[Instruction]) -> int:
    """replica_count * num_partitions; where the header says neither, one more than the largest device number used."""
    attributes = module.attributes
    if "num_partitions" in attributes or "replica_count" in attributes:
        count = module.num_partitions * module.replica_count
        if count > MAX_DEVICES:
            message = f"{module.num_partitions} partitions x {module.replica_count} replicas are no machine that exists"
            raise ContractLintError(message, module.location(0))
        return count
    largest = 1
    for instruction in found:
        with at(instruction):
            largest = max(largest, _largest(groups_text(instruction)))
    return largest


@lru_cache(maxsize=4096)
def _largest(text: str) -> int:
    return 1 + max((max(group) for group in parse_groups(text) if group), default=-1)


def named_mesh(found: Iterable[Instruction], devices: int) -> MeshFact | None:
    """The mesh the program itself names: one named mesh of all devices in order, the same wherever one is."""
    meshes = set()
    for instruction in found:
        text = groups_text(instruction)
        if "mesh" in text:
            with at(instruction):
                mesh = parse_mesh_groups(text)
            if mesh and mesh.is_named and mesh.is_ordered and prod(size for _, size in mesh.axes) == devices:
                meshes.add(mesh.axes)
    if len(meshes) != 1:
        return None
    return MeshFact(axes=dict(meshes.pop()))


def id_mode(instruction: Instruction) -> str:
    """What the numbers in the groups of a collective are.

    xla/hlo/ir/collective_op_group_mode.h: no channel: `replica` numbers, each partition for itself; channel and
    use_global_device_ids: `flat` numbers; channel without it: replica numbers, all partitions of them together
    (`both`); all-to-all, permute, broadcast with a channel: `partition` numbers, each replica for itself.
    """
    if not _has_channel(instruction):
        return "replica"
    if KINDS[instruction.opcode] in _PARTITION_IDS:
        return "partition"
    return "flat" if instruction.attributes.get("use_global_device_ids") == "true" else "both"


def _has_channel(instruction: Instruction) -> bool:
    return instruction.attributes.get("channel_id", "0") != "0"


def participants(instruction: Instruction, module: HloModule, devices: int, ratio: int = 0) -> Participants:
    """The groups of one collective.

    `ratio` is the group size that shapes imply, for a text that says nothing else.
    """
    kind = KINDS[instruction.opcode]
    text = groups_text(instruction)
    header = module.attributes
    replicas = module.replica_count
    partitions = module.num_partitions
    channel = _has_channel(instruction)
    if "num_partitions" not in header and "replica_count" not in header and devices > 1:
        # A text that says neither: the numbers in its groups are all there is.
        replicas, partitions = (1, devices) if channel and kind in _PARTITION_IDS else (devices, 1)
    if kind in PAIRED:
        return _pairs(text, channel, replicas, partitions)
    groups = _expanded(text, id_mode(instruction), replicas, partitions)
    size = max((len(group) for group in groups), default=1)
    if devices == 1 and size == 1 and ratio > 1 and not parse_groups(text):
        if ratio > MAX_DEVICES:
            raise ContractLintError(f"{ratio} devices in one group are no machine that exists")
        return Participants((tuple(range(ratio)),), ratio)
    return Participants(groups, size)


@lru_cache(maxsize=4096)
def _expanded(text: str, mode: str, replicas: int, partitions: int) -> Groups:
    groups = parse_groups(text)
    if mode == "flat":
        return groups or (tuple(range(replicas * partitions)),)
    if mode == "replica":
        groups = groups or (tuple(range(replicas)),)
        if partitions == 1:
            return groups
        return tuple(tuple(r * partitions + p for r in group) for group in groups for p in range(partitions))
    if mode == "both":
        groups = groups or (tuple(range(replicas)),)
        return tuple(tuple(r * partitions + p for r in group for p in range(partitions)) for group in groups)
    groups = groups or (tuple(range(partitions)),)
    if replicas == 1:
        return groups
    return tuple(tuple(r * partitions + p for p in group) for r in range(replicas) for group in groups)


@lru_cache(maxsize=4096)
def _pairs(text: str, channel: bool, replicas: int, partitions: int) -> Participants:
    """Pairs in flat numbers; `size` counts the devices of the largest ring or chain they form."""
    pairs = tuple(pair for pair in parse_groups(text) if len(pair) == 2)
    if channel and replicas > 1:
        pairs = tuple((r * partitions + s, r * partitions + t) for r in range(replicas) for s, t in pairs)
    elif not channel and partitions > 1:
        pairs = tuple((s * partitions + p, t * partitions + p) for s, t in pairs for p in range(partitions))
    leader: dict[int, int] = {}

    def find(device: int) -> int:
        while leader.setdefault(device, device) != device:
            leader[device] = leader[leader[device]]
            device = leader[device]
        return device

    for source, target in pairs:
        leader[find(source)] = find(target)
    members: dict[int, int] = {}
    for device in list(leader):
        top = find(device)
        members[top] = members.get(top, 0) + 1
    moves = any(source != target for source, target in pairs)
    return Participants(pairs, max(members.values(), default=1), moves)
