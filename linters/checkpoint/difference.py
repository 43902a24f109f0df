"""What one checkpoint holds otherwise than another: leaves, shapes, dtypes, and how far values are apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .facts import Checkpoint, Item, Leaf
from .metadata import quoted
from .others import other_changes, said_apart
from .values import Values

if TYPE_CHECKING:
    import numpy

Kind = Literal["removed", "added", "shape", "dtype", "content", "values"]
"""`content`: of a text, or of what is no tree of arrays."""


@dataclass(frozen=True, slots=True)
class ValueStatistics:
    """Two arrays of one shape, element by element. `largest` and `relative` leave out what is not finite in either."""

    elements: int
    different: int
    """Elements that are not equal; two NaN are."""
    largest: float
    """max |a - b|"""
    relative: float
    """|a - b| / |a| in the Euclidean norm; inf where a is 0 and b is not."""
    not_finite: tuple[int, int]
    """NaN and infinities in each."""


@dataclass(frozen=True, slots=True)
class LeafChange:
    """One leaf that is another, or one key of JSON beside the trees."""

    kind: Kind
    path: str
    before: str | None
    after: str | None
    values: ValueStatistics | None = None


@dataclass(frozen=True, slots=True)
class NotStored:
    """Elements of one leaf that no chunk holds on one side; they were read as the fill value where values were."""

    side: Literal["a", "b"]
    path: str
    what: str


def not_stored(a: Checkpoint, b: Checkpoint, changes: Iterable[LeafChange]) -> Iterator[NotStored]:
    """What is compared and was never there: chunks that should be stored, and those that need not be where it shows."""
    apart = {change.path for change in changes if change.kind == "values"}
    short = _names(a, b)
    sides: tuple[tuple[Literal["a", "b"], Checkpoint, bool], ...] = (("a", a, short[0]), ("b", b, short[1]))
    for side, checkpoint, left_out in sides:
        trees = _trees(checkpoint)
        for item in trees:
            for hole in item.holes:
                path = _path(item, hole.leaf, trees, left_out)
                if hole.leaf in item.leaves and (hole.kind == "absent" or (hole.kind == "unstored" and path in apart)):
                    yield NotStored(side, path, hole.what)


def difference(
    a: Checkpoint, b: Checkpoint, *, values: bool, on_progress: Callable[[str], None] | None = None
) -> Iterator[LeafChange]:
    """Every change by path. With `values`, arrays of one shape are read block by block, those of each side beside the
    other's. Raises ContractLintError for contents that cannot be read."""
    short = _names(a, b)
    mine, theirs = _leaves(a, short[0]), _leaves(b, short[1])
    readers: dict[tuple[int, str], Values] = {}
    for path in sorted({*mine, *theirs}):
        if path not in theirs or path not in mine:
            there = mine.get(path) or theirs[path]
            said = _described(there[1])
            yield LeafChange("removed", path, said, None) if path in mine else LeafChange("added", path, None, said)
            continue
        (item_a, leaf_a), (item_b, leaf_b) = mine[path], theirs[path]
        if (leaf_a.kind, leaf_a.shape) != (leaf_b.kind, leaf_b.shape):
            yield LeafChange("shape", path, _described(leaf_a), _described(leaf_b))
            continue
        if leaf_a.dtype != leaf_b.dtype:
            yield LeafChange("dtype", path, leaf_a.dtype, leaf_b.dtype)
        if leaf_a.text != leaf_b.text:
            yield LeafChange("content", path, *_texts(leaf_a.text, leaf_b.text))
        if not values or leaf_a.kind != "array" or leaf_a.shape is None:
            continue
        if on_progress is not None:
            on_progress(f"reading {path}")
        for side, checkpoint, item in ((0, a, item_a), (1, b, item_b)):
            readers.setdefault((side, item.name), Values(checkpoint, item))
        found = statistics(readers[0, item_a.name].of(leaf_a), readers[1, item_b.name].of(leaf_b))
        if found.different:
            yield LeafChange("values", path, None, None, found)
    for other in other_changes(a, b, values=values):
        yield LeafChange(other.kind, other.path, other.before, other.after)


def statistics(a: Iterable[numpy.ndarray], b: Iterable[numpy.ndarray]) -> ValueStatistics:
    """Over two arrays in the same blocks; memory is that of one block."""
    import numpy

    elements = different = odd_a = odd_b = 0
    largest = apart = size = 0.0
    for one, other in zip(a, b, strict=True):
        finite_a, finite_b = numpy.isfinite(one), numpy.isfinite(other)
        equal = (one == other) | ((one != one) & (other != other))
        elements += one.size
        different += int(one.size - numpy.count_nonzero(equal))
        odd_a += int(one.size - numpy.count_nonzero(finite_a))
        odd_b += int(other.size - numpy.count_nonzero(finite_b))
        both = finite_a & finite_b
        # Integers are compared as they are, and are far apart as floats.
        wide = "complex128" if "c" in (one.dtype.kind, other.dtype.kind) else "float64"
        here = one[both].astype(wide)
        gap = numpy.abs(here - other[both].astype(wide))
        largest = max(largest, float(gap.max(initial=0)))
        apart += float((gap**2).sum())
        size += float((numpy.abs(here) ** 2).sum())
    relative = (apart / size) ** 0.5 if size else float("inf") if apart else 0.0
    return ValueStatistics(elements, different, largest, relative, (odd_a, odd_b))


def _names(a: Checkpoint, b: Checkpoint) -> tuple[bool, bool]:
    """For each side whether the name of its one item is left out, so that as many leaves as can be have one path in
    both: what was made from a step may have kept that name."""
    sides = [[(short, _leaves(checkpoint, short).keys()) for short in (True, False)] for checkpoint in (a, b)]
    pairs = [(mine, theirs) for mine in sides[0] for theirs in sides[1]]
    (one, _), (other, _) = max(pairs, key=lambda pair: len(pair[0][1] & pair[1][1]))
    return one, other


def _texts(a: str | None, b: str | None) -> tuple[str, str]:
    if a is None or b is None:
        return _text(a), _text(b)
    return said_apart(a, b)


def _text(text: str | None) -> str:
    return "no text" if text is None else quoted(text)


def _leaves(checkpoint: Checkpoint, short: bool) -> dict[str, tuple[Item, Leaf]]:
    """Leaves by path. `short`: the name of an item is left out where no other has a tree; what lies deeper keeps its
    own."""
    trees = _trees(checkpoint)
    return {
        _path(item, path, trees, short): (item, leaf)
        for item in trees
        for path, leaf in item.leaves.items()
        if leaf.kind != "empty"
    }


def _trees(checkpoint: Checkpoint) -> list[Item]:
    return [item for item in checkpoint.items if item.leaves]


def _path(item: Item, path: str, trees: list[Item], short: bool) -> str:
    outer = [each for each in trees if "/" not in each.name]
    return (path if short and [item] in (outer, trees) else item.named(path)) or "."


def _described(leaf: Leaf) -> str:
    if leaf.kind != "array":
        return leaf.kind
    return f"{leaf.dtype}{list(leaf.shape)}" if leaf.shape is not None else "an array that is not there"
