"""Ledgers freed from a compiler's spelling, and the named rewrites that lead from the partitioned program to the
optimised one."""

from .canonical import canonical, canonical_ledger

__all__ = ["canonical", "canonical_ledger"]
