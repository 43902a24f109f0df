"""Programs to look at: a dump, a capture, or standard input, opened as modules with what is known of their mesh."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Literal, TypeVar

from ...contracts.errors import ContractLintError, ContractLintWarning
from ...contracts.finding import Location
from ...contracts.hardware import DEVICES, DeviceKind
from ...contracts.hardware.smallest import smallest_target
from ...contracts.manifest import MeshFact, StepFacts
from ...contracts.target_name import TargetName, parse_target
from ...hlo_tools.backend import backend_of
from ...hlo_tools.canonical import canonical_ledger, summed
from ...hlo_tools.capture import MANIFEST, Capture, gunzip, read_capture
from ...hlo_tools.collectives import CollectiveLedger, collective_instructions, collectives
from ...hlo_tools.cost import cost
from ...hlo_tools.cost.opcodes import unknown_opcodes
from ...hlo_tools.dump_folder import Dumped, dumped
from ...hlo_tools.hotspots import HotSpots, hot_spots
from ...hlo_tools.memory import MemoryLedger, memory
from ...hlo_tools.module import HloModule, parse_hlo
from ...hlo_tools.participants import device_count
from ...hlo_tools.pasted import as_utf8, foreign, is_text, second_module, unwrapped
from ...hlo_tools.postmortem import PostMortem, of_usage, post_mortem
from ...hlo_tools.proto import HloProto, parse_proto
from ...hlo_tools.roofline import Roofline, roofline
from ...hlo_tools.summary import SummaryLedger, summary
from ...hlo_tools.tensors import TensorLedger, tensors
from ...hlo_tools.usage_report import usage_report_proto
from ...hlo_tools.well_formed import require_well_formed, unbounded

Given = TypeVar("Given")
Parsed = TypeVar("Parsed")
Stage = Literal["optimized", "partitioned"]
GZIP = b"\x1f\x8b"
_AXIS = re.compile(r"([A-Za-z_]\w*)=([1-9][0-9]{0,8})")


@dataclass(frozen=True, slots=True)
class Program:
    """One program. Only captures know `facts`, `mesh`, `target`, `stage` and `effort`.

    `proto` is read on demand, None for text. Of a dump, `refused` says that the compiler gave it up for its size.
    """

    name: str
    module: HloModule
    mesh: MeshFact | None
    facts: StepFacts | None
    proto: Callable[[], HloProto | None]
    target: str | None = None
    stage: Stage | None = None
    effort: str | None = None
    refused: bool = False


def open_program(
    source: str, *, step: str | None = None, stage: Stage = "optimized", mesh: MeshFact | None = None
) -> Program:
    """The program of a file (HLO text or proto, gzip or not), a capture's or dump's folder, or `-` for standard input.

    Of a dump `step` names the module; else its largest is taken. Raises ContractLintError for a source that cannot be
    read, a step the folder does not hold, and a capture of several steps where none is named.
    """
    path = Path(source)
    if is_folder(source):
        folder = path if os.path.isdir(path) else path.parent
        if os.path.isdir(folder) and not os.path.exists(folder / MANIFEST):
            require_no_choice(source, None, stage)
            return _from_dump(dumped(folder, step), mesh)
        return _from_capture(read_capture(folder), step, stage, mesh)
    require_no_choice(source, step, stage)
    return program_of(*content(source), mesh)


def memory_or_report(
    source: str, *, step: str | None = None, stage: Stage = "optimized", mesh: MeshFact | None = None
) -> MemoryLedger | PostMortem:
    """The memory of a program, or what a pasted out-of-memory report says. Raises ContractLintError as both do."""
    if is_folder(source):
        return memory_of(open_program(source, step=step, stage=stage, mesh=mesh))
    require_no_choice(source, step, stage)
    name, data = content(source)
    if not is_text(data):
        report = of_usage(usage_report_proto(data))
    elif data.lstrip().startswith(b"HloModule"):
        report = None
    else:
        report = post_mortem(data.decode("utf-8", "replace"))
    if report is not None:
        return report
    return memory_of(program_of(name, data, mesh))


def require_no_choice(source: str, step: str | None, stage: Stage) -> None:
    """Raises ContractLintError where a step or a stage is asked of what holds but one program."""
    name = "<stdin>" if source == "-" else Path(source).as_posix()
    if step is not None:
        said = f"--step {step}: this is one program, and has no steps"
        raise ContractLintError(said, Location(name), "leave it out, or give the folder of a capture or of a dump")
    if stage != "optimized":
        said = f"--stage {stage}: only a capture holds the program of every stage"
        raise ContractLintError(said, Location(name), "leave it out, or give the folder of a capture")


def is_folder(source: str) -> bool:
    return source != "-" and (os.path.isdir(source) or Path(source).name == MANIFEST)


def content(source: str) -> tuple[str, bytes]:
    """The name and the bytes of a file or of standard input. Raises ContractLintError where there are none."""
    name = "<stdin>" if source == "-" else Path(source).as_posix()
    data = sys.stdin.buffer.read() if source == "-" else _read(Path(source))
    if not data.strip():
        raise ContractLintError("is empty", Location(name))
    return name, as_utf8(data)


def program_of(name: str, data: bytes, mesh: MeshFact | None) -> Program:
    """The program in the bytes of a dump. Raises ContractLintError for what is none."""

    def proto() -> HloProto | None:
        plain = gunzip(data, Location(name)) if data.startswith(GZIP) else data
        return None if is_text(plain) else _placed(name, parse_proto, plain)

    if not is_text(data) and usage_report_proto(data):
        said = "is a memory-usage-report: the sizes of a program's allocations, and no program"
        raise ContractLintError(said, Location(name), "`hlo memory` reads it; give the *.hlo.pb or .txt beside it")
    module = _parsed(name, data)
    _placed(name, require_well_formed, module)
    _tell_unknown(name, module)
    _tell_unbounded(name, module)
    # A pasted part of a program says no name.
    module.name = module.name or Path(name).name
    return Program(name, module, _fitting(mesh, module, name), None, proto)


def _tell_unknown(name: str, module: HloModule) -> None:
    """A newer XLA has opcodes that nothing here knows; programs with them are read all the same."""
    found = unknown_opcodes(module)
    if found:
        listed = ", ".join(f"{opcode} ({count})" for opcode, count in sorted(found.items())[:5])
        more = f" and {len(found) - 5} more" if len(found) > 5 else ""
        said = f"unknown opcodes, of a newer XLA: {listed}{more}; kept, their shapes count, what they compute does not"
        warnings.warn(f"{name}: {said}", ContractLintWarning, stacklevel=2)


def _tell_unbounded(name: str, module: HloModule) -> None:
    """Sizes that stay open have no bytes to count."""
    found = unbounded(module)
    if found:
        listed = ", ".join(found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")
        said = f"sizes without a bound: {listed}; such arrays count as 0 elements and 0 B in every figure"
        warnings.warn(f"{name}: {said}", ContractLintWarning, stacklevel=2)


def _parsed(name: str, data: bytes) -> HloModule:
    """The module of these bytes, also where it was pasted. Raises ContractLintError for what holds none, or several."""
    again = second_module(data) if is_text(data) else None
    if again is not None:
        said = "a second HloModule begins here, and a file holds one"
        raise ContractLintError(said, Location(name, again, 1), "give them apart; `contract-lint diff` compares two")
    try:
        return _placed(name, lambda data: parse_hlo(data, name), data)
    except ContractLintError as error:
        failed = error
    plain = gunzip(data, Location(name)) if data.startswith(GZIP) else data
    text = unwrapped(plain.decode("utf-8", "replace")) if is_text(plain) else None
    if text is not None:
        try:
            return _placed(name, lambda data: parse_hlo(data, name), text.encode())
        except ContractLintError as error:
            failed = error
    other = foreign(plain)
    raise failed if other is None else ContractLintError(other[0], Location(name, 1, 1), other[1] or failed.help)


def _placed(name: str, parse: Callable[[Given], Parsed], data: Given) -> Parsed:
    """What `parse` makes of `data`; an error without a file gets this one."""
    try:
        return parse(data)
    except ContractLintError as error:
        if error.location is not None and error.location.path:
            raise
        place = error.location or Location(name)
        raise ContractLintError(error.message, Location(name, place.line, place.column), error.help) from None


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


def _fitting(mesh: MeshFact | None, module: HloModule, name: str) -> MeshFact | None:
    """The mesh. Raises ContractLintError where it is none of this program: its axes would name nothing."""
    if mesh is None:
        return None
    said = not module.attributes.keys().isdisjoint(("num_partitions", "replica_count"))
    devices, given = device_count(module, collective_instructions(module)), prod(mesh.axes.values())
    # A text without these counts was cut, or is for one device; what its groups number is the least it has.
    if given < devices or (said and given > devices):
        written = ",".join(f"{axis}={size}" for axis, size in mesh.axes.items())
        many = f"{given:,} device{'s' * (given != 1)}"
        raise ContractLintError(
            f"the mesh {written} has {many}, the program {devices:,}",
            Location(name),
            "give all axes of the program's own mesh, outermost first, e.g. --mesh data=2,fsdp=4",
        )
    return mesh


def _from_capture(capture: Capture, step: str | None, stage: Stage, mesh: MeshFact | None) -> Program:
    place = Location(capture.root.as_posix())
    names = ", ".join(capture.steps)
    if step is None and len(capture.steps) != 1:
        raise ContractLintError(f"holds {len(capture.steps)} steps: {names}", place, "name one with --step")
    chosen = next(iter(capture.steps.values())) if step is None else capture.steps.get(step)
    if chosen is None:
        raise ContractLintError(f"holds no step {step!r}, only {names}", place)
    target, effort = capture.manifest.provenance.target, capture.manifest.provenance.effort
    module = chosen.optimized if stage == "optimized" else chosen.partitioned
    if module is None:
        raise ContractLintError(f"holds no {stage} module of step {chosen.name}: it was not compiled that far", place)
    wanted = _fitting(mesh, module, capture.root.as_posix()) or chosen.mesh
    return Program(chosen.name, module, wanted, chosen.facts, lambda: chosen.proto, target, stage, effort)


def _from_dump(chosen: Dumped, mesh: MeshFact | None) -> Program:
    return replace(program_of(chosen.path.as_posix(), _read(chosen.path), mesh), refused=chosen.refused)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ContractLintError(f"cannot be read: {error.strerror or error}", Location(path.as_posix())) from None


def collectives_of(program: Program, raw: bool = False) -> CollectiveLedger:
    """Every collective of the program, by what it does; `raw` takes every instruction as it is printed."""
    found = collectives(program.module, program.mesh, as_printed=raw)
    return found if raw else summed(canonical_ledger(found))


def memory_of(program: Program) -> MemoryLedger:
    """The memory of the program. Raises ContractLintError for one without buffer assignment that is not scheduled."""
    try:
        found = memory(program.proto(), program.module, program.facts)
    except ContractLintError as error:
        raise ContractLintError(error.message, error.location or Location(program.name), error.help) from None
    found.refused = program.refused
    return found


def tensors_of(program: Program) -> TensorLedger:
    """The step's arguments. Raises ContractLintError for a dump: only a capture knows what an argument is."""
    if program.facts is None:
        raise ContractLintError(
            "a dump does not say what its arguments are", Location(program.name), "give the folder of a capture"
        )
    return tensors(program.facts, program.mesh)


