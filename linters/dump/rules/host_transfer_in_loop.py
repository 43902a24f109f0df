"""A loop of the program talks to the host in every round.

## What it does
Finds, in loops, calls back to Python, infeeds, outfeeds and sends to the host, and buffers that are moved to or from
host memory, with executions and bytes.

## Why is this bad?
A callback stops the device until Python has answered, once a round. Moving buffers to host memory saves device memory
at the price of the PCIe bus: tens of GiB/s, shared by the devices of a host. Offloading may be meant, so it is advice.

## Example
```python
def body(carry, x):
    jax.debug.print("{}", carry)
    return step(carry, x), None
```

## Use instead
```python
carry, seen = jax.lax.scan(lambda c, x: (step(c, x), c), carry, xs)
jax.debug.print("{}", seen)
```

## What stays clean
The same outside of loops; transfers between TPU slices, which XLA spells as sends to the host.

## References
- https://docs.jax.dev/en/latest/external-callbacks.html
- https://docs.jax.dev/en/latest/notebooks/host-offloading.html
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

from ....contracts.finding import Finding
from ....contracts.model import format_bytes
from ....hlo_tools.frames import user_frame
from ....hlo_tools.instruction import Instruction
from ....hlo_tools.shape import Shape
from ....hlo_tools.slices import crosses_slices
from ...cut import shown
from ...rule import Rule
from ..evidence import DumpEvidence
from ..wording import names, place_of_instruction, together

_HOST_SPACE = 5
_FEEDS = ("infeed", "outfeed", "send")
_COPIES = ("copy", "copy-start", "dynamic-slice", "dynamic-update-slice")
_TARGETS = {"MoveToHost": "to host memory", "MoveToDevice": "from host memory"}
# As JAX writes it; XLA turns it into those.
_ANNOTATED = "annotate_device_placement"
_PLACEMENTS = {"pinned_host": "to host memory", "unpinned_host": "to host memory", "device": "from host memory"}


@dataclass(frozen=True, slots=True)
class _Talk:
    made: Instruction
    what: str
    stops: bool
    """Whether the device has to wait for the host."""
    bytes: int
    """Of one execution."""


def check(evidence: DumpEvidence) -> Iterable[Finding]:
    for found in together(_talks(evidence), _key):
        first = found[0]
        runs = [evidence.runs.of(each.made.computation) for each in found]
        count = sum(run.count for run in runs)
        moved = sum(run.count * each.bytes for run, each in zip(runs, found, strict=True))
        unknown = " (a loop of unknown length counted once)" if any(run.unknown for run in runs) else ""
        yield RULE.finding(
            f"a loop {first.what} ({names([each.made for each in found])}): {count:,} execution{'s' * (count != 1)}, "
            f"{format_bytes(moved)} in a step{unknown}",
            subject=f"{first.what}:{first.made.op_name or first.made.shape.text}",
            severity="warning" if first.stops else "info",
            location=place_of_instruction(first.made),
            instruction=first.made.name,
            expected="nothing, or once behind the loop",
            found=f"{count:,} times",
            evidence=shown(f"%{each.made.name}: {format_bytes(each.bytes)}" for each in found),
            help="collect the values and hand them over behind the loop"
            if first.stops
            else "meant where memory is short; what fits on the device need not travel",
            details={"count": count, "bytes": moved, "instructions": [each.made.name for each in found]},
        )


def _key(talk: _Talk) -> Hashable:
    frame = user_frame(talk.made.frames)
    return talk.what, (frame.path, frame.line) if frame else talk.made.shape.text


def _talks(evidence: DumpEvidence) -> Iterator[_Talk]:
    if evidence.module is None:
        return
    for computation in evidence.module.computations:
        run = evidence.runs.of(computation)
        if run.depth and run.count:
            for position, opcode in enumerate(computation.opcodes()):
                if opcode in _FEEDS or opcode in _COPIES or opcode == "custom-call":
                    talk = _talk(computation.instruction_at(position))
                    if talk is not None:
                        yield talk


def _talk(made: Instruction) -> _Talk | None:
    if made.opcode == "custom-call":
        target = made.attributes.get("custom_call_target", "").strip('"')
        if "python" in target and "callback" in target:
            moved = sum(operand.shape.bytes for operand in made.operands) + made.shape.bytes
            return _Talk(made, "calls back to Python", True, moved)
        where = _TARGETS.get(target)
        if target == _ANNOTATED:
            where = _PLACEMENTS.get(made.frontend_attributes.get("_xla_buffer_placement", ""))
        if where is not None and _is_array(made.shape):
            return _Talk(made, f"moves a buffer {where}", False, made.shape.bytes)
        return None
    if made.opcode in _FEEDS:
        if made.opcode == "send" and (made.attributes.get("is_host_transfer") != "true" or crosses_slices(made)):
            return None
        arrays = made.operands[:1] if made.opcode != "infeed" else (made,)
        what = "takes values from the host" if made.opcode == "infeed" else "sends values to the host"
        return _Talk(made, what, True, sum(_bytes(array.shape) for array in arrays))
    return _copied(made)


def _copied(made: Instruction) -> _Talk | None:
    """A buffer, or a part of one, that changes between the memories of host and device."""
    if not made.operands:
        return None
    if made.opcode == "dynamic-update-slice":
        source, target = made.operands[1].shape, made.shape
    else:
        source = made.operands[0].shape
        target = made.shape.parts[0] if made.opcode == "copy-start" and made.shape.parts else made.shape
    if source.is_tuple or target.is_tuple:
        return None
    there, here = source.memory_space == _HOST_SPACE, target.memory_space == _HOST_SPACE
    if there == here:
        return None
    size = source.bytes if made.opcode == "dynamic-update-slice" else target.bytes
    return _Talk(made, f"moves a buffer {'from' if there else 'to'} host memory", False, size)


def _is_array(shape: Shape) -> bool:
    return not shape.is_tuple and shape.elements > 1


def _bytes(shape: Shape) -> int:
    return sum(leaf.bytes for _, leaf in shape.leaves() if leaf.dtype not in ("token", "opaque"))


RULE = Rule(
    code="JIT501", name="host-transfer-in-loop", severity="warning", evidence="dump", doc=__doc__ or "", check=check
)
