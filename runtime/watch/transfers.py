"""Reads of device values on the host, seen by patching the array class and the numpy entry points that bypass it.

On CPU `jax.transfer_guard` sees none of them. `ArrayImpl._value` and `__array__` serve float(), int(), bool(), item(),
tolist(), print, f-strings, `jax.device_get` and numpy on sharded arrays. Numpy reads an array on one device through the
buffer protocol, so the functions in `_NUMPY` are wrapped as well. Not seen: other numpy functions on a one-device
array, and `block_until_ready`, which waits but reads nothing.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from ..frames import FramePaths
from .stack import walk

_NUMPY = (
    "array", "asarray", "asanyarray", "ascontiguousarray", "copy", "stack", "concatenate", "vstack", "hstack",
    "isnan", "isinf", "isfinite", "isclose", "allclose", "array_equal", "save", "savez",
)  # fmt: skip
_METHODS = {
    "__float__": "float()",
    "__int__": "int()",
    "__bool__": "bool()",
    "__complex__": "complex()",
    "__index__": "use as an index",
    "item": ".item()",
    "_item": ".item()",
    "tolist": ".tolist()",
    "tobytes": ".tobytes()",
    "__repr__": "print or repr",
    "__str__": "print or str",
    "__format__": "f-string or format",
    "device_get": "jax.device_get",
    "_device_get": "jax.device_get",
    "__iter__": "iteration",
    "__array__": "numpy conversion",
}


class _Local(threading.local):
    quiet = 0


_local = _Local()


class quiet:
    """Within it, reads on this thread are not reported: the tool's own, or those of a callback already reported."""

    def __enter__(self) -> None:
        _local.quiet += 1

    def __exit__(self, *_: object) -> None:
        _local.quiet -= 1


class TransferPatches:
    """Calls `report(kind)` on the reading thread for every read while installed."""

    def __init__(self, paths: FramePaths, report: Callable[[str], None]) -> None:
        self._paths = paths
        self._report = report
        self._restore: list[Callable[[], None]] = []

    def install(self) -> None:
        from jax._src.array import ArrayImpl

        value = ArrayImpl.__dict__["_value"]
        plain = value.fget

        def read(array: Any) -> Any:
            self._seen(None)
            with quiet():
                return plain(array)

        self._replace(ArrayImpl, "_value", property(read))
        if (convert := ArrayImpl.__dict__.get("__array__")) is not None:
            self._replace(ArrayImpl, "__array__", self._wrapped(convert, "__array__"))
        for name in _NUMPY:
            self._replace(np, name, _NumpyCall(getattr(np, name), name, self._seen))

    def remove(self) -> None:
        while self._restore:
            self._restore.pop()()

    def _replace(self, owner: Any, name: str, new: Any) -> None:
        old = owner.__dict__[name]
        setattr(owner, name, new)
        self._restore.append(lambda: setattr(owner, name, old))

    def _wrapped(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            self._seen(_METHODS.get(name, name))
            with quiet():
                return function(*args, **kwargs)

        return call

    def _seen(self, kind: str | None) -> None:
        if not _local.quiet:
            self._report(self._outermost(kind))

    def _outermost(self, kind: str | None) -> str:
        """The call the user wrote: the outermost named library function below the innermost frame of the user's."""
        found = kind or "read"
        for frame in walk(sys._getframe(2)):
            code = frame.f_code
            if code.co_filename == __file__:
                continue
            if self._paths.is_user(code.co_filename):
                break
            found = _METHODS.get("__iter__" if ".__iter__." in code.co_qualname else code.co_name, found)
        return found


class _NumpyCall:
    """A numpy function that reports when one of its arguments is a device array; in all else the function itself."""

    def __init__(self, function: Any, name: str, seen: Callable[[str], None]) -> None:
        self.__wrapped__ = function
        self._name = f"np.{name}"
        self._seen = seen
        self.__doc__ = function.__doc__
        self.__name__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not any(_holds_array(arg) for arg in args):
            return self.__wrapped__(*args, **kwargs)
        self._seen(self._name)
        with quiet():
            return self.__wrapped__(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)


def _holds_array(value: Any) -> bool:
    if isinstance(value, Tracer):
        return False
    if isinstance(value, list | tuple):
        return any(isinstance(item, jax.Array) and not isinstance(item, Tracer) for item in value)
    return isinstance(value, jax.Array)
