"""What every target asks of XLA beside the program: its modules, dumped as text and as protos."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PARTITIONER = "spmd-partition.*|.*shardy.*"
"""Passes whose modules are dumped too, where the module after the partitioner is not dumped by itself."""


def dump_options(folder: Path, passes: str | None = None) -> dict[str, Any]:
    """Options for `Lowered.compile` that dump the modules into `folder`, and those around `passes` (a regex)."""
    options: dict[str, Any] = {
        "xla_dump_to": str(folder),
        "xla_dump_hlo_as_text": True,
        "xla_dump_hlo_as_proto": True,
    }
    return options if passes is None else options | {"xla_dump_hlo_pass_re": passes}
