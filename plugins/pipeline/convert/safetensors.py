"""A .safetensors file, written as its bytes come: the header first, for which shapes and dtypes are enough.

https://github.com/huggingface/safetensors#format
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from math import prod
from pathlib import Path

from ....contracts.errors import ContractLintError
from ....contracts.finding import Location
from ....linters.checkpoint.facts import Leaf
from ....linters.checkpoint.safetensors import NOTES, WORDS

SEPARATORS = (".", "/")


def tensor_names(names: Iterable[str], separator: str, shown: str) -> dict[str, str]:
    """Path -> the name of a tensor. Raises ContractLintError where a part of a path holds the separator."""
    found: dict[str, str] = {}
    for name in names:
        if separator != "/" and separator in name:
            said = f"`{name}` has a `{separator}` in it, which would not come back as it is"
            raise ContractLintError(said, Location(shown), "write names with --separator /, or map it to another")
        if separator == "/" and "/" not in name and "." in name:
            said = f"`{name}` has no `/`, and would come back cut at its dots"
            raise ContractLintError(said, Location(shown), "map it to a path of two parts")
        found[name] = name.replace("/", separator)
        if found[name] == NOTES:
            said = f"`{name}` is what .safetensors calls its own notes, and no array may be called so"
            raise ContractLintError(said, Location(shown), "map it to another name")
    return found


def write_safetensors(
    path: Path, leaves: Mapping[str, Leaf], read: Callable[[str], Iterable[bytes]], separator: str, shown: str
) -> None:
    """Write the arrays by their new paths; `read` gives the bytes of one. Wide dtypes come first, so that all are
    aligned. Raises ContractLintError for a dtype that the format has no word for."""
    tensors = tensor_names(leaves, separator, shown)
    entries: list[tuple[int, str, str, int]] = []
    for name, leaf in leaves.items():
        word, bits = WORDS.get(leaf.dtype or "", ("", 0))
        if not word or bits % 8:
            raise ContractLintError(f"{name} is {leaf.dtype}: .safetensors has no word for it", Location(shown))
        entries.append((-bits, name, word, prod(leaf.shape or ()) * bits // 8))
    entries.sort()
    header: dict[str, object] = {}
    at = 0
    for _, name, word, size in entries:
        header[tensors[name]] = {
            "dtype": word,
            "shape": list(leaves[name].shape or ()),
            "data_offsets": [at, at + size],
        }
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("xb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, name, _, size in entries:
            written = sum(file.write(block) for block in read(name))
            if written != size:
                raise ContractLintError(f"{name} has {written:,} B, and {size:,} are expected", Location(shown))
