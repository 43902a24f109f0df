"""The methods of a run that can be stopped, held to what they may return: what they give is turned into text to the
bit, and what does not fit is told with the method, what came back and what is expected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from ...contracts.finding import Location
from ...contracts.resume import Failed
from ..data.digest import NotABatch, batch_digest
from ..errors import describe, failure
from ..frames import FramePaths
from ..leaves import joined
from ..request import StepFailure
from ..run.example import arguments_in, described
from ..run.loop import Arguments
from ..step import NormalisedStep

METHODS = ("restore", "advance", "save", "wait", "state")


class Hook:
    """What `resumable(folder)` returned (or `Carried`, which stands in for it). `fails` is told what a method raised
    before that is raised as a StepFailure."""

    def __init__(
        self, run: Any, step: NormalisedStep, paths: FramePaths, name: str, fails: Callable[[Failed], None]
    ) -> None:
        self._run, self._step, self._paths, self._key, self._fails = run, step, paths, ("step", name), fails
        lacks = [name for name in METHODS if not callable(getattr(run, name, None))]
        if lacks:
            raise StepFailure(
                f"`resumable(folder)` returned {described(run)} without `{lacks[0]}()`",
                help=f"return an object with {', '.join(f'`{name}()`' for name in METHODS)}",
                key=self._key,
            )

    def restore(self, empty: bool = False) -> int:
        """How many steps are finished; none where nothing is saved in the folder."""
        done = self._call("restore")
        if not isinstance(done, int | np.integer) or isinstance(done, bool) or done < 0:
            raise self._misfit(
                "restore", described(done), "how many steps are finished, an int; 0 where nothing is taken up"
            )
        if empty and done:
            raise self._misfit("restore", f"{done:,} for an empty folder", "0, where there is nothing to take up")
        return int(done)

    def advance(self) -> dict[str, str]:
        """What a step saw: numbers by their exact decimals, arrays by their digest."""
        given = self._call("advance")
        if not isinstance(given, Mapping):
            raise self._misfit(
                "advance", described(given), "a dict of what the step saw: numbers by name, `batch`, `rng`"
            )
        return {str(name): self._text(str(name), value) for name, value in given.items()}

    def save(self) -> None:
        self._call("save")

    def wait(self) -> None:
        self._call("wait")

    def arrays(self) -> dict[str, Any]:
        """The arrays of the state."""
        flat = jax.tree_util.tree_flatten_with_path(self._call("state"))[0]
        return {joined(path): words(leaf) for path, leaf in flat}

    def state(self) -> dict[str, str]:
        """The digest of each."""
        return {path: self._digest("state", path, leaf) for path, leaf in self.arrays().items()}

    def arguments(self) -> Arguments | None:
        """Those of the next step; None where the run does not tell them."""
        if not hasattr(self._run, "arguments"):
            return None
        given, frame = self._call("arguments"), self._paths.of_function(self._run.arguments)
        return arguments_in(self._step, given, self._named("arguments"), frame)

    def _call(self, method: str) -> Any:
        try:
            return getattr(self._run, method)()
        except BaseException as error:  # SystemExit and the like end the user's code here, not this process
            if not isinstance(error, StepFailure):
                frames = self._paths.of_traceback(error.__traceback__)
                told = [f"{frame.path}:{frame.line} in {frame.function}" for frame in frames]
                self._fails(Failed(method=method, error=describe(error, self._paths), frames=tuple(told)))
            raise failure(error, self._paths, self._named(method), self._key) from None

    def _text(self, name: str, value: Any) -> str:
        value = jax.device_get(jax.tree.map(words, value))
        if isinstance(value, (dict, list, tuple)) or np.ndim(value):
            return self._digest("advance", name, value)
        if value is None or not np.asarray(value).dtype.hasobject:
            return repr(np.asarray(value).item())
        return self._digest("advance", name, value)

    def _digest(self, method: str, name: str, value: Any) -> str:
        try:
            return batch_digest(value)
        except NotABatch:
            found = f"{described(value)}{f' as `{name}`' if name else ''}"
            raise self._misfit(method, found, "arrays, numbers and texts") from None

    def _named(self, method: str) -> str:
        return (
            f"`{method}()` of the step's `resumable`"
            if self._step.resumable
            else f"`{method}()` of what the step carries over"
        )

    def _misfit(self, method: str, found: str, expected: str) -> StepFailure:
        frame = self._paths.of_function(getattr(self._run, method))
        return StepFailure(
            f"{self._named(method)} returned {found}; expected {expected}",
            Location(frame.path, frame.line, frame.column) if frame is not None else None,
            key=self._key,
        )


def is_key(leaf: Any) -> bool:
    """Whether it is an array of typed random keys."""
    return isinstance(leaf, jax.Array) and jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def words(leaf: Any) -> Any:
    """An array, random keys as their words."""
    return jax.random.key_data(leaf) if is_key(leaf) else leaf
