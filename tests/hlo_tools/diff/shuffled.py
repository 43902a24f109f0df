"""The same program under other names and in another order: what a diff must not see."""

from __future__ import annotations

import heapq
import random
import re

from contract_lint.hlo_tools.module import Computation, HloModule, Instruction
from contract_lint.hlo_tools.text.attributes import CALLED_KEYS

_NAME = r"[A-Za-z0-9_.\-]+"
_OPERAND = re.compile(rf"(%?)({_NAME})((?:#\d+)*)$")
_CALLED = re.compile(rf"\b({'|'.join(CALLED_KEYS)})=(?:{{([^{{}}]*)}}|%?({_NAME}))")
_PREDECESSOR = re.compile(r"control-predecessors={([^{}]*)}")


def shuffled(module: HloModule, seed: int = 0, rename: bool = True) -> str:
    """The module's text with independent instructions in another order and, with `rename`, under other names."""
    chance = random.Random(seed)
    computations = {
        c.name: f"region_{chance.getrandbits(40):x}.{n}.clone" if rename else c.name
        for n, c in enumerate(module.computations)
    }
    head = module.text[: module.computations[0]._indexed.header.start()]  # type: ignore[union-attr]
    tables = [f"{name}\n{rows.strip()}\n" for name, rows in module._tables.items()]
    parts = [head.rstrip(), "", *tables, ""]
    for computation in module.computations:
        parts += [_computation(computation, computations, chance, rename), ""]
    return "\n".join(parts)


def _computation(computation: Computation, computations: dict[str, str], chance: random.Random, rename: bool) -> str:
    names = {made.name: f"v{chance.getrandbits(40):x}.{made.index}" if rename else made.name for made in computation}
    entry = "ENTRY " if computation is computation.module.entry else ""
    lines = [f"{entry}%{computations[computation.name]} {{"]
    for made in _any_order(computation, chance):
        lines.append("  " + _instruction(made, names, computations))
    return "\n".join([*lines, "}"])


def _instruction(made: Instruction, names: dict[str, str], computations: dict[str, str]) -> str:
    shape, operands, end = made._span  # type: ignore[misc]
    text = made.module.text
    inside = made.operand_text
    rest = text[operands + len(inside) + 1 : end]
    if made.opcode not in ("constant", "parameter"):
        inside = ", ".join(_operand(part, names) for part in _split(inside))
    root = "ROOT " if made.is_root else ""
    before = text[shape:operands]
    return f"{root}%{names[made.name]} = {before}{inside}){_attributes(rest, names, computations)}"


def _operand(text: str, names: dict[str, str]) -> str:
    text = text.strip()
    match = _OPERAND.search(text)
    if match is None or match[2] not in names:
        return text
    return f"{text[: match.start()]}%{names[match[2]]}{match[3]}"


def _split(text: str) -> list[str]:
    """Operands at the outer commas."""
    parts, depth, start = [], 0, 0
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    for at, character in enumerate(text):
        if character in "({[":
            depth += 1
        elif character in ")}]":
            depth -= 1
        elif character == "," and not depth:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]] if text.strip() else []


def _attributes(text: str, names: dict[str, str], computations: dict[str, str]) -> str:
    def renamed(word: str) -> str:
        bare = word.strip().lstrip("%")
        return f"%{computations[bare]}" if bare in computations else word

    def called(match: re.Match[str]) -> str:
        if match[2] is not None:
            return f"{match[1]}={{{', '.join(renamed(word) for word in match[2].split(','))}}}"
        return f"{match[1]}={renamed(match[3])}"

    def predecessors(match: re.Match[str]) -> str:
        found = (names.get(word.strip().lstrip("%"), word.strip()) for word in match[1].split(","))
        return f"control-predecessors={{{', '.join(f'%{word}' for word in found)}}}"

    pieces, at = [], 0
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"', text):
        pieces += [_PREDECESSOR.sub(predecessors, _CALLED.sub(called, text[at : match.start()])), match[0]]
        at = match.end()
    return "".join([*pieces, _PREDECESSOR.sub(predecessors, _CALLED.sub(called, text[at:]))])


def _any_order(computation: Computation, chance: random.Random) -> list[Instruction]:
    """Each instruction after what it reads and waits for, otherwise in any order."""
    waiting: dict[str, int] = {}
    readers: dict[str, list[Instruction]] = {}
    for made in computation:
        needs = {name for operand in made.operands for name in [operand.name.split("#")[0]]}
        listed = _PREDECESSOR.search(f"control-predecessors={made.attributes.get('control-predecessors', '{}')}")
        needs |= {word.strip().lstrip("%") for word in listed[1].split(",")} if listed else set()
        needs = {name for name in needs if computation.find(name) is not None and name != made.name}
        waiting[made.name] = len(needs)
        for name in needs:
            readers.setdefault(name, []).append(made)
    ready = [(chance.random(), made.name) for made in computation if not waiting[made.name]]
    heapq.heapify(ready)
    order = []
    while ready:
        made = computation.find(heapq.heappop(ready)[1])
        assert made is not None
        order.append(made)
        for reader in readers.get(made.name, ()):
            waiting[reader.name] -= 1
            if not waiting[reader.name]:
                heapq.heappush(ready, (chance.random(), reader.name))
    assert len(order) == len(computation)
    return order
