"""Shapes as HLO prints them: arrays with layouts, tuples, tokens; sizes in elements and bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import prod

from ..contracts.errors import ContractLintError

# Bits one element takes in memory when its layout does not say otherwise: sub-byte types are stored one to a byte
# unless the layout carries an element size `E(bits)` (xla/shape_util.cc, ByteSizeOfPrimitiveType).
BITS: dict[str, int] = {
    **dict.fromkeys(("pred", "s1", "u1", "s2", "u2", "s4", "u4", "s8", "u8"), 8),
    **dict.fromkeys(("f4e2m1fn", "f6e2m3fn", "f6e3m2fn", "f8e8m0fnu"), 8),
    **dict.fromkeys(("f8e5m2", "f8e4m3fn", "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz", "f8e4m3", "f8e3m4"), 8),
    **dict.fromkeys(("s16", "u16", "f16", "bf16"), 16),
    **dict.fromkeys(("s32", "u32", "f32"), 32),
    **dict.fromkeys(("s64", "u64", "f64", "c64"), 64),
    "c128": 128,
    "token": 0,
    "opaque": 0,
}
_NUMPY = {"pred": "bool", "bf16": "bfloat16", "c64": "complex64", "c128": "complex128"}
_NUMPY_KIND = {"s": "int", "u": "uint", "f": "float"}

_ARRAY = re.compile(r"([a-z][a-z0-9]*)\[([^\[\]]*)\](?:\{([^{}]*)\}|\s+\{([\d:][^{}]*)\})?")
_SKIP = re.compile(r"(?:\s|/\*.*?\*/|,)*", re.DOTALL)
_PARENTHESISED = re.compile(r"([A-Z#*][A-Z]*)((?:\([^()]*\))+)")
_PLAIN_ORDER = re.compile(r"\d{1,3}(?:,\d{1,3})*")
_MAX_DIGITS = 19
_MAX_RANK = 256
# A program has few array shapes and prints each many times; long tuples it prints once.
_MAX_KNOWN = 120
_MAX_DEPTH = 256


def numpy_dtype(primitive: str) -> str:
    """`f32` -> `float32`, `s8` -> `int8`, `pred` -> `bool`; small floats as ml_dtypes spells them (`float8_e4m3fn`)."""
    if primitive in _NUMPY:
        return _NUMPY[primitive]
    if re.fullmatch(r"[suf]\d+", primitive):
        return _NUMPY_KIND[primitive[0]] + primitive[1:]
    small = re.fullmatch(r"f(\d)(e\d.*)", primitive)
    return f"float{small[1]}_{small[2]}" if small else primitive


class Layout:
    """Where the elements of one array lie: minor-to-major order, tiles, memory space, bits of one element.

    Memory spaces: 0 device memory, 1 VMEM on TPU, 2 sync flags, 4 SMEM on TPU, 5 host memory.
    """

    __slots__ = ("element_bits", "extra", "memory_space", "minor_to_major", "tiles")

    def __init__(
        self,
        minor_to_major: tuple[int, ...] = (),
        tiles: tuple[tuple[int, ...], ...] = (),
        memory_space: int = 0,
        element_bits: int = 0,
        extra: dict[str, str] | None = None,
    ) -> None:
        self.minor_to_major = minor_to_major
        self.tiles = tiles
        self.memory_space = memory_space
        self.element_bits = element_bits
        self.extra = extra or {}

    @classmethod
    def parse(cls, text: str) -> Layout:
        """From the text between the braces: `1,0:T(8,128)(2,1)S(1)`. A combined dimension `*` in a tile is -1."""
        order, _, properties = text.partition(":")
        layout = cls(_integers(order))
        for key, groups in _PARENTHESISED.findall(properties):
            values = groups[1:-1].split(")(")
            if key == "T":
                layout.tiles = tuple(
                    tuple(-1 if n.strip() == "*" else _integer(n) for n in v.split(",")) for v in values
                )
            elif key == "S":
                layout.memory_space = _integer(values[0])
            elif key == "E":
                layout.element_bits = _integer(values[0])
            else:
                layout.extra[key] = groups
        return layout


class Shape:
    """One HLO shape. `dtype` is the primitive type (`bf16`), `tuple`, `buffer`, `token` or `opaque`.

    `dims` holds sizes; a bounded dynamic dimension is its bound, an unbounded one is -1, and `dynamic` marks both.
    Equality compares type and sizes, not layouts; `text` is the shape as printed, layouts included.
    """

    __slots__ = ("_layout", "_layout_text", "dims", "dtype", "dynamic", "parts")

    def __init__(
        self,
        dtype: str,
        dims: Sequence[int] = (),
        *,
        layout: Layout | str | None = None,
        parts: Sequence[Shape] = (),
        dynamic: Sequence[bool] = (),
    ) -> None:
        self.dtype = dtype
        self.dims = tuple(dims)
        self.parts = tuple(parts)
        self.dynamic = tuple(dynamic)
        self._layout_text = layout if isinstance(layout, str) else None
        self._layout = layout if isinstance(layout, Layout) else None

    @property
    def layout(self) -> Layout | None:
        """None where no layout is printed."""
        if self._layout is None and self._layout_text is not None:
            self._layout = Layout.parse(self._layout_text)
        return self._layout

    @property
    def is_tuple(self) -> bool:
        return self.dtype == "tuple"

    @property
    def memory_space(self) -> int:
        layout = self.layout
        return layout.memory_space if layout else 0

    @property
    def elements(self) -> int:
        """Elements of an array (bounds taken for dynamic sizes), summed over the leaves of a tuple."""
        if self.parts:
            return sum(leaf.elements for _, leaf in self.leaves())
        if self.dtype in ("token", "opaque", "tuple"):
            return 0
        return prod(max(d, 0) for d in self.dims)

    @property
    def element_bits(self) -> int:
        layout = self.layout
        if layout and layout.element_bits:
            return layout.element_bits
        return BITS.get(self.dtype, 0)

    @property
    def bytes(self) -> int:
        """Bytes without tile padding; tuples count their leaves, not the pointer table."""
        if self.parts:
            return sum(leaf.bytes for _, leaf in self.leaves())
        return (self.elements * self.element_bits + 7) // 8

    @property
    def padded_bytes(self) -> int:
        """Bytes with each dimension rounded up to its tile.

        A tile T(a,b) covers the two most minor dimensions; a further tile packs elements inside the first one, and
        rounds the whole up only where it does not divide it (xla/shape_util.cc; libtpu prints the tiles).
        """
        if self.parts:
            return sum(leaf.padded_bytes for _, leaf in self.leaves())
        layout = self.layout
        if not layout or not layout.tiles or not self.element_bits:
            return self.bytes
        order = layout.minor_to_major or tuple(range(len(self.dims) - 1, -1, -1))
        known = sorted(order) == list(range(len(self.dims)))
        physical = [self.dims[d] for d in reversed(order)] if known else list(self.dims)
        for tile in layout.tiles:
            physical = _tiled(physical, tile)
        return (prod(max(d, 0) for d in physical) * self.element_bits + 7) // 8

    def leaves(self) -> Iterator[tuple[tuple[int, ...], Shape]]:
        """Every array, token or opaque below this shape with its tuple index, in order."""
        if not self.parts:
            if not self.is_tuple:
                yield (), self
            return
        stack: list[tuple[tuple[int, ...], Shape]] = [((), self)]
        while stack:
            index, shape = stack.pop()
            if shape.parts and shape.is_tuple:
                stack.extend(((*index, i), shape.parts[i]) for i in range(len(shape.parts) - 1, -1, -1))
            elif shape.parts:
                stack.append((index, shape.parts[0]))
            elif not shape.is_tuple:
                yield index, shape

    def at(self, index: Sequence[int]) -> Shape:
        """The sub-shape at a tuple index; IndexError where there is none."""
        shape = self
        for i in index:
            shape = shape.parts[i]
        return shape

    @property
    def text(self) -> str:
        """As XLA prints it, without `/*index=*/` comments."""
        pieces: list[str] = []
        stack: list[Shape | str] = [self]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                pieces.append(item)
            elif item.is_tuple:
                stack.append(")")
                for position, part in enumerate(reversed(item.parts)):
                    if position:
                        stack.append(", ")
                    stack.append(part)
                pieces.append("(")
            elif item.dtype == "buffer":
                stack.extend((")", item.parts[0]))
                pieces.append("b(")
            else:
                pieces.append(item._array_text())
        return "".join(pieces)

    def _array_text(self) -> str:
        flags = self.dynamic or (False,) * len(self.dims)
        sizes = ("?" if d < 0 else f"<={d}" if f else str(d) for d, f in zip(self.dims, flags, strict=True))
        text = f"{self.dtype}[{','.join(sizes)}]"
        if self._layout_text is not None:
            return f"{text}{{{self._layout_text}}}"
        layout = self._layout
        if layout is None:
            return text
        properties = "".join(f"({','.join('*' if n < 0 else str(n) for n in tile)})" for tile in layout.tiles)
        properties = f"T{properties}" if properties else ""
        if layout.element_bits:
            properties += f"E({layout.element_bits})"
        if layout.memory_space:
            properties += f"S({layout.memory_space})"
        properties += "".join(key + value for key, value in layout.extra.items())
        order = ",".join(map(str, layout.minor_to_major))
        if not properties:
            return f"{text}{{{order}}}" if order else text
        return f"{text}{{{order}:{properties}}}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Shape):
            return NotImplemented
        if not self.parts and not other.parts:
            return (self.dtype, self.dims, self.dynamic) == (other.dtype, other.dims, other.dynamic)
        mine, theirs = _structure(self), _structure(other)
        return mine == theirs

    def __hash__(self) -> int:
        return hash((self.dtype, self.dims, len(self.parts)))

    def __repr__(self) -> str:
        return f"Shape({self.text})"


def _structure(shape: Shape) -> list[tuple[tuple[int, ...], str, tuple[int, ...], tuple[bool, ...]]]:
    return [(index, leaf.dtype, leaf.dims, leaf.dynamic) for index, leaf in shape.leaves()]


def _tiled(physical: list[int], tile: tuple[int, ...]) -> list[int]:
    """Major-to-minor sizes after one tile: the covered dimensions become counts of tiles, then the tile itself.

    A tile longer than the rank covers leading dimensions of size 1; `*` (-1) joins a dimension to the next minor one.
    """
    sizes = [1] * max(0, len(tile) - len(physical)) + physical
    head, covered = sizes[: len(sizes) - len(tile)], sizes[len(sizes) - len(tile) :]
    merged, inner = [], []
    carry = 1
    for size, width in zip(covered, tile, strict=True):
        if width < 0:
            carry *= size
            continue
        merged.append(-(-size * carry // width) if width else size)
        inner.append(width)
        carry = 1
    return [*head, *merged, *inner]


def _integer(text: str) -> int:
    text = text.strip()
    if not text.isdecimal() or len(text) > _MAX_DIGITS:
        raise ContractLintError(f"not a size in a shape: {text[:40]!r}")
    return int(text)


def _integers(text: str) -> tuple[int, ...]:
    return tuple(_integer(n) for n in text.split(",")) if text.strip() else ()


def _dimension(text: str) -> tuple[int, bool]:
    text = text.strip()
    if text.startswith("?"):
        return -1, True
    if text.startswith("<="):
        bound = text[2:].strip()
        return (-1, True) if bound == "?" else (_integer(bound), True)
    return _integer(text), False


def _array(match: re.Match[str]) -> Shape:
    dtype, sizes, layout, apart = match.groups()
    layout = layout if apart is None else apart
    if layout and (" " in layout or "\n" in layout):
        layout = "".join(layout.split())
    if layout and _PLAIN_ORDER.fullmatch(layout) is None:
        Layout.parse(layout)  # refused here, where the caller knows the place, rather than when it is asked for
    if not sizes:
        return Shape(dtype, layout=layout)
    if sizes.count(",") >= _MAX_RANK:
        raise ContractLintError(f"a shape of more than {_MAX_RANK} dimensions: {match[0][:40]!r}")
    if "?" not in sizes and "<" not in sizes:
        return Shape(dtype, _integers(sizes), layout=layout)
    dims, dynamic = zip(*map(_dimension, sizes.split(",")), strict=True)
    return Shape(dtype, dims, layout=layout, dynamic=dynamic)


def scan_shape(text: str, start: int = 0) -> tuple[Shape, int]:
    """The shape that begins at `start`, and where it ends. Tuples of any depth, no recursion.

    Raises ContractLintError where no shape begins there.
    """
    match = _ARRAY.match(text, start)
    if match:
        return _array(match), match.end()
    open_tuples: list[tuple[str, list[Shape]]] = []
    at = start
    while True:
        at = _SKIP.match(text, at).end()  # type: ignore[union-attr]
        match = _ARRAY.match(text, at)
        if match:
            shape, at = _array(match), match.end()
        elif text.startswith("(", at):
            if len(open_tuples) >= _MAX_DEPTH:
                raise ContractLintError(f"tuples nested more than {_MAX_DEPTH} deep")
            open_tuples.append(("tuple", []))
            at += 1
            continue
        elif text.startswith("b(", at):
            open_tuples.append(("buffer", []))
            at += 2
            continue
        elif text.startswith(")", at) and open_tuples:
            dtype, parts = open_tuples.pop()
            shape, at = Shape(dtype, parts=parts), at + 1
            if dtype == "buffer" and len(parts) != 1:
                raise ContractLintError(f"a buffer holds one shape: {text[start : start + 60]!r}")
        else:
            raise ContractLintError(f"not a shape: {text[at : at + 60]!r}")
        if not open_tuples:
            return shape, at
        open_tuples[-1][1].append(shape)


def optional_shape(text: str) -> Shape | None:
    """The shape in a text from outside; None for one that is empty or no shape."""
    try:
        return parse_shape(text) if text else None
    except ContractLintError:
        return None


def parse_shape(text: str) -> Shape:
    """The shape printed in `text`, all of it. ContractLintError otherwise. Shapes are shared: do not change them."""
    return _known(text) if len(text) < _MAX_KNOWN else _whole(text)


def _whole(text: str) -> Shape:
    shape, end = scan_shape(text, _SKIP.match(text).end())  # type: ignore[union-attr]
    if _SKIP.match(text, end).end() != len(text):  # type: ignore[union-attr]
        raise ContractLintError(f"more than one shape: {text[:80]!r}")
    return shape


_known = lru_cache(maxsize=4096)(_whole)
