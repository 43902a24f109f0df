"""The named rewrites, one a file.

Spellings keep executions and elements: `widened`, `sum_spelling`, `gather_as_sum`. The others change how often
something is communicated, and each asks for evidence in the partitioned program: `hoisted`, `accumulated`,
`duplicate`, `reassociated`, `dead`. `combined` only marks arrays that travel together.
"""

from .accumulated import accumulated
from .dead import dead
from .duplicate import duplicate
from .gather_as_sum import GATHER_AS_SUM
from .hoisted import hoisted
from .reassociated import reassociated
from .spelling import Spelling
from .sum_spelling import SUM_SPELLING
from .widened import WIDENED

SPELLINGS: tuple[Spelling, ...] = (WIDENED, SUM_SPELLING, GATHER_AS_SUM)
REMOVALS = (hoisted, accumulated, dead, duplicate, reassociated)

__all__ = ["REMOVALS", "SPELLINGS", "Spelling"]
