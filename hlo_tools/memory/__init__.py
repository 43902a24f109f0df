"""The memory of a compiled step: what must fit, what is live at the peak, and what would make the peak smaller.

`ledger` is the table of facts, `build` makes it from a buffer assignment or from the schedule, `lives` keeps every
buffer with its place in time, so that `actions` can say what the peak would be if some of them were smaller or gone.
"""

from .action import Action
from .buffer import Buffer
from .build import memory
from .ledger import DEVICE_SPACE, MemoryLedger, Method, Space

__all__ = ["DEVICE_SPACE", "Action", "Buffer", "MemoryLedger", "Method", "Space", "memory"]