def kernels_of(program: Program) -> HotSpots:
    """Where one kernel would move less. Raises ContractLintError for what cannot be read."""
    return hot_spots(program.module)


def roofline_of(program: Program, target: str | None = None, hardware: str | None = None) -> Roofline:
    """What the program asks of each device, and the bound on `target` (default: the capture's), or on as many devices
    of the kind `hardware` as it needs.

    Raises ContractLintError for a target or a kind that is none, and for both at once.
    """
    ledger = collectives(program.module, program.mesh)
    if hardware and target:
        raise ContractLintError("--hardware and --target both say what to bound on", help="give one of them")
    name = smallest_target(_kind(hardware), ledger.devices) if hardware else target or program.target
    try:
        parsed = parse_target(name) if name else None
    except ValueError as error:
        raise ContractLintError(f"--target {name!r}: {error}") from None
    need = memory_of(program).need_bytes if _knows_memory(program) else None
    found = roofline(cost(program.module), ledger, parsed, need, program.module)
    if hardware:
        found.assumptions = (f"{ledger.devices:,} x {hardware} is taken to be {name}", *found.assumptions)
    if parsed is not None and parsed.devices != ledger.devices:
        many = f"{ledger.devices:,} device{'s' * (ledger.devices != 1)}"
        found.assumptions = (f"the program is for {many}, {parsed.text} has {parsed.devices:,}", *found.assumptions)
    found.made_for = _made_for(program, parsed)
    found.assumptions = (*_compiled(program, parsed, found.made_for), *found.assumptions)
    return found


