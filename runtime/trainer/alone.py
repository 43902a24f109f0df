"""One run at a time writes into a folder of checkpoints."""

from __future__ import annotations

import errno
import os
import sys

from ...contracts.errors import ContractLintError


class Taken(ContractLintError):
    """Another run writes there."""


def alone_in(folder: str) -> None:
    """Lock the folder until this process ends, however it does. Raises Taken where another process has it.

    Nothing is locked where the system or the folder's disk knows no locks, or where the folder cannot be made: the save
    says that.
    """
    if sys.platform == "win32":
        return
    import fcntl

    try:
        os.makedirs(folder, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY)  # never closed: the lock goes with it
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno == errno.EWOULDBLOCK:
            raise Taken(f"another run writes its checkpoints to {folder} now") from None
