"""Ledgers freed from a compiler's spelling, and the named rewrites that lead from the partitioned program to the
optimised one."""

from .canonical import canonical, canonical_ledger
from .explain import explain
from .explanation import Explanation, Rewritten
from .pool import Share
from .summed import summed

__all__ = ["Explanation", "Rewritten", "Share", "canonical", "canonical_ledger", "explain", "summed"]
