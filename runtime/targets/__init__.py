"""Targets: what a step is compiled for. Other platforms add a module and an entry in `_PARSERS`.

Importing this package never imports jax; the methods that need devices do, in the child process.
"""

from __future__ import annotations

from collections.abc import Callable

from ...contracts.errors import ContractLintError
from ...contracts.target_name import EXAMPLES, LISTED
from .cpu import CpuTarget
from .cuda import CudaTarget
from .protocol import EFFORTS, Effort, Target
from .tpu import TpuTarget

__all__ = ["EFFORTS", "Effort", "Target", "target"]

_PARSERS: dict[str, Callable[[str, Effort | None], Target]] = {
    "cpu": CpuTarget.parse,
    "tpu": TpuTarget.parse,
    "cuda": CudaTarget.parse,
}


def target(name: str, effort: Effort | None = None) -> Target:
    """The target called `name`, for example `cpu:8`. Raises ContractLintError if there is none.

    `effort`: how hard the compiler tries; None is the target's default (`fast` on tpu and cuda; cpu has but one).
    """
    platform = name.partition(":")[0]
    parser = _PARSERS.get(platform)
    if parser is None:
        raise ContractLintError(
            f"unknown target `{name}`: a target begins with {', '.join(_PARSERS)}, as in {EXAMPLES}", help=LISTED
        )
    return parser(name, effort)
