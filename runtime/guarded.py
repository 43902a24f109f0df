"""Start a module in a Python of its own, below a guard that ends it with everything it started. Never imports jax."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

_GUARD = f"{__package__}.guard"
_PATIENCE = 15.0
"""Seconds for the guard to end its processes; then its own group is killed."""


class Guarded:
    """A running module. `folder` is its owner's temporary one: what the module leaves in its own lies there too."""

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        python: str | None = None,
        descriptors: Sequence[int] = (),
        **streams: Any,
    ) -> None:
        """Start it. `descriptors` are given to the module, `streams` to `Popen`. Raises OSError."""
        temporary = folder / "tmp"
        temporary.mkdir(exist_ok=True)
        held, self._lifeline = os.pipe()
        try:
            self.process: subprocess.Popen[Any] = subprocess.Popen(
                [
                    *(python or sys.executable, "-P", "-X", "faulthandler", "-m", _GUARD),
                    *(str(held), str(folder), module, *arguments),
                ],
                stdin=subprocess.DEVNULL,
                env=dict(environment) | {"TMPDIR": str(temporary)},
                pass_fds=[held, *descriptors],
                start_new_session=True,
                **streams,
            )
        except OSError:
            os.close(self._lifeline)
            raise
        finally:
            os.close(held)

    def end(self, wait: bool = True) -> None:
        """End the module and everything it started. Without `wait` they are told to, and followed in the background:
        clearing the memory of hundreds of devices takes the system a while."""
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
        if wait:
            self._finish()
        else:
            Thread(target=self._finish, daemon=True).start()

    def _finish(self) -> None:
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_PATIENCE)
        finally:
            # Nobody is left to kill once the guard has done its work.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            os.close(self._lifeline)
