"""Ratios of clean and faulty steps, all runs in this one process: argv = JSON list of [entry, axes, args]."""

import json
import sys

import jax
import numpy as np
from contract_lint.runtime.run.compare import Runs, judge
from contract_lint.runtime.run.evaluate import evaluate
from contract_lint.runtime.run.loop import Loop
from contract_lint.runtime.run.values import host_values
from steps import PATHS, make, make_mesh

ROUNDOFF = 2.0**-24
found = []
references = {}
for entry, axes, args in json.loads(sys.argv[1]):
    mesh, one_axes = make_mesh(axes), dict.fromkeys(axes, 1)
    step = make(entry, axes, **args)
    values = host_values(step, *Loop(step, mesh, PATHS, {"y": (0, 10)}).arguments(0))
    sharded = evaluate(step, values, mesh, PATHS).values
    # On one device a fault of the sharding is none, so all faults of one size share the reference.
    whole = {name: value for name, value in args.items() if name not in ("fault", "microbatches")}
    key = json.dumps([entry, list(axes), whole])
    if key not in references:
        one = evaluate(make(entry, one_axes, **whole), values, make_mesh(one_axes), PATHS, moves=2)
        with jax.enable_x64(True):
            wide = make(entry, one_axes, compute="float64", **whole)
            twin = evaluate(wide, values, make_mesh(one_axes), PATHS, wide=True)
        assert not any(twin.narrow.values()), twin.narrow
        assert all(v.dtype == np.float64 for (role, _), v in twin.values.items() if role == "gradient")
        references[key] = one, twin
    one, twin = references[key]
    ratios = {}
    for name, reference in (("twin", twin.values), ("moved", {})):
        for (role, path), value in sharded.items():
            runs = Runs(value, one.values[role, path], reference.get((role, path)), [m[role, path] for m in one.moved])
            outcome = judge(role, path, runs, ROUNDOFF)
            assert not isinstance(outcome, str), outcome
            ratios[f"{name} {role} {path}"] = outcome.ratio
    found.append(ratios)
print(json.dumps(found))
