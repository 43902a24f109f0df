"""The same step on one device, in a process of its own: in its own precision, or (`wide`) in float64.

`python -m contract_lint.runtime.run.reference REQUEST`; REQUEST is a ReferenceRequest as JSON. A fresh process, because
`jax_enable_x64` and the number of devices hold for a whole process, and a build function may ask for either.
"""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..launch import child_environment
from ..request import MeshRequest, Message, StepRequest
from .compare import LongestSum

TARGET = "cpu:1"
_TAIL = 600
_WIDER = {"float32": "float64", "f32": "f64", "fp32": "fp64"}


class ReferenceRequest(Message):
    """`step.args` are already those of the reference. `inputs` and `out` are npz files of `values.save`."""

    step: StepRequest
    axes: list[str] | None
    project_root: str
    inputs: str
    out: str
    wide: bool = False
    moves: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """What one reference run gave; `narrow` and `longest` as in `evaluate.Evaluation`."""

    values: dict[tuple[str, str], np.ndarray]
    moved: list[dict[tuple[str, str], np.ndarray]]
    narrow: dict[str, str | None]
    longest: dict[tuple[str, str], LongestSum]


class ReferenceRun:
    """A reference run in the background."""

    def __init__(self, request: ReferenceRequest, folder: Path) -> None:
        self._out = Path(request.out)
        self._stderr = folder / f"{self._out.stem}.stderr"
        path = folder / f"{self._out.stem}.json"
        path.write_text(request.model_dump_json())
        environment = child_environment(TARGET)
        if request.wide:
            environment["JAX_ENABLE_X64"] = "1"
        with open(self._stderr, "wb") as err:
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-m", "contract_lint.runtime.run.reference", str(path)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=err,
                env=environment,
            )

    def result(self, deadline: float) -> Result | str:
        """Wait until `deadline` (of `time.monotonic`). The result, or a sentence why there is none."""
        try:
            code = self._child.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.stop()
            return "it took too long and was stopped"
        report = self._out.with_suffix(".report")
        if not report.is_file():
            text = self._stderr.read_text(errors="replace").strip()
            last = text.splitlines()[-1].strip() if text else "it said nothing"
            return f"its process ended with code {code}: {last[:_TAIL]}"
        said = json.loads(report.read_text())
        return cast(str, said["error"]) if said["error"] else _read(self._out, said)

    def stop(self) -> None:
        """End the child if it still runs."""
        if self._child.poll() is None:
            self._child.kill()
        self._child.wait()


def _read(out: Path, said: Mapping[str, Any]) -> Result:
    from .values import load

    runs: list[dict[tuple[str, str], np.ndarray]] = [{} for _ in range(1 + said["moves"])]
    for name, value in load(out).items():
        index, role, path = json.loads(name)
        runs[index][role, path] = value.array
    return Result(
        runs[0], runs[1:], said["narrow"], {(role, path): LongestSum(*sums) for role, path, *sums in said["longest"]}
    )


def main(argv: list[str]) -> int:
    """Entry of the child: evaluates and always leaves a report, unless the process dies."""
    request = ReferenceRequest.model_validate_json(Path(argv[0]).read_text())
    out = Path(request.out)
    import jax

    from ..targets import target

    chosen = target(TARGET)
    chosen.configure()
    jax.config.update("jax_enable_compilation_cache", False)
    jax.config.update("jax_traceback_filtering", "off")
    from .. import build
    from ..errors import describe
    from ..request import StepFailure
    from .evaluate import evaluate
    from .values import HostValue, load, save

    paths = build.project_paths(request.project_root, [request.step])
    said: dict[str, Any] = {"error": None, "narrow": {}, "longest": [], "moves": request.moves}
    try:
        builder = build.load_builder(request.step, paths)
        mesh = None
        if request.axes is not None:
            mesh = build.make_mesh(MeshRequest(axes=dict.fromkeys(request.axes, 1)), chosen)
        args = request.step.args | (widened_defaults(builder, request.step.args) if request.wide else {})
        step = build.call_build(builder, request.step, args, mesh, request.step.static)
        result = evaluate(step, load(Path(request.inputs)), mesh, paths, wide=request.wide, moves=request.moves)
        named = {
            json.dumps([index, role, path]): HostValue(array)
            for index, run in enumerate([result.values, *result.moved])
            for (role, path), array in run.items()
        }
        save(out, named)
        said["narrow"] = result.narrow
        said["longest"] = [[*key, sums.terms, sums.roundoff] for key, sums in result.longest.items()]
    except StepFailure as error:
        said["error"] = error.message
    except Exception as error:
        frames = paths.of_traceback(error.__traceback__)
        place = f" ({frames[0].path}:{frames[0].line})" if frames else ""
        said["error"] = describe(error, paths) + place
    partial = out.with_suffix(".partial")
    partial.write_text(json.dumps(said))
    partial.rename(out.with_suffix(".report"))
    return 0


def widened(args: Mapping[str, Any]) -> dict[str, Any]:
    """Build arguments with every float32 replaced by float64."""
    return {name: _WIDER.get(value, value) if isinstance(value, str) else value for name, value in args.items()}


def widened_defaults(builder: Any, args: Mapping[str, Any]) -> dict[str, Any]:
    """float64 for the build function's parameters that are float32 by default and not among `args`."""
    try:
        parameters = inspect.signature(builder).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {
        p.name: _WIDER[p.default]
        for p in parameters
        if isinstance(p.default, str) and p.default in _WIDER and p.name not in args
    }


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """Where requests, inputs and results of reference runs live."""
    return tempfile.TemporaryDirectory(prefix="contract-lint-run-")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
