"""The compiler's dump folder: which files are kept, and what stands in where a program was never partitioned."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from pathlib import Path

from ..contracts.errors import ContractLintError
from ..hlo_tools.wire import WireError, fields
from .last_words import MAKE_ROOM
from .targets import Target

_BEFORE = re.compile(r"\.before_optimizations\.txt$")
_NUMBER = re.compile(r"^module_\d+\.")


@dataclass(frozen=True, slots=True)
class Dumps:
    """Texts of one compile; `partitioned` is the unoptimised module where there was no partitioner."""

    unoptimized: str
    partitioned: str
    was_partitioned: bool
    optimized_text: str | None
    optimized_proto: bytes | None

    def require_whole(self) -> None:
        """Raises ContractLintError for a program that the compiler could not write to its end: it tells nobody."""
        data = self.optimized_proto
        try:
            if data is None or any(True for _ in fields(data)):
                return
        except WireError:
            pass
        raise ContractLintError(
            f"the compiler's dump of the program is cut off after {len(data or b''):,} bytes",
            help="mostly a disk is full: " + MAKE_ROOM,
        )


NO_DUMPS = Dumps(unoptimized="", partitioned="", was_partitioned=False, optimized_text=None, optimized_proto=None)


def read_dumps(folder: Path, target: Target) -> Dumps:
    """The modules of the largest program dumped into `folder` (a step can make XLA compile small helpers too)."""
    files = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []
    before = _largest(files, _BEFORE)
    prefix = before.name.split(".before_optimizations")[0] + "." if before else ""
    own = [path for path in files if path.name.startswith(prefix)]
    if not any(target.optimized_dump.search(path.name) for path in own):
        # On TPU a module may get another number after it was first dumped; its name stays.
        name = _NUMBER.sub("", prefix)
        own = [path for path in files if _NUMBER.sub("", path.name).startswith(name)]
    partitioned = _largest(own, target.partitioned_dump)
    optimized = [path for path in own if target.optimized_dump.search(path.name)]
    text = next((p for p in optimized if p.suffix == ".txt"), None)
    proto = next((p for p in optimized if p.suffix == ".pb"), None)
    unoptimized = before.read_text(errors="replace") if before else ""
    return Dumps(
        unoptimized=unoptimized,
        partitioned=partitioned.read_text(errors="replace") if partitioned else unoptimized,
        was_partitioned=partitioned is not None,
        optimized_text=text.read_text(errors="replace") if text else None,
        optimized_proto=proto.read_bytes() if proto else None,
    )


def _largest(files: list[Path], pattern: re.Pattern[str]) -> Path | None:
    return max((p for p in files if pattern.search(p.name)), key=lambda p: (p.stat().st_size, p.name), default=None)


def write_gzip(path: Path, data: str | bytes) -> None:
    """Compressed without a time stamp: the same data gives the same bytes."""
    path.write_bytes(gzip.compress(data.encode() if isinstance(data, str) else data, 6, mtime=0))
