"""How often a while loop runs: what the compiler wrote down, else what condition, initial value and step say."""

from __future__ import annotations

import re
from collections.abc import Callable

from .instruction import Instruction
from .module import Computation

# Written by XLA's while-loop-trip-count-annotator; older texts carry it as a string, newer ones as a number.
_KNOWN = re.compile(r"\"known_trip_count\"\s*:\s*\{\s*\"n\"\s*:\s*\"?(\d{1,18})\"?")
_SAME_VALUE = frozenset(
    ("copy", "bitcast", "convert", "reshape", "broadcast", "opt-barrier", "copy-done", "bitcast-convert")
)
_FLIPPED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "EQ": "EQ", "NE": "NE"}
# Chains of copies, fusions and adds longer than this are not followed.
_MAX_STEPS = 256

# A scalar as this file knows it: ("constant", n), ("state", element of the loop's tuple), ("sum", element, n).
Value = tuple[str, int] | tuple[str, int, int] | None


def trip_count(loop: Instruction) -> int | None:
    """Executions of the body of a `while`; None where the program does not tell.

    Derived from `compare(state[i], bound)` with state[i] starting at a constant and growing by one in the body; the
    bound may be a constant or a loop-invariant element that starts as a constant. Wrapped compares and adds (fusions
    and calls) are seen through.
    """
    config = loop.attributes.get("backend_config", "")
    match = _KNOWN.search(config.replace('\\"', '"')) if "known_trip_count" in config else None
    if match:
        return int(match[1])
    if len(loop.called) != 2 or not loop.operands:
        return None
    body, condition = loop.called
    return _derive(loop, body, condition)


def _derive(loop: Instruction, body: Computation, condition: Computation) -> int | None:
    compare = _see_through(condition.root)
    if compare is None:
        return None
    instruction, environment = compare
    if instruction.opcode != "compare" or len(instruction.operands) != 2:
        return None
    left = _value(instruction.operands[0], environment)
    right = _value(instruction.operands[1], environment)
    direction = instruction.attributes.get("direction", "")
    if left is None or right is None or direction not in _FLIPPED:
        return None
    if left[0] == "constant":
        left, right, direction = right, left, _FLIPPED[direction]
    if left[0] == "constant":
        return None
    shift = left[2] if len(left) == 3 else 0
    counter = left[1]
    bound = _bound(right, loop, body)
    start = _initial(loop, counter)
    step = _step(body, counter)
    if bound is None or start is None or not step:
        return None
    return _steps(start + shift, bound, step, direction)


