"""The named rewrites, one a file.

Spellings keep executions and elements: `widened`, `narrowed`, `sum_spelling`, `gather_as_sum`. The others change how
often something is communicated, and each asks for evidence in the partitioned program: `hoisted` and `accumulated`
relate one row to one further out; `duplicate`, `reassociated` and `dead` remove rows. `combined` only marks arrays that
travel together, `hierarchical` those that cross slices in steps, `scattered` splits one sum over two axes in two, and
`nested` makes one of two.
"""

from collections.abc import Callable

from ..drop import Drop
from ..pool import Entry, Pool
from ..relation import Relation
from .accumulated import accumulated
from .dead import dead
from .duplicate import duplicate
from .gather_as_sum import GATHER_AS_SUM
from .hoisted import hoisted
from .narrowed import NARROWED
from .reassociated import reassociated
from .spelling import Spelling
from .sum_spelling import SUM_SPELLING
from .widened import WIDENED

SPELLINGS: tuple[Spelling, ...] = (WIDENED, NARROWED, SUM_SPELLING, GATHER_AS_SUM)
MOVES_OUT: tuple[Callable[[Entry, Entry], Relation | None], ...] = (hoisted, accumulated)
DROPS: tuple[Callable[[Pool], Drop], ...] = (dead, duplicate, reassociated)
REMOVALS = (*MOVES_OUT, *DROPS)

__all__ = ["DROPS", "MOVES_OUT", "REMOVALS", "SPELLINGS", "Spelling"]
