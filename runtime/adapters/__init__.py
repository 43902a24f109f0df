"""Adapters: trainers that are configured rather than written, held to a contract as they are.

`contract-lint init NAME:CONFIG key=value ...` asks the adapter NAME what to build; the contract it writes then names
the adapter's own `build` as its entry, and nothing else in this tool knows of the trainer. Importing this package loads
neither jax nor any trainer.
"""

from __future__ import annotations

from .protocol import Adapted, Adapter
from .registry import adapter_for

__all__ = ["Adapted", "Adapter", "adapter_for"]