def _steps(start: int, bound: int, step: int, direction: str) -> int | None:
    """How many values start, start + step, ... satisfy the comparison before the first that does not."""
    if direction == "NE":
        distance = bound - start
        return distance // step if distance % step == 0 and distance // step >= 0 else None
    if direction == "EQ":
        return 1 if start == bound else 0
    if direction in ("GT", "GE"):
        start, bound, step = -start, -bound, -step
        direction = "LT" if direction == "GT" else "LE"
    if direction == "LE":
        bound += 1
    if start >= bound:
        return 0
    return -((start - bound) // step) if step > 0 else None


def _bound(value: Value, loop: Instruction, body: Computation) -> int | None:
    if value is None:
        return None
    if value[0] == "constant":
        return value[1]
    if value[0] == "state" and _step(body, value[1]) == 0:
        return _initial(loop, value[1])
    return None


def _initial(loop: Instruction, element: int) -> int | None:
    """The constant the loop's tuple element starts as, looked for through copies and tuples."""
    instruction, index = loop.operands[0], element
    if len(loop.operands) > 1:
        if element >= len(loop.operands):
            return None
        return _constant(loop.operands[element])
    for _ in range(_MAX_STEPS):
        if instruction.opcode == "tuple":
            return _constant(instruction.operands[index]) if index < len(instruction.operands) else None
        if instruction.opcode in ("copy", "opt-barrier", "copy-done") and instruction.operands:
            instruction = instruction.operands[0]
            continue
        return None
    return None


def _constant(instruction: Instruction) -> int | None:
    value = _value(instruction, {})
    if value is not None and value[0] == "constant":
        return value[1]
    return None


def _step(body: Computation, element: int) -> int | None:
    """What the body adds to the element in one round; 0 where it hands it on unchanged."""
    root = body.root
    for _ in range(_MAX_STEPS):
        if root.opcode not in ("copy", "opt-barrier") or not root.operands:
            break
        root = root.operands[0]
    if root.opcode != "tuple" or element >= len(root.operands):
        return None
    value = _value(root.operands[element], {})
    if value is None or value[0] == "constant" or value[1] != element:
        return None
    return value[2] if len(value) == 3 else 0


Environment = dict[int, tuple[Instruction, "Environment"]]


def _see_through(instruction: Instruction) -> tuple[Instruction, Environment] | None:
    """The instruction that computes a value: past copies, and into fusions and calls with their arguments bound."""
    return _resolve(instruction, {}, lambda i: i.opcode == "compare")


def _resolve(
    instruction: Instruction, environment: Environment, wanted: Callable[[Instruction], bool]
) -> tuple[Instruction, Environment] | None:
    for _ in range(_MAX_STEPS):
        opcode = instruction.opcode
        if wanted(instruction):
            return instruction, environment
        if opcode in _SAME_VALUE and instruction.operands:
            instruction = instruction.operands[0]
        elif opcode == "parameter" and environment:
            number = instruction.parameter_number
            if number not in environment:
                return instruction, environment
            instruction, environment = environment[number]
        elif opcode in ("fusion", "call") and len(instruction.called) == 1:
            inner: Environment = {i: (o, environment) for i, o in enumerate(instruction.operands)}
            instruction, environment = instruction.called[0].root, inner
        elif opcode == "get-tuple-element" and instruction.operands:
            source = instruction.operands[0]
            index = instruction.tuple_index
            if source.opcode == "parameter" and not environment:
                return instruction, environment
            settled = _resolve_tuple(source, environment)
            if settled is None or index is None:
                return None
            source, environment = settled
            if source.opcode == "parameter":
                return (instruction, environment) if not environment else None
            if index >= len(source.operands):
                return None
            instruction = source.operands[index]
        else:
            return instruction, environment
    return None


def _resolve_tuple(instruction: Instruction, environment: Environment) -> tuple[Instruction, Environment] | None:
    """The `tuple`, or the parameter of the outermost computation, that a tuple-shaped value is."""
    for _ in range(_MAX_STEPS):
        opcode = instruction.opcode
        if opcode == "tuple":
            return instruction, environment
        if opcode == "parameter":
            number = instruction.parameter_number
            if number not in environment:
                return instruction, environment
            instruction, environment = environment[number]
        elif opcode in ("fusion", "call") and len(instruction.called) == 1:
            inner: Environment = {i: (o, environment) for i, o in enumerate(instruction.operands)}
            instruction, environment = instruction.called[0].root, inner
        elif opcode in _SAME_VALUE and instruction.operands:
            instruction = instruction.operands[0]
        else:
            return None
    return None


def _value(instruction: Instruction, environment: Environment) -> Value:
    """A scalar as constant, element of the loop's tuple, or element plus constant."""
    shift = 0
    for _ in range(_MAX_STEPS):
        found = _resolve(instruction, environment, lambda i: i.opcode in ("constant", "add", "subtract"))
        if found is None:
            return None
        instruction, environment = found
        if instruction.opcode == "constant":
            literal = instruction.literal
            return None if literal is None else ("constant", literal + shift)
        if instruction.opcode in ("add", "subtract") and len(instruction.operands) == 2:
            left, right = instruction.operands
            amount = _plain_constant(right, environment)
            if amount is None and instruction.opcode == "add":
                left, right = right, left
                amount = _plain_constant(right, environment)
            if amount is None:
                return None
            shift += amount if instruction.opcode == "add" else -amount
            instruction = left
            continue
        if instruction.opcode == "parameter" and not environment:
            number = instruction.parameter_number or 0
            return ("sum", number, shift) if shift else ("state", number)
        if instruction.opcode == "get-tuple-element" and instruction.tuple_index is not None:
            element = instruction.tuple_index
            return ("sum", element, shift) if shift else ("state", element)
        return None
    return None


def _plain_constant(instruction: Instruction, environment: Environment) -> int | None:
    found = _resolve(instruction, environment, lambda i: i.opcode == "constant")
    return found[0].literal if found and found[0].opcode == "constant" else None
