"""Which program a step is: one digest of what JAX hands to the compiler, without places in source."""

from __future__ import annotations

import hashlib

import jax

from .step import TrainStep


def lowered_digest(step: TrainStep) -> str:
    """sha256, in hexadecimal digits, of the StableHLO text of a step with its shapes and placements."""
    text = jax.jit(step.fn, donate_argnames=step.donate).lower(*step.args).as_text()
    return hashlib.sha256(text.encode()).hexdigest()
