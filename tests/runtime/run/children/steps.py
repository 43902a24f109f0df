"""What the scripts share: a case's step on a mesh, and its run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
from contract_lint.contracts.manifest import RunFacts
from contract_lint.runtime import build
from contract_lint.runtime.frames import FramePaths
from contract_lint.runtime.request import StepRequest
from contract_lint.runtime.run import ReferenceJob, run_step
from contract_lint.runtime.step import NormalisedStep
from jax.sharding import AxisType, Mesh

CASES = Path(__file__).parent.parent / "cases"
PATHS = FramePaths(CASES)


def make_mesh(axes: dict[str, int]) -> Mesh:
    count = int(np.prod(list(axes.values())))
    devices = np.array(jax.devices()[:count]).reshape(tuple(axes.values()))
    return Mesh(devices, tuple(axes), axis_types=(AxisType.Auto,) * len(axes))


def make(entry: str, axes: dict[str, int], **args: Any) -> NormalisedStep:
    request = StepRequest(name="train", entry=entry, path=[str(CASES)], args=args)
    return build.call_build(build.load_builder(request, PATHS), request, args, make_mesh(axes))


def execute(entry: str, axes: dict[str, int], args: dict[str, Any], steps: int = 2, **more: Any) -> RunFacts:
    """A whole run with its reference processes. `more`: reference_args, ranges, accumulation_arg."""
    accumulation = more.pop("accumulation_arg", None)
    request = StepRequest(name="train", entry=entry, path=[str(CASES)], args=args, accumulation_arg=accumulation)
    builder = build.load_builder(request, PATHS)
    mesh = make_mesh(axes)

    def rebuild(extra: Any, other: Any) -> NormalisedStep:
        return build.call_build(builder, request, {**args, **extra}, other)

    return run_step(
        rebuild({}, mesh),
        mesh=mesh,
        steps=steps,
        paths=PATHS,
        rebuild=rebuild,
        reference=ReferenceJob(request, str(CASES), list(axes)),
        **more,
    )
