"""What a buffer holds, as contracts and tables call it. It imports nothing: checking a contract costs no ledger."""

from __future__ import annotations

from typing import Literal

BufferClass = Literal[
    "parameter",
    "optimizer_slot",
    "input",
    "argument",
    "gradient",
    "activation_saved",
    "activation_temporary",
    "collective",
    "layout_copy",
    "padding",
    "kernel_scratch",
    "constant",
    "output",
    "unknown",
]
