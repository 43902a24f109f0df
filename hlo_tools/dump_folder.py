"""The folder that `--xla_dump_to` fills: which program in it is looked at, and whether the compiler gave it up.

A compile writes a file for each stage of each module; what it is called depends on the platform
(`module_0000.jit_step.cpu_after_optimizations.hlo.pb`). A TPU program that does not fit leaves its
`oom_intermediate_module`, and the buffer assignment it failed on, beside the rest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ..contracts.errors import ContractLintError
from ..contracts.finding import Location

_LAST = re.compile(r"(.+?\.)(?:(?:[a-z]+|sm_[\w.]+)_)?after_optimizations\.(hlo\.pb|txt)(?:\.gz)?")
_GIVEN_UP = re.compile(r"(.+\.)oom_intermediate_module\.(hlo\.pb|txt)(?:\.gz)?")
_NAME = re.compile(r"module_\d+\.(.+?)\.(?:cl_\d+\.)?")


@dataclass(frozen=True, slots=True)
class Dumped:
    """One program of the folder: the file that tells most of it."""

    name: str
    path: Path
    refused: bool


def dumped(folder: Path, name: str | None = None) -> Dumped:
    """The largest program of a dump, or the one whose module has that name.

    A proto is taken before a text, since it alone holds the buffer assignment. Raises ContractLintError for a folder
    without any program that was compiled to the end or given up for its size, and for a name that none has.
    """
    found: dict[str, list[tuple[bool, int, Path]]] = {}
    refused: set[str] = set()
    for path in sorted(folder.iterdir()):
        last = _LAST.fullmatch(path.name)
        given_up = None if last is not None else _GIVEN_UP.fullmatch(path.name)
        match = last or given_up
        if match is None or not path.is_file():
            continue
        found.setdefault(match[1], []).append((last is not None and match[2] == "hlo.pb", path.stat().st_size, path))
        if given_up is not None:
            refused.add(match[1])
    place = Location(folder.as_posix())
    if not found:
        raise ContractLintError(
            "holds neither a capture (manifest.json) nor a compiler's dump (*after_optimizations.hlo.pb or .txt)",
            place,
            "give the folder of --xla_dump_to, of a compile with --xla_dump_hlo_as_proto",
        )
    names = {key: match[1] if (match := _NAME.fullmatch(key)) else key.rstrip(".") for key in found}
    chosen = [key for key in found if name is None or names[key] == name]
    if not chosen:
        raise ContractLintError(f"holds no program {name!r}, only {', '.join(sorted(set(names.values())))}", place)
    best = max(chosen, key=lambda key: max(found[key])[:2])
    return Dumped(names[best], max(found[best])[2], best in refused)
