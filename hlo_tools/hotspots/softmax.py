"""Softmax by its dataflow: attention that writes its scores to memory, cross-entropy that writes its logits.

    x -> x - (a value of each row) -> exp -> sum over the row

between products it is attention; where the logarithm of the sum is taken, the loss over a vocabulary; else a softmax.
A fused kernel keeps a block of rows on the chip: of the large array nothing is read or written, and for the backward
pass it is computed again from what is read anyway.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..cost.matrix import work
from ..cost.traffic import Traffic
from ..flow import Flow, Value
from ..loops import Executions
from ..module import HloModule
from .hotspot import HotSpot, Kind
from .region import Region, region_around
from .values import VIEWS, elements, kernel_of, past_views

_EXP = frozenset(("exponential", "exponential-minus-one"))
_ROWWISE = frozenset(
    (
        *VIEWS,
        "broadcast",
        "add",
        "abs",
        "maximum",
        "select",
        "all-reduce",
        "reduce",
        "multiply",
        "all-reduce-start",
        "concatenate",
        "slice",
    )
)
_GIVEN = frozenset(("parameter", "get-tuple-element", "all-gather", "all-gather-start", "constant"))
_MAX_STEPS = 64
# Sums over devices of a few values of each row are sent as one array (GPU).
_COMBINED = 8
_NOTES: dict[Kind, str] = {
    "attention": "a fused attention kernel (jax.nn.dot_product_attention, splash attention) keeps the scores on the "
    "chip and computes them again for the backward pass",
    "cross-entropy": "a fused loss, or a scan over chunks of the vocabulary or of the tokens, never holds the logits",
    "softmax": "one kernel reads each row once and writes it once",
}


def softmaxes(module: HloModule, flow: Flow, runs: Executions, traffic: Traffic) -> Iterator[HotSpot]:
    """Every softmax that takes more than one kernel, once, whatever was made of it for the backward pass."""
    for start, region in _regions(module, flow):
        found = _hot_spot(start, region, flow, runs, traffic)
        if found is not None:
            yield found


def _regions(module: HloModule, flow: Flow) -> Iterator[tuple[Value, Region]]:
    """The region of every exponential of a difference to its row."""
    seen: set[Value] = set()
    for computation in module.computations:
        for position, opcode in enumerate(computation.opcodes()):
            if opcode not in _EXP:
                continue
            value = flow.at(computation.instruction_at(position))
            if value in seen or not _is_of_rows(flow, value):
                continue
            region = region_around(flow, value)
            seen.update(region.members)
            if region.complete:
                yield value, region


def _is_of_rows(flow: Flow, exponential: Value) -> bool:
    """Whether what is raised is a difference to a value of each row."""
    if not exponential.instruction.operands:
        return False
    difference = past_views(flow, Value(exponential.instruction.operands[0], exponential.around))
    if difference.instruction.opcode != "subtract":
        return False
    return any(_fewer(flow, operand) for operand in flow.operands(difference)[1:])


def _fewer(flow: Flow, value: Value) -> bool:
    """Whether a value is spread out from fewer elements, more than one of them."""
    size = elements(value)
    for _ in range(_MAX_STEPS):
        made = value.instruction
        if made.opcode == "broadcast" and made.operands:
            return 1 < made.operands[0].shape.elements < size
        if made.opcode not in VIEWS or not made.operands:
            return False
        value = flow.operands(value)[0]
    return False


def _hot_spot(start: Value, region: Region, flow: Flow, runs: Executions, traffic: Traffic) -> HotSpot | None:
    if not region.reductions:
        return None
    kind: Kind = "softmax"
    if any(_has_logarithm(flow, reduction) for reduction in region.reductions):
        kind = "cross-entropy"
    elif region.sinks and any(_is_of_activations(flow, source) for source in region.sources):
        kind = "attention"
    kernels = region.kernels()
    # A program that is not optimised calls functions: what they run counts as long as it runs equally often.
    counts = {runs.of(kernel.computation).count for kernel in kernels}
    if len(counts) > 1:
        return None
    (count,) = counts
    # Of a softmax by itself the result is wanted; in attention and a loss nobody needs it.
    given = sum(traffic.size(value.instruction.shape).device for value in region.inputs)
    around = region.around(flow, traffic)
    least = around + given + (_handed_over(region, traffic) if kind == "softmax" else 0)
    moved = around + region.moved(flow, traffic)
    if not count or moved <= least:
        return None
    made = start.instruction
    return HotSpot.of(kind, kernel_of(start), made, kernels, [made, *kernels], count, moved, least, _NOTES[kind])


def _handed_over(region: Region, traffic: Traffic) -> int:
    """What a kernel for the softmax and those of the products hand to each other: each array written and read once."""
    size = max(traffic.size(value.instruction.shape).device for value in region.members)
    return size * (2 * len(region.sources) + 1 + len(region.sinks))


def _is_of_activations(flow: Flow, product: Value) -> bool:
    """Whether a product is of two activations, as queries and keys are, and not of one with weights."""
    if _is_batched(product):
        return True
    makers = [past_views(flow, operand) for operand in flow.operands(product)[:2]]
    return all(maker.instruction.opcode not in _GIVEN for maker in makers)


def _is_batched(product: Value) -> bool:
    """Whether a product is many small ones, one for each head of each sequence: no weights are the same for all.

    Of g products of m x k and k x n, the elements of both operands multiplied are g * k**2 times those of the result.
    """
    made, done = product.instruction, work(product.instruction)
    if done is None or len(made.operands) < 2 or not elements(product):
        return False
    width = done.flops // (2 * elements(product))
    both = made.operands[0].shape.elements * made.operands[1].shape.elements
    return both > elements(product) * width * width


def _has_logarithm(flow: Flow, reduction: Value) -> bool:
    """Whether the logarithm of a reduction's result is taken, row by row."""
    pending, seen = [reduction], {reduction}
    while pending and len(seen) < _MAX_STEPS:
        for reader in flow.readers(pending.pop()):
            user = reader.user
            if user is None or user in seen:
                continue
            if user.instruction.opcode in ("log", "log-plus-one"):
                return True
            if user.instruction.opcode in _ROWWISE and elements(user) <= _COMBINED * elements(reduction):
                seen.add(user)
                pending.append(user)
    return False
