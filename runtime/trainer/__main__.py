"""`python -m contract_lint.runtime.trainer REQUEST`: train on one target's devices and print the metrics of each step.

REQUEST is a JSON object: `target` (`cpu:8`), `axes` (mesh axis -> size, outermost first), `args` (those of `build`) and
`steps`. One JSON object a step goes to standard output, `{"step", "loss", "grad_norm", "tokens"}`, then one with
`{"entropy", "excess"}`, in nats for each token. Settings that do not fit end with exit code 2 and a sentence.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from ...contracts.errors import ContractLintError
from ..targets import target


def main(request: dict[str, Any]) -> int:
    """Train; the exit code."""
    chosen = target(request["target"])
    try:
        chosen.require()
    except ContractLintError as error:
        print(error, file=sys.stderr)
        return 2
    chosen.configure()
    from ..build import make_mesh
    from ..request import MeshRequest, StepFailure
    from . import build
    from .data import ENTROPY
    from .train import train

    def show(index: int, metrics: dict[str, Any]) -> None:
        print(json.dumps({"step": index} | {name: float(value) for name, value in metrics.items()}), flush=True)

    try:
        step = build(make_mesh(MeshRequest(axes=request["axes"]), chosen), **request["args"])
    except (StepFailure, ValueError, TypeError) as error:
        print(error, file=sys.stderr)
        return 2
    run = train(step, request["steps"], show)
    print(json.dumps({"entropy": ENTROPY, "excess": run.excess}))
    return 0


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
