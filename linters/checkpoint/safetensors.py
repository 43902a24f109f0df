"""Arrays of .safetensors files, from their headers: every element covered once, no array read.

https://github.com/huggingface/safetensors#format: 8 bytes of length, a JSON object of name -> dtype, shape and the two
offsets of its bytes, then the bytes, without a hole.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from math import prod
from operator import itemgetter
from typing import Any

from .facts import Hole, Item, Leaf, Unlisted
from .folder import Folder
from .metadata import parse, quoted, sizes, wrong
from .stored import Extent

SUFFIX = ".safetensors"
_NUMBERED = re.compile(r"(?P<start>.*)-(?P<number>\d{1,9})-of-(?P<of>\d{1,9})\.safetensors")
INDEX = ".safetensors.index.json"
NOTES = "__metadata__"
"""An object of texts beside the arrays."""
_MOST_HEADER = 100_000_000
"""The format's own limit."""
_BITS = {
    "BOOL": ("bool", 8),
    "F4": ("float4_e2m1fn", 4),
    "F6_E2M3": ("float6_e2m3fn", 6),
    "F6_E3M2": ("float6_e3m2fn", 6),
    "F8_E4M3": ("float8_e4m3fn", 8),
    "F8_E5M2": ("float8_e5m2", 8),
    "F8_E8M0": ("float8_e8m0fnu", 8),
    "BF16": ("bfloat16", 16),
    "C64": ("complex64", 64),
}
_BITS |= {
    f"{letter}{bits}": (f"{name}{bits}", bits)
    for letter, name in (("I", "int"), ("U", "uint"))
    for bits in (8, 16, 32, 64)
}
_BITS |= {f"F{bits}": (f"float{bits}", bits) for bits in (16, 32, 64)}
WORDS = {name: (word, bits) for word, (name, bits) in _BITS.items()}
"""What the format calls a dtype, and its bits."""


def read_safetensors(folder: Folder, names: Collection[str], files: Mapping[str, int]) -> Item:
    """The arrays of these files of a folder. Raises ContractLintError for a damaged header."""
    leaves: dict[str, Leaf] = {}
    holes: list[Hole] = []
    where: dict[str, str] = {}
    notes: set[str] = set()
    for name in sorted(names):
        header, begin = _header(folder, name, files[name])
        notes |= _notes(folder, name, header)
        for tensor, leaf, found in _tensors(folder, name, files[name], header, begin):
            if tensor in where:
                found = [*found, Hole("twice", leaf.path, f"it is in {where[tensor]} and in {name}", name)]
            where.setdefault(tensor, name)
            leaves[leaf.path] = leaf
            holes += found
    listed: dict[str, set[str]] = {}
    indices: dict[str, str] = {}
    for index in sorted(path for path in files if path.endswith(INDEX) and "/" not in path):
        for tensor, file in _index(folder, index).items():
            listed.setdefault(file, set()).add(tensor)
            indices[file] = index
            path = path_of(tensor)
            if where.get(tensor) == file:
                continue
            what = f"{index} says it is in {file}, " + (f"it is in {where[tensor]}" if tensor in where else "it is not")
            holes.append(Hole("absent", path, what, file))
            leaves.setdefault(path, Leaf(path))
    # A file that no index names is of something else.
    unlisted: dict[str, list[str]] = {}
    for tensor, file in where.items():
        if file in listed and tensor not in listed[file]:
            unlisted.setdefault(indices[file], []).append(tensor)
    more = tuple(Unlisted(index, tuple(sorted(tensors)), lost=True) for index, tensors in unlisted.items())
    return Item("", "safetensors", leaves, (*holes, *_unnumbered(names)), more, notes=tuple(sorted(notes)))


def several(names: Iterable[str]) -> list[str]:
    """One file of each checkpoint that lies in a folder without an index: numbered files of one name are one, and each
    other is one by itself. Empty where there is only one."""
    firsts: dict[str, str] = {}
    for name in sorted(names):
        match = _NUMBERED.fullmatch(name)
        firsts.setdefault(name if match is None else f"{match['start']} {match['of']}", name)
    return [*firsts.values()] if len(firsts) > 1 else []


