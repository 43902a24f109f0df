"""`watch()`: count compiles by function name, and device values read on the host, within a `with` block."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import jax

from ...contracts.manifest import CompileEvent, Frame, TransferEvent
from ..frames import FramePaths
from .callbacks import add_listener, in_callback, remove_listener
from .compiles import CompileListener, Explanation
from .stack import live_frames
from .transfers import TransferPatches, quiet

CALLBACK = "callback "
"""Prefix of `Transfer.kind` for a host callback; without it the event is a read of a device value."""

MAX_EVENTS = 10_000


@dataclass(frozen=True, slots=True)
class Compile:
    """One executable that XLA built. `name` is the function's own (`step`), `index` the loop step it happened in."""

    name: str
    index: int
    reason: str
    argument: str | None
    frames: tuple[Frame, ...]

    def as_event(self) -> CompileEvent:
        return CompileEvent(index=self.index, reason=self.reason, argument=self.argument, frames=list(self.frames))


@dataclass(frozen=True, slots=True)
class Transfer:
    """A device value read on the host, or a host callback that ran; `frames` innermost first."""

    kind: str
    index: int
    frames: tuple[Frame, ...]

    @property
    def is_callback(self) -> bool:
        return self.kind.startswith(CALLBACK)

    def as_event(self) -> TransferEvent:
        return TransferEvent(index=self.index, kind=self.kind, frames=list(self.frames))


class Watch:
    """What was seen so far. `step(i)` says that loop step i begins; events before the first call carry index 0."""

    def __init__(self, paths: FramePaths) -> None:
        self.paths = paths
        self.compiles: list[Compile] = []
        self.transfers: list[Transfer] = []
        self.dropped = 0
        self._index = 0
        self._lock = threading.Lock()

    def step(self, index: int) -> None:
        """Loop step `index` (from 0) begins."""
        self._index = index

    def compiles_of(self, name: str) -> list[Compile]:
        """The executables built for the function called `name`."""
        return [event for event in self.compiles if event.name == name]

    def count(self, name: str) -> int:
        """How many executables were built for the function called `name`."""
        return len(self.compiles_of(name))

    @property
    def reads(self) -> list[Transfer]:
        """Device values read on the host, callbacks left out."""
        return [event for event in self.transfers if not event.is_callback]

    @property
    def callbacks(self) -> list[Transfer]:
        """Host callbacks that ran."""
        return [event for event in self.transfers if event.is_callback]

    def _compiled(self, name: str, explanation: Explanation) -> None:
        frames = tuple(live_frames(self.paths, skip=2))
        with self._lock:
            self.compiles.append(Compile(name, self._index, explanation.reason, explanation.argument, frames))

    def _read(self, kind: str) -> None:
        frames = tuple(live_frames(self.paths, skip=2))
        self._transfer(f"{CALLBACK}that reads: {kind}" if in_callback() else kind, frames)

    def _called_back(self, name: str, frames: Callable[[FramePaths], list[Frame]]) -> None:
        self._transfer(f"{CALLBACK}{name}", tuple(frames(self.paths)))

    def _transfer(self, kind: str, frames: tuple[Frame, ...]) -> None:
        with self._lock:
            if len(self.transfers) < MAX_EVENTS:
                self.transfers.append(Transfer(kind, self._index, frames))
            else:
                self.dropped += 1


@contextmanager
def watch(paths: FramePaths | None = None) -> Iterator[Watch]:
    """Watches every thread of this process for compiles and host reads until the block ends.

        with watch() as seen:
            for batch in batches:
                state, metrics = train_step(state, batch)
        assert seen.count("train_step") == 1 and not seen.reads

    `paths` says how frames are printed; default: relative to the working directory. Cost on CPU is
    within noise. Unordered callbacks still in flight are waited for at the end. Blocks may be nested: each sees all.
    """
    paths = paths or FramePaths(Path.cwd())
    seen = Watch(paths)
    listener = CompileListener(seen._compiled)
    patches = TransferPatches(paths, seen._read)
    with ExitStack() as installed:
        installed.callback(remove_listener, seen._called_back)
        add_listener(seen._called_back)
        installed.callback(listener.remove)
        listener.install()
        installed.callback(patches.remove)
        patches.install()
        yield seen
        with quiet():
            jax.effects_barrier()
