"""Where the parameters lie, and what the contract calls them there: its names may carry that path, or a part of it.

`init` names what enters the step (`params/up/w`), a model lists what it has (`up/w`), and both are saved as
`state/params/up/w`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

PARAMETERS = "params"
"""What the tree of parameters is called where nobody says so."""
VALUE = "/value"
"""What flax.nnx puts behind the path of each variable."""


@dataclass(frozen=True, slots=True)
class Root:
    """`path` is what all parameters lie below: "" for a file of nothing else, None where none is known. `names`: what
    the contract calls a parameter -> its path below."""

    path: str | None
    names: Mapping[str, str]


def root_of(arrays: Collection[str], names: Collection[str], given: Sequence[str] | None = None) -> Root:
    """The root under which most of the named parameters are there, of several the first.

    `given` are the paths that may be it, or hold it; by default it is the first `params` of the tree.
    """
    arrays = {path.removesuffix(VALUE) for path in arrays}
    there = _first(arrays) if given is None else [path for path in given if _any_below(arrays, path)]
    inner = [below(path, PARAMETERS) for path in there if path.rpartition("/")[2] != PARAMETERS]
    roots = [*(path for path in inner if _any_below(arrays, path)), *there] or [""] * (given is None)
    tried = [Root(path, called) for path in roots for called in _called(names, path)]

    def found(root: Root) -> int:
        return sum(below(root.path or "", path) in arrays for path in root.names.values())

    best = max(tried, key=found, default=None)
    if best is not None and found(best):
        return best
    if there:
        return Root(there[0], dict(zip(names, names, strict=True)))
    # None is saved; what belongs to them may be, such as their slots.
    ends = {path[at + 1 :] for path in arrays for at, character in enumerate(path) if character == "/"}
    called = max(_called(names, PARAMETERS), key=lambda called: sum(path in ends for path in called.values()))
    return Root(None, called)


def below(above: str, path: str) -> str:
    """A path below another; "" is the step."""
    return f"{above}/{path}" if above else path


def _first(arrays: Collection[str]) -> list[str]:
    ends = {path[: at + len(PARAMETERS)] for path in arrays if (at := f"/{path}".find(f"/{PARAMETERS}/")) >= 0}
    return [min(ends, key=lambda path: (path.count("/"), path))] if ends else []


def _any_below(arrays: Collection[str], path: str) -> bool:
    return not path or any(each.startswith(f"{path}/") for each in arrays)


def _called(names: Collection[str], root: str) -> Iterator[dict[str, str]]:
    """What the parameters may be called below a root: as the contract does, without the parts of the root that all of
    its names carry, or with a second `params`."""
    bare = all(name.endswith(VALUE) for name in names)
    plain = {name: name.removesuffix(VALUE) if bare else name for name in names}
    yield plain
    parts = (root or PARAMETERS).split("/")
    for count in range(len(parts), 0, -1):
        start = "/".join(parts[-count:]) + "/"
        if all(path.startswith(start) for path in plain.values()):
            yield {name: path.removeprefix(start) for name, path in plain.items()}
    yield {name: below(PARAMETERS, path) for name, path in plain.items()}
