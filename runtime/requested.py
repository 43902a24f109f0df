"""In the child: builds, captures and runs the steps of one request. Imports jax."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
import platform
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
from jax.sharding import Mesh

from ..contracts.made_from import made_from
from ..contracts.manifest import CAPTURE_SCHEMA, Manifest, Provenance, StepFacts
from . import build, capture
from .capture import StepCapture
from .errors import failure
from .frames import FramePaths, hide_machinery
from .inputs import InputFiles
from .request import ChildRequest, MeshRequest, SemanticsRequest, StepFailure, StepRequest
from .step import NormalisedStep
from .targets import Target, target
from .targets.stand_in import stand_in

ON_THE_COMMAND_LINE = "change the sizes of --mesh, or the --target"
_STEP_NAME = re.compile(r"[A-Za-z0-9_][\w.-]{0,99}")


def capture_request(request: ChildRequest, progress: Callable[[str], None], inputs: InputFiles) -> MeshRequest | None:
    """Write the capture folder of a request, and return the mesh that stood in for one that was not named, if any.

    Raises StepFailure; a folder without manifest.json is then left behind.
    """
    chosen = target(request.target, request.effort)
    paths = configure(chosen, request)
    inputs.watch()
    out = Path(request.out)
    out.mkdir(parents=True)
    advice = build.IN_A_CONTRACT if request.mode == "capture" else ON_THE_COMMAND_LINE
    mesh = build.make_mesh(request.mesh, chosen, advice) if request.mesh else None
    meshes: list[Mesh] = []
    stood_in: MeshRequest | None = None
    for step in request.steps:
        if not _STEP_NAME.fullmatch(step.name):
            raise StepFailure(
                f"the step name {step.name!r} is no folder name", help="use letters, digits, `_`, `-`, `.`"
            )
        folder = out / step.name
        folder.mkdir()
        digest = made_from(step.entry, step.args, step.reference_args, step.accumulation_arg)
        facts = StepFacts(step=step.name, entry=step.entry, made_from=digest)
        work = StepCapture(
            request=step, paths=paths, target=chosen, folder=folder, progress=progress, facts=facts, mesh=mesh
        )
        stood_in = _one_step(request, step, work, mesh) or stood_in
        if work.mesh is not None:
            meshes.append(work.mesh)
    progress("writing")
    manifest = Manifest(
        schema_version=CAPTURE_SCHEMA,
        provenance=_provenance(request, chosen, paths, inputs),
        devices=chosen.device_count,
        device_kind=str(chosen.devices()[0].device_kind),
        mesh=capture.mesh_fact(meshes[0] if meshes else None, dict(request.mesh.dcn) if request.mesh else {}),
        steps=[step.name for step in request.steps],
        files={},
    )
    capture.write_manifest(out, manifest)
    return stood_in


def configure(chosen: Target, request: ChildRequest) -> FramePaths:
    """Set JAX up for a target, before the first device is used, and return how frames are printed."""
    chosen.configure()
    if not chosen.executes:
        stand_in(chosen)
    # The persistent cache would answer without compiling, and leave nothing to look at.
    jax.config.update("jax_enable_compilation_cache", False)
    # Frames inside JAX tell an error of the trace from one of the user's own code.
    jax.config.update("jax_traceback_filtering", "off")
    paths = build.project_paths(request.project_root, request.steps)
    jax.config.update("jax_hlo_source_file_canonicalization_regex", paths.pattern)
    hide_machinery()
    return paths


def _one_step(request: ChildRequest, step: StepRequest, work: StepCapture, mesh: Mesh | None) -> MeshRequest | None:
    """Capture one step. Returns the mesh its build function got where none was given and it wants one."""
    stood_in: MeshRequest | None = None
    start = _stderr_end()
    work.progress(f"{step.name}: import")
    builder = build.load_builder(step, work.paths)
    work.update(entry_frame=work.paths.of_function(builder))
    if mesh is None and request.mode == "infer" and build.takes_mesh(builder, step.args):
        stood_in = build.default_axes(work.target)
        mesh = build.make_mesh(stood_in, work.target)
    normalised: NormalisedStep | None = None
    with work.phase("build"):
        normalised = build.call_build(builder, step, step.args, mesh, step.static)
    if normalised is not None:
        capture.capture_step(work, normalised, mesh)
    for stream in (sys.stdout, sys.stderr):
        # User code may have closed or replaced them.
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()
    work.update(mesh=capture.mesh_fact(work.mesh, dict(request.mesh.dcn) if request.mesh else {}))
    capture.finish(work, _stderr_from(start))
    if request.run_steps and normalised is not None and work.error is None and work.target.executes:
        work.progress(f"{step.name}: run")
        _run(request, step, builder, normalised, work, mesh)
    if request.semantics is not None and normalised is not None and work.error is None and work.target.executes:
        work.progress(f"{step.name}: probe of its meaning")
        _probe(request, request.semantics, step, work)
    return stood_in


def _run(
    request: ChildRequest,
    step: StepRequest,
    builder: Any,
    normalised: NormalisedStep,
    work: StepCapture,
    mesh: Mesh | None,
) -> None:
    """Execute the step and write run.json."""
    from .run import ReferenceJob, run_step

    def rebuild(args: Mapping[str, Any], other: Mesh | None) -> NormalisedStep:
        """The same step built again with further arguments, on another mesh."""
        return build.call_build(builder, step, {**step.args, **args}, other, step.static)

    axes = list(mesh.axis_names) if mesh is not None and build.takes_mesh(builder, step.args) else None
    try:
        facts = run_step(
            normalised,
            mesh=work.mesh,
            steps=request.run_steps,
            paths=work.paths,
            rebuild=rebuild,
            reference_args=step.reference_args,
            reference=ReferenceJob(request=step, project_root=request.project_root, axes=axes),
        )
    except (SystemExit, KeyboardInterrupt) as error:  # raised by user code: no terminal reaches this process
        raise failure(error, work.paths, "running the step", ("step", step.name)) from None
    (work.folder / "run.json").write_text(facts.model_dump_json(indent=1) + "\n")


def _probe(request: ChildRequest, asked: SemanticsRequest, step: StepRequest, work: StepCapture) -> None:
    """Find out what the step means, in a process of its own, and write semantics.json."""
    from .semantics.child import probed
    from .semantics.request import ProbeRequest

    probe = ProbeRequest(
        step=step, target=work.target.name, mesh=request.mesh, project_root=request.project_root, asked=asked
    )
    (work.folder / "semantics.json").write_text(probed(probe).model_dump_json(indent=1) + "\n")


def _provenance(request: ChildRequest, chosen: Target, paths: FramePaths, inputs: InputFiles) -> Provenance:
    """The parent's part with the versions found here and the digest of the step's own sources."""
    digest = hashlib.sha256()
    for path in inputs.files(Path(request.out)):
        if paths.is_user(path):
            digest.update(f"{paths.printed(path)}\0{hashlib.sha256(Path(path).read_bytes()).hexdigest()}\n".encode())
    versions = {name: _version(name) for name in ("jax", "jaxlib", "libtpu", "flax", "optax")}
    return request.provenance.model_copy(
        update=versions
        | {
            "python": platform.python_version(),
            "source_digest": digest.hexdigest(),
            "effort": chosen.effort,
            "target": chosen.name,
            "xla_flags": os.environ.get("XLA_FLAGS", "").split(),
        }
    )


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _stderr_end() -> int:
    try:
        return os.lseek(2, 0, os.SEEK_END)
    except OSError:
        return -1


def _stderr_from(start: int) -> str:
    """What file descriptor 2 has received since; nothing where it is not a file."""
    end = _stderr_end()
    if start < 0 or end <= start:
        return ""
    try:
        return os.pread(2, end - start, start).decode(errors="replace")
    except OSError:
        return ""
