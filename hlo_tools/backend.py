"""Which backend made a program, as far as its own lines show: no header names it."""

from __future__ import annotations

from typing import Literal

from .module import HloModule

Backend = Literal["cpu", "gpu", "tpu"]

_GPU_CONFIG = ("operation_queue_id", "fusion_backend_config", "gemm_backend_config", "cudnn_")
_GPU_CALLS = ("__cu", "__triton", "cu_", "__cublas")
_MOST_LINES = 4096


def backend_of(module: HloModule) -> Backend:
    """TPU programs tile their arrays, GPU programs configure kernels and queues; everything else runs on a CPU."""
    looked_at = 0
    for computation in module.computations:
        for instruction in computation.instructions:
            looked_at += 1
            if looked_at > _MOST_LINES:
                return "cpu"
            layout = instruction.shape.layout if not instruction.shape.is_tuple else None
            if layout is not None and layout.tiles:
                return "tpu"
            config = instruction.attributes.get("backend_config", "")
            if any(word in config for word in _GPU_CONFIG):
                return "gpu"
            if instruction.attributes.get("custom_call_target", "").strip('"').startswith(_GPU_CALLS):
                return "gpu"
    return "cpu"
