"""Every kind of loop of cases/loops.py, four steps each."""

import json
import sys

from contract_lint.runtime.run import run_step
from steps import PATHS, make, make_mesh

found = {}
for kind in sys.argv[1:]:
    axes = {"data": 8}
    facts = run_step(make("loops:build", axes, kind=kind), mesh=make_mesh(axes), steps=4, paths=PATHS)
    found[kind] = facts.model_dump()
print(json.dumps(found))
