"""All checks of one program, in the order it is printed."""

from __future__ import annotations

from ..module import HloModule
from ..uncollected import uncollected
from .boundary import require_aliases, require_numbers
from .dimensions import require_dimensions
from .elements import require_elements
from .groups import require_groups
from .names import Names
from .rows import rows_of


@uncollected
def require_well_formed(module: HloModule) -> None:
    """Raises ContractLintError, with the place, for the first thing that XLA would refuse.

    A part of a program, pasted without its first line, may name what stands elsewhere.
    """
    names = Names(module)
    for computation in module.computations:
        rows = rows_of(computation)
        names.require(computation, rows)
        require_elements(computation)
        require_numbers(computation, rows)
        require_dimensions(computation, rows)
        require_groups(computation)
    if module.computations:
        require_aliases(module)