def _unnumbered(names: Iterable[str]) -> Iterable[Hole]:
    """Files that are missing by the names of the others; they are counted from 1, or from 0 where there is one."""
    numbers: dict[tuple[str, str], dict[int, str]] = {}
    for name in sorted(names):
        match = _NUMBERED.fullmatch(name)
        if match is not None:
            numbers.setdefault((match["start"], match["of"]), {})[int(match["number"])] = name
    for (start, of), found in numbers.items():
        first, count = (0 if 0 in found else 1), int(of)
        missing = count - sum(first <= number < first + count for number in found)
        if missing > 0:
            number = next(number for number in range(first, first + count) if number not in found)
            name = f"{start}-{number:0{len(of)}}-of-{of}{SUFFIX}"
            what = f"{missing:,} of {count:,} files are not there (first: {name}), as the others are named"
            yield Hole("absent", "", what, name)


def path_of(tensor: str) -> str:
    """A tensor's name as a path: `model.layers.0.w` is `model/layers/0/w`, what has slashes stays."""
    return tensor if "/" in tensor else tensor.replace(".", "/")


def _header(folder: Folder, name: str, size: int) -> tuple[dict[str, Any], int]:
    """The header of a file, and where its data begin."""
    length = int.from_bytes(folder.read_range(name, 0, 8), "little")
    if size < 8 or length > size - 8:
        wrong(folder, name, f"says its header has {length:,} B, the file has {size:,} B")
    if length > _MOST_HEADER:
        wrong(folder, name, f"has a header of {length:,} B: the format allows {_MOST_HEADER:,} B")
    return parse(folder, name, folder.read_range(name, 8, length)), 8 + length


def _notes(folder: Folder, name: str, header: dict[str, Any]) -> set[str]:
    """The keys of what the file says of itself, which is taken out of the header."""
    notes = header.pop(NOTES, None) or {}
    if not isinstance(notes, dict) or not all(isinstance(text, str) for text in notes.values()):
        wrong(folder, name, f"`{NOTES}` is {quoted(notes)}, not an object of texts")
    return set(notes)


def _tensors(
    folder: Folder, name: str, size: int, header: dict[str, Any], begin: int
) -> Iterable[tuple[str, Leaf, list[Hole]]]:
    """Each tensor of a file, and what is missing of it."""
    data, end = size - begin, 0
    found: list[tuple[int, int, str, Leaf]] = []
    for tensor, entry in header.items():
        dtype, shape, start, stop = _entry(folder, name, tensor, entry)
        extent = Extent(name, begin + start, stop - start)
        found.append((start, stop, tensor, Leaf(path_of(tensor), "array", shape, dtype, tensor, extent=extent)))
    for start, stop, tensor, leaf in sorted(found, key=itemgetter(0, 1, 2)):
        holes: list[Hole] = []
        if stop > data:
            holes.append(Hole("cut", leaf.path, f"its bytes end at {stop:,}, the file has {max(data, 0):,}", name))
        if start < end and stop > start:
            holes.append(Hole("twice", leaf.path, f"its bytes begin at {start:,}, those before end at {end:,}", name))
        if start > end:
            holes.append(Hole("absent", leaf.path, f"bytes {end:,} to {start:,} before it belong to nothing", name))
        end = max(end, stop)
        yield tensor, leaf, holes
    if end < data:
        wrong(folder, name, f"has {data - end:,} B behind its last array")


def _entry(folder: Folder, name: str, tensor: str, entry: Any) -> tuple[str, tuple[int, ...], int, int]:
    if not isinstance(entry, dict) or entry.get("dtype") not in _BITS:
        said = quoted(entry.get("dtype")) if isinstance(entry, dict) else quoted(entry)
        wrong(folder, name, f"{quoted(tensor)} has the dtype {said}, which is not known")
    shape = sizes(folder, name, "shape", entry.get("shape"))
    offsets = entry.get("data_offsets")
    if not isinstance(offsets, list) or not all(type(each) is int and 0 <= each < 1 << 63 for each in offsets):
        wrong(folder, name, f"{quoted(tensor)} has the offsets {quoted(offsets)}, which are no places")
    dtype, bits = _BITS[entry["dtype"]]
    needed = -(-prod(shape) * bits // 8)
    if len(offsets) != 2 or offsets[1] - offsets[0] != needed:
        wrong(folder, name, f"{quoted(tensor)} has the offsets {quoted(offsets)}, {needed:,} B are needed")
    return dtype, shape, offsets[0], offsets[1]


def _index(folder: Folder, name: str) -> dict[str, str]:
    """Tensor -> file, as the index of several files says. The names are compared, never opened."""
    weights = parse(folder, name, folder.read(name)).get("weight_map")
    if not isinstance(weights, dict) or not all(isinstance(file, str) for file in weights.values()):
        wrong(folder, name, "has no `weight_map` of names of files")
    return weights
