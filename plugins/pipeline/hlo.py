"""Programs to look at: a dump, a capture, or standard input, opened as modules with what is known of their mesh."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ...contracts.manifest import MeshFact, StepFacts
from ...hlo_tools.capture import MANIFEST, Capture, gunzip, read_capture
from ...hlo_tools.module import HloModule, parse_hlo
from ...hlo_tools.proto import HloProto, parse_proto

Stage = Literal["optimized", "partitioned"]
GZIP = b"\x1f\x8b"
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_AXIS = re.compile(r"([A-Za-z_]\w*)=([1-9][0-9]*)")


@dataclass(frozen=True, slots=True)
class Program:
    """One program. `facts` and `mesh` are known for captures; `proto` is read on demand, None for text."""

    name: str
    module: HloModule
    mesh: MeshFact | None
    facts: StepFacts | None
    proto: Callable[[], HloProto | None]


def open_program(
    source: str, *, step: str | None = None, stage: Stage = "optimized", mesh: MeshFact | None = None
) -> Program:
    """The program of a file (HLO text or proto, gzip or not), a capture's folder, or `-` for standard input.

    Raises ContractLintError for a source that cannot be read, a step the capture does not hold, and a capture of
    several steps where none is named.
    """
    path = Path(source)
    if source != "-" and (path.is_dir() or path.name == MANIFEST):
        return _from_capture(read_capture(path if path.is_dir() else path.parent), step, stage, mesh)
    name = "<stdin>" if source == "-" else path.as_posix()
    data = sys.stdin.buffer.read() if source == "-" else _read(path)
    if not data.strip():
        raise ContractLintError("is empty", Location(name))

    def proto() -> HloProto | None:
        plain = gunzip(data, Location(name)) if data.startswith(GZIP) else data
        return None if _is_text(plain) else parse_proto(plain)

    return Program(name, parse_hlo(data, name), mesh, None, proto)


def parse_mesh(text: str) -> MeshFact:
    """`data=2,fsdp=4`, outermost first, as a mesh whose partition i is device i. Raises ContractLintError otherwise."""
    axes: dict[str, int] = {}
    for part in text.split(","):
        match = _AXIS.fullmatch(part.strip())
        if match is None or match[1] in axes:
            raise ContractLintError(
                f"--mesh {text!r}: expected axes and sizes, each once", help="write --mesh data=2,fsdp=4"
            )
        axes[match[1]] = int(match[2])
    return MeshFact(axes=axes)


def _from_capture(capture: Capture, step: str | None, stage: Stage, mesh: MeshFact | None) -> Program:
    place = Location(capture.root.as_posix())
    names = ", ".join(capture.steps)
    if step is None and len(capture.steps) != 1:
        raise ContractLintError(f"holds {len(capture.steps)} steps: {names}", place, "name one with --step")
    chosen = next(iter(capture.steps.values())) if step is None else capture.steps.get(step)
    if chosen is None:
        raise ContractLintError(f"holds no step {step!r}, only {names}", place)
    module = chosen.optimized if stage == "optimized" else chosen.partitioned
    if module is None:
        raise ContractLintError(f"holds no {stage} module of step {chosen.name}: it was not compiled that far", place)
    return Program(chosen.name, module, mesh or capture.manifest.mesh, chosen.facts, lambda: chosen.proto)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ContractLintError(f"cannot be read: {error.strerror or error}", Location(path.as_posix())) from None


def _is_text(data: bytes) -> bool:
    """Whether these bytes are HLO text: the tags and lengths that a protobuf begins with are control characters."""
    return _CONTROL.search(data[:256]) is None
