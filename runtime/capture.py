"""Trace, lower and compile one step, and write its part of a capture folder (layout: contracts/manifest.py)."""

from __future__ import annotations

import hashlib
import math
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from ..contracts.finding import Location
from ..contracts.manifest import CompilerWarning, Leaf, Manifest, MemoryFacts, MeshFact, Phase, StepError, StepFacts
from . import jaxpr as jaxpr_facts
from . import leaves as leaf_facts
from .dumps import NO_DUMPS, Dumps, read_dumps, write_gzip
from .errors import broken_compiler, compiler_failure, failure, recognise
from .frames import FramePaths
from .refused_option import refused_option
from .request import StepFailure, StepRequest
from .signatures import print_program, signature_facts
from .stderr import cleaned, compiler_warnings, donation_warnings
from .step import NormalisedStep
from .targets import Target
from .targets.readiness import readiness
from .targets.stand_in import default_device, without_callbacks

_ALIAS = re.compile(r"\(\s*(\d+),\s*\{[^}]*\},\s*(?:may|must)-alias\)")
_ALIASES = re.compile(r"input_output_alias=\{(.*?) \}(?:,|$)")
_PARAMETER = re.compile(r" parameter\((\d+)\)")


@dataclass(slots=True)
class StepCapture:
    """What has been learnt so far about one step; `facts` is written whatever happens."""

    request: StepRequest
    paths: FramePaths
    target: Target
    folder: Path
    progress: Callable[[str], None]
    facts: StepFacts
    mesh: Mesh | None = None
    unoptimized: str = ""
    error: StepError | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    warnings: list[CompilerWarning] = field(default_factory=list)

    @contextmanager
    def phase(self, name: Phase) -> Iterator[None]:
        """Time a phase; a recognised JAX error ends it and is kept, any other becomes a StepFailure."""
        if name not in self.seconds:
            self.progress(f"{self.request.name}: {name}")
        start = time.perf_counter()
        try:
            yield
        except StepFailure as error:
            if error.location is not None or error.key or self.facts.entry_frame is None:
                raise
            frame = self.facts.entry_frame
            raise StepFailure(error.message, Location(frame.path, frame.line, frame.column), error.help) from None
        except BaseException as error:  # SystemExit and the like end the user's code here, not this process
            ours = self.target.compiler_options(self.folder)
            refused = refused_option(error, name, ours)
            known = refused or recognise(error, self.paths, name)
            self.error = known and self._placed(known)
            if refused is None and broken_compiler(error):
                raise compiler_failure(error, self.paths, self.target.name, _versions(self.target)) from None
            if self.error is None:
                doing = {"build": f"`{self.request.entry}`", "trace": "tracing the step", "lower": "lowering the step"}
                raise failure(
                    error, self.paths, doing.get(name, f"the {name} of the step"), ("step", self.request.name)
                ) from None
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 3)

    def _placed(self, error: StepError) -> StepError:
        """With a place: where no user code was on the stack, the step's own function, else the build function."""
        frame = self.facts.fn_frame or self.facts.entry_frame
        return error if error.frames or frame is None else error.model_copy(update={"frames": [frame]})

    def update(self, **facts: Any) -> None:
        self.facts = self.facts.model_copy(update=facts)


