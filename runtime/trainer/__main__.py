"""`python -m contract_lint.runtime.trainer REQUEST`: train on one target's devices and print the metrics of each step.

REQUEST is a TrainRequest as JSON. One JSON object a step goes to standard output, `{"step", "loss", "grad_norm",
"tokens"}`, then one with `{"entropy", "excess"}`, in nats for each token, and the digest of the program; before them
`{"taken_up": STEPS}` where the run was taken up from a checkpoint. `step` and STEPS count finished steps. Settings that
do not fit, and what cannot be saved, end with exit code 2 and `{"failed": SENTENCE, "help"}`: what libraries say of it
goes to standard error.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from ...contracts.errors import ContractLintError
from ...contracts.model.checkpoint import ObservationsSection
from ..request import TrainRequest
from ..targets import target


def main(request: TrainRequest) -> int:
    """Train; the exit code."""
    chosen = target(request.target)
    try:
        chosen.require()
    except ContractLintError as error:
        return _failed(error)
    chosen.configure()
    from ..build import make_mesh
    from ..request import MeshRequest, StepFailure
    from . import build
    from .alone import Taken
    from .data import ENTROPY
    from .lowered import lowered_digest
    from .not_written import NotWritten
    from .train import train

    def show(steps: int, metrics: dict[str, Any]) -> None:
        print(json.dumps({"step": steps} | {name: float(value) for name, value in metrics.items()}), flush=True)

    try:
        step = build(make_mesh(MeshRequest(axes=request.axes), chosen), **request.args)
        broken = _broken(step, request)
        if broken is not None:
            return _failed(ValueError(broken[0]), broken[1])
        checkpoints, observer = _kept(step, request)
        taken_up = checkpoints.latest if checkpoints is not None else None
        if taken_up is not None:
            print(json.dumps({"taken_up": taken_up}), flush=True)
        every = request.kept.every if request.kept is not None else 1
        run = train(step, request.steps, show, checkpoints, every, observer)
    except NotWritten as error:
        return _failed(error, "when that is mended, the same command goes on behind the last committed step")
    except Taken as error:
        return _failed(error, "wait for it to end, or name another folder with --checkpoints")
    except (StepFailure, ValueError, TypeError, OSError, ImportError) as error:
        return _failed(error)
    if len(run.losses):
        print(json.dumps({"entropy": ENTROPY, "excess": run.excess, "program": lowered_digest(step)}))
    return 0


def _failed(error: Exception, help: str | None = None) -> int:
    print(json.dumps({"failed": " ".join(str(error).split()), "help": help}), flush=True)
    return 2


def _broken(step: Any, request: TrainRequest) -> tuple[str, str] | None:
    """Where the step was built with another value than is promised, and what to do: `arg` sets nothing by itself."""
    for key, (argument, value) in request.promised.items():
        if not hasattr(step.cfg, argument):
            return (
                f"`{key}` names the build argument `{argument}`, which the trainer does not have",
                "name another `arg`",
            )
        built = getattr(step.cfg, argument)
        if built != value:
            said = f"it is built with {argument}={built}, and `{key}` promises {value}"
            return said, f"write `{argument}: {value}` into the `args` of the step, or change the promise"
    return None


def _kept(step: Any, request: TrainRequest) -> tuple[Any, Any]:
    """The checkpoints and the observer that were asked for."""
    kept = request.kept
    if kept is None:
        return None, None
    from .alone import alone_in
    from .checkpoint import Checkpoints

    alone_in(kept.folder)
    checkpoints = Checkpoints(step, kept.folder, kept.contract, kept.last, kept.keep)
    if kept.observations is None:
        return checkpoints, None
    from .observe import Observer

    section = ObservationsSection.model_validate(kept.observations)
    return checkpoints, Observer(step, kept.folder, section, kept.contract)


if __name__ == "__main__":
    sys.exit(main(TrainRequest.model_validate_json(sys.argv[1])))
