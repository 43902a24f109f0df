"""Child process: XLA's cost analysis of the HLO texts in a JSON list on standard input, one JSON line for each."""

import json
import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
from jaxlib import _hlo, _jax

client = jax.devices("cpu")[0].client
for text in json.load(sys.stdin):
    try:
        found = _jax.hlo_module_cost_analysis(client, _hlo.hlo_module_from_text(text))
    except (RuntimeError, ValueError) as error:
        found = {"error": str(error)[:500]}
    print(json.dumps({key: found.get(key, 0) for key in ("flops", "transcendentals", "error")}), flush=True)