def capture_step(capture: StepCapture, step: NormalisedStep, mesh: Mesh | None) -> None:
    """Everything from trace to compiled program. Stops at a recognised error, which stays in `capture.error`."""
    capture.mesh = leaf_facts.program_mesh(jax.tree.leaves((step.args, step.kwargs))) or mesh
    capture.update(
        argument_names=list(step.argument_names),
        fn_frame=capture.paths.of_function(step.fn),
        carry={str(position): name for position, name in step.carry.items()},
        logical_axes=step.logical_axes,
    )
    traced, wrapped = None, False
    with capture.phase("trace"), _context(step):
        traced, wrapped = _unwrap(step.jitted.trace(*step.args, **step.kwargs))
    if traced is None:
        _explain(capture, step)
        return
    static = leaf_facts.static_arguments(step, traced)
    values = dict(zip(step.argument_names, (*step.args, *step.kwargs.values()), strict=True))
    names, given = leaf_facts.argument_leaves(step, traced)
    infos = jax.tree.leaves(traced.args_info)
    donated = [bool(info.donated) for info in infos]
    by_argument = {name.argument for name, is_donated in zip(names, donated, strict=True) if is_donated}
    avals = jax.tree.leaves(traced.in_avals)
    arguments = [
        leaf_facts.make_leaf(name, aval, None, None, donated=d, asked=leaf_facts.asked_spec(leaf, len(aval.shape)))
        for name, aval, leaf, d in zip(names, avals, given, donated, strict=True)
    ]
    capture.update(
        static={name: _shown(values[name]) for name in static},
        donate=[name for name in step.argument_names if name in by_argument],
        arguments=arguments,
        jaxpr=jaxpr_facts.collect(traced.jaxpr, capture.paths),
    )
    printed = print_program(traced)
    write_gzip(capture.folder / "jaxpr.txt.gz", printed)
    lowered = None
    with capture.phase("lower"), _context(step), default_device(capture.target), _recorded(capture):
        lowered = traced.lower()
        write_gzip(capture.folder / "stablehlo.mlir.gz", lowered.as_text(debug_info=True))
    if lowered is None:
        _explain(capture, step)
        return
    without_callbacks(lowered, capture.target)
    compiled, dumps = None, NO_DUMPS
    dump = Path(tempfile.mkdtemp(prefix="dump-", dir=capture.folder))
    try:
        with capture.phase("compile"), default_device(capture.target):
            compiled = lowered.compile(compiler_options=capture.target.compiler_options(dump))
    finally:
        with capture.phase("read"):
            dumps = read_dumps(dump, capture.target)
            capture.unoptimized = dumps.unoptimized
            shutil.rmtree(dump, ignore_errors=True)
    if compiled is None:
        _write_modules(capture.folder, dumps, None)
        if dumps.optimized_proto is not None:
            # What did not fit: its buffers say why.
            write_gzip(capture.folder / "optimized.hlo.pb.gz", dumps.optimized_proto)
        return
    with capture.phase("read"):
        dumps.require_whole()
        optimized = _optimized_text(compiled, dumps)
        _write_modules(capture.folder, dumps, optimized)
        _compiled_facts(capture, step, traced, compiled, optimized, arguments, avals, wrapped)
    declared = signature_facts(step, traced, printed, capture.request, capture.paths, lambda: _context(step))
    capture.update(signatures=declared)


def _versions(target: Target) -> str:
    """What compiles for a target: `jax 0.10.2, jaxlib 0.10.2, libtpu 0.0.42.1`."""
    return ", ".join(f"{name} {version}" for name, version in readiness(target.platform).versions.items())


def _explain(capture: StepCapture, step: NormalisedStep) -> None:
    """JAX does not say which argument cannot be split evenly; its placement does."""
    error = capture.error
    if error is not None and error.kind == "indivisible":
        which = leaf_facts.indivisible_argument(step)
        if which is not None:
            capture.error = error.model_copy(update={"message": f"{which}: {error.message}"})


def finish(capture: StepCapture, stderr: str) -> None:
    """Write `stderr.txt` and `facts.json`; `stderr` is what reached file descriptor 2 while the step was worked on."""
    (capture.folder / "stderr.txt").write_text(cleaned(stderr, capture.paths))
    capture.update(
        error=capture.error,
        warnings=[*capture.warnings, *compiler_warnings(stderr, capture.unoptimized, capture.paths)],
        seconds=capture.seconds,
    )
    (capture.folder / "facts.json").write_text(capture.facts.model_dump_json(indent=1) + "\n")


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """The last file of a capture: lists every other one with its sha256."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    digests = {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    text = manifest.model_copy(update={"files": digests}).model_dump_json(indent=1) + "\n"
    partial = folder / "manifest.json.partial"
    partial.write_text(text)
    partial.rename(folder / "manifest.json")


def mesh_fact(mesh: Mesh | None, dcn: dict[str, int]) -> MeshFact | None:
    """The program's mesh as data. `dcn` is what was asked for; how its devices lie across slices is seen on them."""
    if mesh is None:
        return None
    return MeshFact(
        axes={str(name): int(size) for name, size in mesh.shape.items()},
        dcn=_across_slices(mesh) or dcn,
        device_ids=[int(device.id) for device in mesh.devices.flat],
        axis_types=[t.name for t in mesh.axis_types],
    )


def _across_slices(mesh: Mesh) -> dict[str, int]:
    """Axis -> the TPU slices that lie along it; nothing on one slice, or where slices are no product of axes."""
    if any(device.platform != "tpu" for device in mesh.devices.flat):
        return {}
    slices = np.array([getattr(device, "slice_index", 0) for device in mesh.devices.flat]).reshape(mesh.devices.shape)
    along = {}
    for axis, name in enumerate(mesh.axis_names):
        line = np.moveaxis(slices, axis, 0).reshape(slices.shape[axis], -1)[:, 0]
        along[str(name)] = len(set(line.tolist()))
    whole = math.prod(along.values()) == len(set(slices.flat)) > 1
    return {name: count for name, count in along.items() if count > 1} if whole else {}


