"""What Orbax writes beside the arrays of a tree, and reads first when it restores them: how each was written
(`array_metadatas/process_N`), and how each lay on the devices (`_sharding`).

A step of before 2024 has neither, and one whose folders were copied by hand may lack them. Without the first it
restores; without the second StandardCheckpointer restores it too, PyTreeCheckpointer where the restore names the
placements.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, TypeGuard

from ...contracts.errors import ContractLintError
from ...contracts.finding import Severity
from ..cut import in_a_line
from .facts import Fault, Placed
from .folder import Folder
from .metadata import kind, parse, parse_any, quoted, sizes, wrong

WRITTEN = "array_metadatas"
PLACED = "_sharding"
_PROCESS = re.compile(r"process_\d+")
_ONE_DEVICE = "SingleDeviceSharding"
_MESH = "NamedSharding"
_AXIS_TYPES = ("AxisType.Auto", "AxisType.Explicit", "AxisType.Manual")
"""Of jax; another is no type that Orbax finds."""
_GONE = "StandardCheckpointer restores the tree, PyTreeCheckpointer where the restore names the placements"
_FAILS = "a restore of it that names no placement fails"
_SOME = 3
"""Arrays that a message names."""


def faults_of_written(folder: Folder, start: str, files: Iterable[str]) -> Iterator[Fault]:
    """Files that say how arrays were written, and that no restore gets past."""
    below = f"{start}{WRITTEN}/"
    for path in sorted(path for path in files if path.startswith(f"{below}process_")):
        fault = _fault(folder, path, _written, "error")
        if fault is not None:
            yield fault


def placed(
    folder: Folder, start: str, files: Iterable[str], needed: Collection[str] = (), *, single: bool = False
) -> tuple[dict[str, Placed], Fault | None]:
    """Name of an array -> how it lay on the devices that saved it, where that is said; and why nothing is.

    `needed`: the arrays of jax, of which Orbax notes each. `single`: it is one array that was saved by itself, which no
    other handler restores.
    """
    path, found = f"{start}{PLACED}", dict[str, Placed]()
    if path not in files:
        gone = Fault(path, "is not there", severity="warning" if single else "info", then=_FAILS if single else _GONE)
        return found, gone if needed else None

    def read(folder: Folder, path: str) -> None:
        names = set[str]()
        for name, place in _placed(folder, path):
            names.add(name)
            if place is not None:
                found[name] = place
        absent = sorted({*needed} - names)
        if absent:
            wrong(folder, path, f"does not say where {in_a_line(absent, _SOME)} lay")

    return found, _fault(folder, path, read, "warning")


def _fault(folder: Folder, path: str, read: Callable[[Folder, str], None], severity: Severity) -> Fault | None:
    try:
        read(folder, path)
    except ContractLintError as error:
        place = str(error.location).removeprefix(f"{folder.shown}/{path}").lstrip(":")
        return Fault(path, error.message, place, severity)
    return None


def _written(folder: Folder, path: str) -> None:
    """Raises ContractLintError for what Orbax cannot read."""
    if not _PROCESS.fullmatch(path.rpartition("/")[2]):
        wrong(folder, path, "has a name that ends with no number of a process")
    entries = parse(folder, path, folder.read(path)).get("array_metadatas", [])
    if not isinstance(entries, list):
        wrong(folder, path, f"`array_metadatas` is {kind(entries)}, not a list")
    for entry in entries:
        value = entry.get("array_metadata") if isinstance(entry, dict) else None
        if not isinstance(value, dict) or not isinstance(value.get("param_name"), str):
            wrong(folder, path, f"the entry {quoted(entry)} names no array")
        for name in ("write_shape", "chunk_shape"):
            sizes(folder, path, name, value.get(name))


def _placed(folder: Folder, path: str) -> Iterator[tuple[str, Placed | None]]:
    """Raises ContractLintError for what Orbax cannot read."""
    known: dict[str, Placed | None] = {}
    for name, text in parse(folder, path, folder.read(path)).items():
        try:
            array = base64.b64decode(name, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            continue  # the name of no array
        if not isinstance(text, str):
            wrong(folder, path, f"the placement of {array} is {kind(text)}, not text")
        # Arrays that lie alike have the same text.
        if text not in known:
            known[text] = _placement(folder, path, array, text)
        yield array, known[text]


def _placement(folder: Folder, path: str, array: str, text: str) -> Placed | None:
    try:
        value = parse_any(folder, path, text.encode())
    except ContractLintError as error:
        wrong(folder, path, f"the placement of {array} {error.message}")
    said = value.get("sharding_type") if isinstance(value, dict) else None
    if said == _ONE_DEVICE and isinstance(value.get("device_str"), str):
        return Placed()
    if said != _MESH:
        wrong(folder, path, f"the placement of {array} is {quoted(value)}, which Orbax does not know")
    names, spec = value.get("axis_names") or [], value.get("partition_spec")
    shape = sizes(folder, path, "shape", value.get("shape"))
    if not _texts(names) or len(names) != len(shape) or not isinstance(spec, list):
        wrong(folder, path, f"the placement of {array} is {quoted(value)}, which names no mesh or no axes")
    types = value.get("axis_types") or []
    if not _texts(types) or not {*types} <= {*_AXIS_TYPES} or len(types) not in (0, len(names)):
        said = f"`axis_types` of {quoted(types)}, and jax has {', '.join(_AXIS_TYPES)}, one for each axis"
        wrong(folder, path, f"the placement of {array} has {said}")
    parts = [each if isinstance(each, list) else [] if each is None else [each] for each in spec]
    if not all(map(_texts, parts)):
        return None  # left to the compiler
    return Placed(dict(zip(names, shape, strict=True)), tuple(map(tuple, parts)))


def _texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
