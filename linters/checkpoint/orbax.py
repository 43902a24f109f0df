"""One tree of arrays as Orbax saves it: names from its metadata, shapes from zarr's, holes from what is stored.

`write_shape` in the metadata is the shape of what one device wrote; it is not looked at.
https://orbax.readthedocs.io/en/latest/guides/checkpoint/checkpoint_format.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any

from .beside import faults_of_written, placed
from .blosc import blosc_cut
from .entries import EMPTY, faults_of_entries, faults_of_scalars, jax_arrays, keys_of, paths_of
from .facts import Fault, Hole, Item, Leaf, LeafKind, Unlisted
from .folder import Folder
from .metadata import parse, quoted, wrong
from .ocdbt import MANIFEST, read_ocdbt
from .stored import Extent, plain
from .strings import texts_of
from .zarr import NAMES, ZarrArray, index_cut, read_zarr
from .zstd import zstd_cut

METADATA = "_METADATA"
AGGREGATE = "checkpoint"
"""What held the tree before 2023; what Orbax calls an array that is saved by itself."""
_KINDS: dict[str, LeafKind] = {"string": "text", "placeholder": "placeholder"}
"""What Orbax calls a leaf that is no array."""
_FRAMES = {"zstd": zstd_cut, "blosc": blosc_cut}
"""Compressors that write beside the bytes how many there are."""
_OVERHEAD = 1024
"""Bytes, beside two in a hundred, that a compressor may add: bzip2, which adds most, adds half of that."""
_ORDER = "Orbax writes little-endian and in the order of C: another tool wrote this, or numbers are read as others"
_COMPARE = "compare the values with another step (checkpoint diff); if another tool wrote the array, accept this"
CHUNK = r"(?:c(?:[./]\d+)*|\d+(?:[./]\d+)*)"
"""What zarr calls a chunk."""
_CHUNK = re.compile(CHUNK)


def read_tree(folder: Folder, below: str, files: Mapping[str, int], *, single: bool = False) -> Item:
    """The tree in a folder of a step. `files`: those of the tree. `single`: it may be
    one array that was saved by itself, which had no tree until 2025 and needs none.

    Raises ContractLintError where its metadata is damaged.
    """
    start = f"{below}/" if below else ""
    metadata = parse_metadata(folder, start, files)
    ocdbt = f"{start}{MANIFEST}" in files
    store, holes = read_ocdbt(folder, below, files) if ocdbt else (plain(files, below), ())
    version = 3 if metadata.get("use_zarr3", any(map(_describes(3), store))) else 2
    arrays = _arrays(store, version)
    reader = _Reader(folder, below, files, version, bool(metadata.get("store_array_data_equal_to_fill_value")))
    leaves: dict[str, Leaf] = {}
    found = list(holes)
    single = single and arrays.keys() == {AGGREGATE}
    if not metadata and not single and f"{start}{AGGREGATE}" not in files:
        found.append(Hole("absent", "", f"{METADATA} is not there, which names its leaves", f"{start}{METADATA}"))
    tree = list(_tree(folder, start, metadata, arrays))
    lay, fault = placed(folder, start, files, jax_arrays(metadata), single=single)
    faults = [*faults_of_written(folder, start, files), *([fault] if fault is not None else [])]
    told: list[tuple[str, str, LeafKind]] = [
        (path, ".".join(keys), kind)
        for path, (keys, kind) in zip(paths_of([keys for keys, _ in tree]), tree, strict=True)
    ]
    texts = texts_of(folder, start, files, {path: name for path, name, kind in told if kind == "text"})
    unusual: list[tuple[str, str]] = []
    for path, name, kind in told:
        if kind != "array":
            leaves[path] = Leaf(path, kind, text=texts.found.get(path))
            if kind == "placeholder":
                found.append(Hole(kind, path, "it was saved as a placeholder (`...`)", f"{start}{METADATA}"))
            continue
        array = reader.array(name, arrays.get(name))
        leaves[path] = (
            Leaf(path, "array", array.shape, array.dtype, name, version, placed=lay.get(name)) if array else Leaf(path)
        )
        if array is not None:
            found += reader.holes(path, array, arrays[name])
            if array.coding.unusual:
                unusual.append((reader.file(name), array.coding.unusual))
        elif not holes:
            found.append(Hole("absent", path, "no array is stored", f"{start}{name}"))
    faults += faults_of_entries(f"{start}{METADATA}", metadata)
    shapes = {leaf.name: leaf.shape for leaf in leaves.values() if leaf.shape is not None}
    faults += faults_of_scalars(f"{start}{METADATA}", metadata, shapes)
    faults += _fault_of_order(unusual) if metadata else []
    found += texts.holes
    faults += texts.faults
    layout = "ocdbt" if ocdbt else "zarr3" if version == 3 else "zarr"
    named = {name for _, name, _ in told}
    unlisted = arrays.keys() - named
    firsts = {name.partition(".")[0] for name in named if "." in name}
    lost = unlisted if ocdbt else {name for name in unlisted if _beside(name, named, firsts)}
    if ocdbt:
        # A database names all that is in it, and no folder beside it.
        unlisted |= {_array_of(key) for key in plain(files, below) if _describes(2)(key) or _describes(3)(key)}
    parts = ((lost, True), (unlisted - lost, False))
    more = tuple(Unlisted("its tree", tuple(sorted(names)), told) for names, told in parts if names)
    return Item(below, layout, leaves, tuple(found), more, tuple(faults))


def _beside(name: str, named: Collection[str], firsts: Collection[str]) -> bool:
    """Whether an array that a tree does not name is called as those that it names, or ends as one does (a slot)."""
    ends = [at for at, each in enumerate(name) if each == "."]
    return (bool(ends) and name[: ends[0]] in firsts) or any(name[at + 1 :] in named for at in ends)


def is_single(item: Item) -> bool:
    """Whether a tree is what Orbax makes of one array that is saved by itself."""
    return [(path, leaf.kind) for path, leaf in item.leaves.items()] == [(AGGREGATE, "array")]


def fault_of_names(item: Item) -> Fault | None:
    """An array in a folder that has the name of the file that a tree was before 2023: Orbax opens it as that."""
    if item.layout == "ocdbt" or AGGREGATE not in item.leaves or item.leaves[AGGREGATE].kind != "array":
        return None
    return Fault(
        item.named(AGGREGATE),
        "is a folder, and this is a tree",
        then="Orbax opens it as a file, and restores nothing of the tree",
        help="save the tree as OCDBT, or give the array another name; was one array by itself put here?",
    )


def parse_metadata(folder: Folder, start: str, files: Mapping[str, int]) -> dict[str, Any]:
    """What `_METADATA` says; empty where there is none, as in steps of before 2023."""
    path = f"{start}{METADATA}"
    return parse(folder, path, folder.read(path)) if path in files else {}


def _tree(
    folder: Folder, start: str, metadata: Mapping[str, Any], arrays: Iterable[str]
) -> Iterable[tuple[tuple[str, ...], LeafKind]]:
    """Each leaf as its keys and what is there."""
    if not metadata:
        for name in sorted(arrays):
            yield tuple(name.split(".")), "array"
        return
    path = f"{start}{METADATA}"
    tree = metadata.get("tree_metadata")
    if not isinstance(tree, dict):
        wrong(folder, path, "has no `tree_metadata`")
    for name, entry in tree.items():
        try:
            keys = keys_of(entry)
            value = entry["value_metadata"]
            kind, skipped = value["value_type"], value["skip_deserialize"]
            types = {key["key_type"] for key in entry["key_metadata"]}
        except KeyError as error:
            wrong(
                folder, path, f"the entry {quoted(name)} has no `{error.args[0]}`, without which Orbax does not read it"
            )
        except TypeError:
            wrong(folder, path, f"the entry {quoted(name)} has no keys or no type")
        if not types <= {1, 2}:
            wrong(
                folder, path, f"the entry {quoted(name)} has keys that are neither of a list (1) nor of a mapping (2)"
            )
        told: LeafKind = "empty" if skipped or kind in EMPTY else _KINDS.get(kind, "array")
        yield keys, told


def _arrays(store: Mapping[str, Extent], version: int) -> dict[str, dict[str, Extent]]:
    """Name of an array -> its chunks and metadata -> where they lie."""
    described = _describes(version)
    # A folder of numbered files is no array: it has no metadata that says so, and no tree names it.
    found = {_array_of(key): {NAMES[version]: extent} for key, extent in store.items() if described(key)}
    for key, extent in store.items():
        # An array may be called as a chunk of another is: what lies in it is its own. One that is the whole tree has
        # no name, and no folder.
        at = key.rfind("/")
        while at >= 0 and key[:at] not in found:
            at = key.rfind("/", 0, at)
        name = key[: max(at, 0)]
        if name in found and _CHUNK.fullmatch(key, at + 1):
            found[name][key[at + 1 :]] = extent
    return found


def _fault_of_order(found: list[tuple[str, str]]) -> Iterable[Fault]:
    """One for all arrays of a tree."""
    if found:
        (file, what), more = found[0], len(found) - 1
        what = f"has {what}{f' (so it is with {more:,} more)' if more else ''}"
        yield Fault(file, what, then=_ORDER, kind="order", severity="warning", help=_COMPARE)


def _describes(version: int) -> Callable[[str], bool]:
    """Whether a key is that of the metadata of an array."""
    name, below = NAMES[version], f"/{NAMES[version]}"
    return lambda key: key.endswith(below) or key == name


def _array_of(key: str) -> str:
    """The name of an array by the key of its metadata; "" of one that is the whole tree."""
    return key.rpartition("/")[0]


class _Reader:
    """Arrays of one store."""

    def __init__(self, folder: Folder, below: str, files: Mapping[str, int], version: int, dense: bool) -> None:
        self.folder, self.start, self.files, self.version = folder, f"{below}/" if below else "", files, version
        self.dense = dense
        self._read: dict[bytes, ZarrArray] = {}

    def file(self, name: str) -> str:
        """Where the metadata of an array lies, or what the database calls that."""
        return f"{self.start}{name}/{NAMES[self.version]}" if name else f"{self.start}{NAMES[self.version]}"

    def array(self, name: str, chunks: Mapping[str, Extent] | None) -> ZarrArray | None:
        """Shape, dtype and grid of an array; None where its metadata is not all there."""
        extent = chunks.get(NAMES[self.version]) if chunks is not None else None
        if extent is None or extent.missing(self.files) is not None:
            return None
        path = self.file(name)
        if extent.length > 1 << 20:
            wrong(self.folder, path, "is too large for the metadata of one array")
        text = extent.read(self.folder)
        # Layers that are alike have the same metadata to the byte.
        if text not in self._read:
            self._read[text] = read_zarr(self.folder, path, text, self.version)
        return self._read[text]

    def holes(self, leaf: str, array: ZarrArray, chunks: Mapping[str, Extent]) -> list[Hole]:
        """Elements that are not there: chunks that are not stored, or whose bytes are cut."""
        found: list[Hole] = []
        stored = [key for key in chunks if key != NAMES[self.version]]
        missing, first = array.absent(stored)
        if missing and first is not None:
            what = f"{missing:,} of {missing + len(stored):,} chunks are not stored (first: {first})"
            # Chunks that hold only the fill value need not be stored, unless the tree says that they are.
            found.append(Hole("absent" if self.dense or array.told.dense else "unstored", leaf, what, self.start))
        outside = array.outside(stored)
        if outside:
            grid = " x ".join(map(str, array.grid)) or "1"
            more = f"; so are {len(outside) - 1:,} more" if len(outside) > 1 else ""
            what = f"chunk {outside[0]} is stored and lies outside of the grid of {grid}{more}"
            found.append(Hole("outside", leaf, what, self.start))
        for key in stored:
            why = chunks[key].missing(self.files) or self._short(array, chunks[key])
            if why is not None:
                found.append(Hole("cut", leaf, f"chunk {key}: {why}", chunks[key].file))
        return found

    def _short(self, array: ZarrArray, extent: Extent) -> str | None:
        most, coding = array.chunk_bytes, array.coding
        if coding.raw and most is not None and extent.length != most:
            return f"{extent.length:,} B are stored, {most:,} are needed"
        if extent.length == 0:
            return "0 B are stored"
        if coding.inner:
            return index_cut(extent, coding, self.folder)
        if coding.compressor is not None and most is not None and extent.length > most + most // 50 + _OVERHEAD:
            return f"{extent.length:,} B are stored, more than any compressor makes of {most:,}"
        frame = _FRAMES.get(coding.compressor or "")
        if frame is None:
            return None
        return frame(partial(extent.part, self.folder), extent.length, most)
