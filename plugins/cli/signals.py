"""SIGTERM and SIGHUP as exceptions: what is open is closed, children are ended, temporary folders go."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


class Ended(BaseException):
    """The process was asked to end. `number` is the signal's."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def name(self) -> str:
        return signal.Signals(self.number).name

    @property
    def exit_code(self) -> int:
        """What a shell says of a process that a signal ended."""
        return 128 + self.number


@contextlib.contextmanager
def raising() -> Iterator[None]:
    """Raise Ended in the main thread on the first of these signals; later ones wait until that is done.

    A signal that is ignored (`nohup`) or handled already stays as it is.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]
    taken = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, _: object) -> None:
        for each in taken:
            signal.signal(each, signal.SIG_IGN)
        raise Ended(number)

    for number in taken:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
