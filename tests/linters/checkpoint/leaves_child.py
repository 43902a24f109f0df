"""Trees that Orbax saves, each then damaged in many ways, and whether it restores what was saved: no code of ours."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
import orbax.checkpoint as ocp

OUT = Path(sys.argv[1]).resolve()
STRINGS = "_strings.json"
LAYOUTS: dict[str, dict[str, bool]] = {
    "ocdbt": {"use_ocdbt": True},
    "zarr": {"use_ocdbt": False},
    "zarr3": {"use_ocdbt": False, "use_zarr3": True},
}
TREE = {
    "w": jax.numpy.ones((4, 6)),
    "list": [np.ones(2), np.zeros(3)],
    "count": 3,
    "word": "text",
    "more": {"name": "é", "a/b": "slash", "list": ["x", "y"]},
}
ONE: list[dict[str, Any]] = [
    {"l": [np.ones(2)], "l.0": np.zeros(2)},
    {"a": {"b": np.ones(2)}, "a.b": np.zeros(2)},
    {"a": {"b": "x"}, "a.b": "y", "w": np.ones(2)},
    {"a": {"b": "x"}, "a.b": np.zeros(2)},
    {"a": {"b": None}, "a.b": np.zeros(2)},
    {"a": {"b": np.ones(2)}, "a/b": np.zeros(2)},
    {"a": {"b": "x"}, "a/b": "y", "w": np.ones(2)},
]
"""Names that are alike: which of them are one to Orbax?"""


def plain(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf if isinstance(leaf, str) else np.asarray(leaf).tolist(), tree)


def restored(folder: Path) -> Any:
    try:
        return plain(ocp.PyTreeCheckpointer().restore(folder))
    except Exception:
        return None


def written(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes())) and None


def edited(name: str, change: Callable[[Any], object]) -> Callable[[Path], None]:
    def edit(text: bytes) -> bytes:
        value = json.loads(text)
        change(value)
        return json.dumps(value).encode()

    return written(name, edit)


def damages(folder: Path) -> Iterator[tuple[str, Callable[[Path], None]]]:
    yield "texts cut", written(STRINGS, lambda text: text[:-1])
    yield "texts emptied", written(STRINGS, lambda _: b"")
    yield "texts of nothing", written(STRINGS, lambda _: b"{}")
    yield "texts a list", written(STRINGS, lambda _: b"[]")
    yield "texts flipped", written(STRINGS, lambda text: bytes([text[0] ^ 1]) + text[1:])
    yield "texts as they are", written(STRINGS, lambda text: b" " + text)
    yield "one text more", edited(STRINGS, lambda texts: texts.update(new="x"))
    yield "a text that is a number", edited(STRINGS, lambda texts: texts.update(word=3))
    for name in json.loads((folder / STRINGS).read_bytes()):
        yield f"no text {name}", edited(STRINGS, lambda texts, name=name: texts.pop(name))
    tree = json.loads((folder / "_METADATA").read_bytes())["tree_metadata"]
    for name, entry in tree.items():
        if entry["value_metadata"]["value_type"] in ("jax.Array", "np.ndarray"):
            yield f"{name} a scalar", _entry(name, lambda entry: entry["value_metadata"].update(value_type="scalar"))
        for at, key in enumerate(entry["key_metadata"]):
            yield f"{name} with another key {at}", _entry(name, partial(_retyped, at=at, kind=3 - key["key_type"]))
    if (folder / "w/zarr.json").is_file():
        for part in ("codecs", "index_codecs"):
            for at in range(2):
                yield f"{part} without {at}", edited("w/zarr.json", partial(_uncoded, part=part, at=at))


def _retyped(entry: Any, at: int, kind: int) -> None:
    entry["key_metadata"][at].update(key_type=kind)


def _uncoded(array: Any, part: str, at: int) -> None:
    array["codecs"][0]["configuration"][part].pop(at)


def _entry(name: str, change: Callable[[Any], object]) -> Callable[[Path], None]:
    return edited("_METADATA", lambda metadata: change(metadata["tree_metadata"][name]))


def save(name: str, tree: Any, options: dict[str, bool]) -> None:
    ocp.Checkpointer(ocp.PyTreeCheckpointHandler(**options)).save(OUT / name, args=ocp.args.PyTreeSave(tree))


same: dict[str, bool] = {}
for layout, options in LAYOUTS.items():
    for number, tree in enumerate(ONE):
        save(f"{layout}-{number}", tree, options)
        same[f"{layout}-{number}"] = restored(OUT / f"{layout}-{number}") == plain(tree)
    save(layout, TREE, options)
    assert restored(OUT / layout) == plain(TREE)
    for number, (what, damage) in enumerate(damages(OUT / layout)):
        name = f"{layout}.{number}: {what}".replace("/", "|")
        shutil.copytree(OUT / layout, OUT / name)
        damage(OUT / name)
        same[name] = restored(OUT / name) == plain(TREE)
(OUT / "same.json").write_text(json.dumps(same))
