"""All opcodes there are, by what one execution costs, as XLA's own cost analysis sorts them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..module import HloModule


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# One operation for each element of the result; comparisons, conversions and integer arithmetic count like additions.
ELEMENTWISE = _words(
    """abs add and bitcast-convert ceil clamp compare complex convert count-leading-zeros divide floor imag is-finite
    maximum minimum mulhi multiply negate not or popcnt real reduce-precision remainder round-nearest-afz
    round-nearest-even select
    shift-left shift-right-arithmetic shift-right-logical sign stochastic-convert subtract xor"""
)
# Apart from operations: one of these is several of them, how many depends on the device.
TRANSCENDENTAL = _words(
    """acos acosh asin asinh atan2 atanh cbrt cosh cosine erf exponential exponential-minus-one log log-plus-one
    logistic power rng rng-bit-generator rsqrt sine sinh sqrt tan tanh"""
)
# Cost depends on a window, a computation that is applied, or a logarithm.
APPLIED = _words("map reduce reduce-window select-and-scatter scatter sort fft cholesky triangular-solve")
# Neither arithmetic nor, by themselves, memory: they name, order or hand on what others make.
PLUMBING = _words(
    """add-dependency after-all async-done async-start async-update bitcast call call-done call-start call-update
    conditional constant domain get-dimension-size get-tuple-element opt-barrier parameter partition-id replica-id
    set-dimension-size tuple undefined while"""
)
# Data moves, nothing is computed. What a collective adds up on its way is not counted.
MOVES = _words(
    """all-gather all-reduce all-to-all broadcast collective-broadcast collective-permute concatenate
    copy dynamic-reshape dynamic-slice dynamic-update-slice fusion gather infeed iota outfeed pad ragged-all-to-all recv
    reduce-scatter reshape reverse rng-get-and-update-state send slice topk transpose"""
)
# Library calls that compute nothing: markers of the compiler and of the partitioner.
FREE_CALLS = _words(
    """AllocateBuffer AssumeGatherIndicesInBound AsyncCollectiveDone AsyncCollectiveStart ConcatBitcast
    GatherScatterIndicesBitpacked LayoutConstraint MoveToDevice MoveToHost PinToDevice PinToHost
    SPMDFullToShardShape SPMDShardToFullShape Sharding SliceId annotate_device_placement
    xla.sdy.GlobalToLocalShape xla.sdy.LocalToGlobalShape"""
)
# Library calls that move data and compute nothing.
MOVING_CALLS = _words("PadToStatic SliceToDynamic ZeroCrop")
# Products and kernels, whose cost depends on the shapes of operands, and what XLA spells out before it runs.
OTHERS = _words(
    """batch-norm-grad batch-norm-inference batch-norm-training convolution custom-call dot ragged-dot scaled-dot
    scan"""
)
KNOWN = ELEMENTWISE | TRANSCENDENTAL | APPLIED | PLUMBING | MOVES | OTHERS
SUFFIXES = ("-start", "-update", "-done")


def base(opcode: str) -> str:
    """`all-gather-start` -> `all-gather`."""
    for suffix in SUFFIXES:
        if opcode.endswith(suffix):
            return opcode[: -len(suffix)]
    return opcode


def unknown_opcodes(module: HloModule) -> dict[str, int]:
    """Opcodes of a newer XLA and how often each is written. Nothing but their spelling and shapes is known of them."""
    found: dict[str, int] = {}
    for computation in module.computations:
        opcodes = computation.opcodes()
        for opcode in sorted(set(opcodes) - KNOWN):
            if base(opcode) not in KNOWN:
                found[opcode] = found.get(opcode, 0) + opcodes.count(opcode)
    return found