def _kind(name: str) -> DeviceKind:
    """The kind of device of this name, however Google or NVIDIA spell it. Raises ContractLintError."""
    plain = name.lower().removeprefix("tpu").removeprefix("-").removeprefix("nvidia-")
    plain = {"v7x": "7x", "v5litepod": "v5e"}.get(plain, plain)
    for kind in DEVICES:
        if kind.name == plain and kind.platform != "cpu":
            return kind
    known = ", ".join(kind.name for kind in DEVICES if kind.platform != "cpu")
    raise ContractLintError(f"--hardware {name!r}: no such device is known here", help=f"give one of {known}")


_PLATFORMS = {"cpu": "cpu", "gpu": "cuda", "tpu": "tpu"}


def _made_for(program: Program, target: TargetName | None) -> str | None:
    """The platform that the program was compiled for, where that is another than the target's; a dump shows it only
    once it is scheduled."""
    if target is None:
        return None
    own = parse_target(program.target).platform if program.target else None
    if own is None and program.module.is_scheduled:
        own = _PLATFORMS[backend_of(program.module)]
    return own if own != target.platform else None


def _compiled(program: Program, target: TargetName | None, other: str | None) -> Iterator[str]:
    """What the program was compiled for, and what that means for a bound on `target`."""
    from .forecast import FAST  # the other ledgers need no rules

    meant = f", not for {target.text}: its compiler makes other kernels and collectives" if target and other else ""
    if program.target is not None:
        yield f"the program was compiled for {program.target} at effort {program.effort}{meant}"
    elif meant:
        yield f"the program was compiled for {other}{meant}"
    if program.target is not None and program.effort == "fast" and program.target.startswith("tpu"):
        yield FAST


def _knows_memory(program: Program) -> bool:
    if program.facts is not None and program.facts.memory is not None:
        return True
    proto = program.proto()
    return (proto is not None and proto.assignment is not None) or program.module.is_scheduled


def summary_of(program: Program) -> SummaryLedger:
    """The program at a glance; without memory where nothing is known of it."""
    known = memory_of(program) if _knows_memory(program) else None
    return summary(program.module, program.mesh, known, program.target, program.effort)