def _unwrap(traced: Any) -> tuple[Any, bool]:
    """JAX's own Traced, and whether `nnx.jit` had wrapped it."""
    inner = getattr(traced, "traced", None)
    return (inner, True) if inner is not None and hasattr(inner, "jaxpr") else (traced, False)


def _context(step: NormalisedStep) -> Any:
    """The mesh the step asked to be current while it is traced."""
    return nullcontext() if step.mesh is None else jax.set_mesh(step.mesh)


@contextmanager
def _recorded(capture: StepCapture) -> Iterator[None]:
    """Keep unusable donations; hand every other warning on to the step's stderr."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    frames = [capture.facts.fn_frame] if capture.facts.fn_frame else []
    capture.warnings += donation_warnings((str(w.message) for w in caught), frames)
    for warning in caught:
        print(f"{warning.category.__name__}: {warning.message}", file=sys.stderr, flush=True)


def _shown(value: Any) -> str:
    """A static value where it is a plain number or flag, else only its type: captures carry no other values."""
    return repr(value) if value is None or isinstance(value, (bool, int, float)) else type(value).__name__


def _optimized_text(compiled: Any, dumps: Dumps) -> str:
    try:
        return compiled.as_text()
    except jax.errors.JaxRuntimeError:
        # A plugin newer than jaxlib makes programs that jaxlib cannot print; the plugin's own dump can be read.
        if dumps.optimized_text is None:
            raise
        return dumps.optimized_text


def _write_modules(folder: Path, dumps: Dumps, optimized: str | None) -> None:
    found: dict[str, str | bytes | None] = {"partitioned.hlo.txt.gz": dumps.partitioned or None}
    if optimized is not None:
        found |= {"optimized.hlo.txt.gz": optimized, "optimized.hlo.pb.gz": dumps.optimized_proto}
    with ThreadPoolExecutor() as pool:  # compressing leaves the interpreter to others
        writes = [pool.submit(write_gzip, folder / name, data) for name, data in found.items() if data is not None]
    for write in writes:
        write.result()


def _compiled_facts(
    capture: StepCapture,
    step: NormalisedStep,
    traced: Any,
    compiled: Any,
    optimized: str,
    arguments: list[Leaf],
    avals: list[Any],
    wrapped: bool,
) -> None:
    shardings = traced.in_tree.flatten_up_to(compiled.input_shardings)
    outputs = jax.tree.leaves(traced.out_info)
    output_shardings = traced.out_tree.flatten_up_to(compiled.output_shardings)
    mesh = leaf_facts.program_mesh([*shardings, *output_shardings]) or capture.mesh
    capture.mesh = mesh
    entry = optimized[optimized.rfind("\nENTRY ") :]
    parameters = max((int(n) for n in _PARAMETER.findall(entry)), default=-1) + 1
    kept = sum(s is not None for s in shardings)
    # Effect tokens and hoisted constants stand before the step's own arguments.
    number = parameters - kept
    aliases = _ALIASES.search(optimized[: optimized.find("\n")])
    aliased = {int(n) for n in _ALIAS.findall(aliases[1])} if aliases else set()
    rows: list[Leaf] = []
    for leaf, aval, sharding in zip(arguments, avals, shardings, strict=True):
        if sharding is None:
            rows.append(leaf)
            continue
        name = leaf_facts.LeafName(leaf.argument, leaf.path)
        rows.append(
            leaf_facts.make_leaf(
                name,
                aval,
                sharding,
                mesh,
                donated=leaf.donated,
                asked=leaf.asked,
                parameter=number,
                aliased=number in aliased,
            )
        )
        number += 1
    names = leaf_facts.output_names(step, traced, wrapped, [leaf_facts.LeafName(a.argument, a.path) for a in arguments])
    memory = compiled.memory_analysis()
    capture.update(
        arguments=rows,
        outputs=[leaf_facts.make_leaf(n, o, s, mesh) for n, o, s in zip(names, outputs, output_shardings, strict=True)],
        memory=None
        if memory is None
        else MemoryFacts(
            argument_bytes=int(memory.argument_size_in_bytes),
            output_bytes=int(memory.output_size_in_bytes),
            alias_bytes=int(memory.alias_size_in_bytes),
            temp_bytes=int(memory.temp_size_in_bytes),
            code_bytes=int(memory.generated_code_size_in_bytes),
        ),
    )
