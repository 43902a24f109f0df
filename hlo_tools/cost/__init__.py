"""What one step costs one device: floating-point operations and bytes, loops multiplied, read from the program."""

from __future__ import annotations

from .ledger import CostLedger, Product, cost

__all__ = ["CostLedger", "Product", "cost"]
