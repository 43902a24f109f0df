"""Devices of a collective: each in one group, none left out between them, none that the program does not have."""

from __future__ import annotations

from functools import lru_cache

from ...contracts.errors import ContractLintError
from ..instruction import Instruction
from ..located import at
from ..module import Computation
from ..participants import device_count, groups_text, id_mode
from ..replica_groups import parse_groups
from ..transfers import KINDS


def require_groups(computation: Computation) -> None:
    """Raises ContractLintError for groups that XLA's verifier refuses, and for a permute beyond the program's devices.

    As there, counts that are 1 are not held against the groups: tools that make a program leave them out.
    """
    opcodes = computation.opcodes()
    if not KINDS.keys().isdisjoint(opcodes):
        for position, opcode in enumerate(opcodes):
            if opcode in KINDS:
                _require(computation.instruction_at(position))


def _require(instruction: Instruction) -> None:
    kind = KINDS[instruction.opcode]
    if kind == "send-recv":
        return
    text = groups_text(instruction)
    with at(instruction):
        said = _unlike_groups(text) if kind != "collective-permute" else None
        many = _limit(instruction, kind)
        numbered = _numbered(text)
    if said is None and many > 1:
        if kind == "collective-permute":
            if numbered > many:
                said = f"pairs name device {numbered - 1}, the program has {many:,}"
        elif numbered and numbered != many:
            said = f"groups name {numbered:,} devices, the program has {many:,}"
    if said is not None:
        where = f"instruction {instruction.name!r}: its {said}: {text[:80]}"
        raise ContractLintError(where, instruction.location)


def _limit(instruction: Instruction, kind: str) -> int:
    """How many devices the numbers may name; 1 where that is not held against them."""
    module = instruction.module
    replicas, partitions = module.replica_count, module.num_partitions
    if kind == "collective-permute":
        return device_count(module, ())
    mode = id_mode(instruction)
    if mode == "flat":
        return replicas * partitions if replicas > 1 and partitions > 1 else 1
    return partitions if mode == "partition" else replicas


@lru_cache(maxsize=4096)
def _numbered(text: str) -> int:
    """One more than the largest device."""
    return 1 + max((max(group) for group in parse_groups(text) if group), default=-1)


@lru_cache(maxsize=4096)
def _unlike_groups(text: str) -> str | None:
    """What makes these no groups."""
    groups = parse_groups(text)
    devices = [device for group in groups for device in group]
    known = set(devices)
    if groups and not all(groups):
        return "groups hold an empty one"
    if len(known) < len(devices):
        twice = min(device for device in known if devices.count(device) > 1) if len(devices) < 4096 else "one"
        return f"groups name device {twice} twice"
    largest = max(known, default=-1)
    if largest >= len(known):
        missing = next(device for device in range(largest) if device not in known)
        return f"groups name device {largest:,} and not device {missing:,}"
    return None
