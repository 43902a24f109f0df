"""Custom calls: those that JAX and XLA make themselves, and those that are kernels somebody wrote or asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .instruction import Instruction
from .module import HloModule

ORDINARY: dict[str, str] = {
    "placements of the partitioner": r"Sharding|SPMD\w+|ShardBarrier\w+|InspectSharding|xla\.sdy\..+|sdy\..+",
    "moves between memory spaces": r"annotate_device_placement|MoveTo(Host|Device)|PinTo\w+",
    "buffers and layouts": r"AllocateBuffer|CreateBuffer|LayoutConstraint|Pin|Unpin|X64\w*|PadToStatic|SliceToDynamic",
    "schedules of the TPU compiler": r"Async\w+|Barrier\w*|SparseCore\w*|Assume\w+|ConcatBitcast|GetInternalScratch\w*",
    "sorting and selection": r"(Approx)?TopK|PartialReduce|AggregateToTopK|Sort\w*|StableSort|__cub\$\w+",
    "linear algebra on TPU": r"Cholesky|Qr|Eigh?|LuDecomposition|(ProductOfElementary)?Householder\w*",
    "linear algebra libraries": r"(lapack|blas|cusolver|hipsolver|magma|cusparse|hipsparse|cublas|hipblas)_\w+",
    "vendor libraries XLA picks": r"__(cublas|cudnn|cufft|cusparse|onednn|xnn)(\$.+|\w*)|DoFft|\$fft",
    "random numbers and FFT": r"(cu|hip)_threefry2x32\w*|RngBitGenerator|(dynamic_)?ducc_fft\w*",
    "operations spelled as calls": r"(mhlo|chlo|stablehlo)\..+|erf_inv|tan",
    "host callbacks": r"xla_(ffi_)?(partitioned_)?python_\w*callback|CallbackTo\w+",
}
"""What JAX and XLA call by themselves -> pattern of `custom_call_target`."""
_ORDINARY = re.compile("|".join(f"(?:{pattern})" for pattern in ORDINARY.values()))


def is_ordinary(target: str) -> bool:
    """Whether JAX or XLA makes calls of this name by itself; host callbacks, which are judged apart, count as such."""
    return _ORDINARY.fullmatch(target) is not None


def kernel_calls(module: HloModule) -> Iterator[tuple[str, Instruction]]:
    """Every custom call that is not ordinary, with its target: `tpu_custom_call` (Pallas, Mosaic), Triton, FFI."""
    for computation in module.computations:
        for position, opcode in enumerate(computation.opcodes()):
            if opcode != "custom-call":
                continue
            call = computation.instruction_at(position)
            target = call.attributes.get("custom_call_target", "").strip('"')
            if target and not is_ordinary(target):
                yield target, call
