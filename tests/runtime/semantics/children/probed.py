"""Probes steps of `cases/small_steps.py` in one process, in float64: REQUESTS is a JSON list of
[case, fault, data, further build arguments].

The last line of output is a JSON list of SemanticsFacts.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from contract_lint.runtime import build
from contract_lint.runtime.request import SemanticsRequest, StepRequest
from contract_lint.runtime.semantics.probe import TooNarrow, probe
from contract_lint.runtime.semantics.request import ProbeRequest
from contract_lint.runtime.targets import target

CASES = Path(__file__).parents[1] / "cases"
MICROBATCHES = {"14": 8}
MORE = {"03": {"rate": 0.1}}

chosen = target("cpu:1")
chosen.configure()
found = []
for case, fault, data, more in json.loads(sys.argv[1]):
    count = MICROBATCHES.get(case, 4)
    args = {"case": case, "fault": fault, "data": data, "microbatches": count}
    step = StepRequest(
        name="train",
        entry="small_steps:build",
        path=[str(CASES)],
        args=args | MORE.get(case, {}) | more,
        reference_args={"rate": 0.0} if case == "03" else {},
        accumulation_arg="microbatches",
    )
    request = ProbeRequest(
        step=step,
        target="cpu:1",
        mesh=None,
        project_root=str(CASES),
        asked=SemanticsRequest(microbatches=count, masks=(("mask",),), labels={"labels": None}),
        wide=True,
    )
    paths = build.project_paths(request.project_root, [step])
    try:
        facts = probe(request, chosen, paths)
    except TooNarrow:
        facts = probe(request.model_copy(update={"wide": False}), chosen, paths)
    found.append(facts.model_dump(mode="json"))
print(json.dumps(found))
