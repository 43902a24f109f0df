"""Whether a program is one that XLA takes: one verdict, asked once, for whatever is then made of the program.

What its parser and its verifier refuse is refused: names that nothing defines or that two things have, computations
called from above, devices in two groups, dimensions and tuple elements that are not there, aliases of arguments that
do not exist. All checks take linear time; most lines of a compiler's text are looked at by two regular expressions.
"""

from .check import require_well_formed
from .unbounded import unbounded

__all__ = ["require_well_formed", "unbounded"]
