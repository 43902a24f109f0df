"""Host callbacks as they run: `jax.debug.print`, `jax.debug.callback`, `io_callback`, `pure_callback`.

A callback's Python function is bound when its program is lowered, and JAX's source position is known only then; so the
lowering is wrapped once, for good, and the wrapper is silent while nothing watches. A program lowered before the first
watch keeps its plain callbacks.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from ...contracts.manifest import Frame
from ..frames import FramePaths
from .stack import walk
from .transfers import quiet

_NAMES = {
    "debug_print": "jax.debug.print",
    "debug_callback": "jax.debug.callback",
    "io_callback": "io_callback",
    "pure_callback": "pure_callback",
}

Listener = Callable[[str, Callable[[FramePaths], list[Frame]]], None]
_listeners: list[Listener] = []


def add_listener(listener: Listener) -> None:
    """Reports every run of a callback as (`jax.debug.print`, frame paths -> frames of the line that asked for it)."""
    _wrap_lowering()
    _listeners.append(listener)


def remove_listener(listener: Listener) -> None:
    if listener in _listeners:
        _listeners.remove(listener)


def in_callback() -> bool:
    """Whether the calling thread runs a callback: one lowered before the first watch is known by its stack alone."""
    from jax._src import callback, debugging

    files = (callback.__file__, debugging.__file__)
    return any(frame.f_code.co_filename in files for frame in walk(sys._getframe(1)))


def _wrap_lowering() -> None:
    from jax._src import callback as jax_callback

    emit = jax_callback.emit_python_callback
    if getattr(emit, "contract_lint", False):
        return

    @functools.wraps(emit)
    def emit_watched(ctx: Any, callback: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        primitive = getattr(getattr(ctx, "primitive", None), "name", "callback")
        name = _NAMES.get(primitive, primitive)

        def frames(paths: FramePaths) -> list[Frame]:
            return paths.of_equation(ctx)  # a lowering context has the equation's `traceback`

        def watched(*operands: Any) -> Any:
            for listener in tuple(_listeners):
                listener(name, frames)
            with quiet():
                return callback(*operands)

        return emit(ctx, watched, *args, **kwargs)

    emit_watched.contract_lint = True  # type: ignore[attr-defined]
    jax_callback.emit_python_callback = emit_watched
