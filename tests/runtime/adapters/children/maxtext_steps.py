"""Builds MaxText steps on eight CPU devices and prints what they are as JSON. Argument: a folder of configurations."""

from __future__ import annotations

import contextlib
import json
import sys

import jax
import numpy as np
from contract_lint.runtime.adapters.maxtext import build
from contract_lint.runtime.request import StepFailure
from contract_lint.runtime.step import as_step
from jax.sharding import Mesh

sys.path.insert(0, sys.argv[1])
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 8)


def mesh(devices: int) -> Mesh:
    return Mesh(np.array(jax.devices()[:devices]).reshape(devices), ("data",))


def shape_of(step) -> dict:
    batch = step.args[1]
    return {
        "arguments": list(step.argument_names),
        "donate": list(step.donate),
        "mesh": {name: size for name, size in step.mesh.shape.items() if size > 1},
        "axes": len(step.mesh.axis_names),
        "batch": list(batch["inputs"].shape),
        "names": step.logical_axes["model/decoder/layers/mlp/wi_0/kernel"],
    }


def refused(*args, **kwargs) -> dict:
    try:
        build(*args, **kwargs)
    except StepFailure as error:
        return {"message": error.message, "help": error.help, "key": list(error.key)}
    return {}


with contextlib.redirect_stdout(sys.stderr):
    whole = as_step(build(mesh(8), "tiny.yml"))
    filled = whole.example(0)[0][1] if whole.example else {}
    found = {
        "whole": shape_of(whole),
        "text": int(np.max(filled["inputs"])),
        "lengths": np.asarray(filled["targets_segmentation"]).sum(axis=1).tolist(),
        "shipped": shape_of(as_step(build(mesh(8), "configs/base.yml", {"base_num_decoder_layers": 1}))),
        "sliceless": list(build(mesh(8), "tiny.yml", {"compile_topology": "v5e-8"}).args[1]["inputs"].shape),
        "missing": refused(mesh(8), "gone.yml"),
        "unknown": refused(mesh(8), "tiny.yml", {"no_such_key": 1}),
        "devices": refused(mesh(4), "tiny.yml", devices=8),
        "double": refused(mesh(8), "tiny.yml", compute="float64"),
    }
print(json.dumps(found))
