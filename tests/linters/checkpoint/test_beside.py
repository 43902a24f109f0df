"""What Orbax writes beside the arrays: read as it reads it, and each kind of damage told."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from contract_lint.linters.checkpoint.evidence import CheckpointEvidence
from contract_lint.linters.checkpoint.facts import Placed
from contract_lint.linters.checkpoint.judge import judge_checkpoint
from contract_lint.linters.checkpoint.read import read_checkpoint

MESH = {"data": 2, "fsdp": 4}
NAME = "c3RlcA=="
"""`step` in base64."""
WRITTEN = "array_metadatas/process_0"
ENTRY = {"param_name": "step", "write_shape": [], "chunk_shape": []}


def _entry(**change: object) -> str:
    entry = {name: value for name, value in (ENTRY | change).items() if value is not None}
    return json.dumps({"array_metadatas": [{"array_metadata": entry}]})


def _placement(**change: object) -> str:
    whole = {"sharding_type": "NamedSharding", "shape": [8], "axis_names": ["data"], "partition_spec": []}
    return json.dumps({NAME: json.dumps({name: each for name, each in (whole | change).items() if each is not None})})


CASES = [
    (WRITTEN, "", "array_metadatas/process_0:1:1: is no JSON"),
    (WRITTEN, "{", "array_metadatas/process_0:1:2: is no JSON"),
    (WRITTEN, "[]", "is a list, not an object"),
    (WRITTEN, '{"array_metadatas": 3}', "`array_metadatas` is a number, not a list"),
    (WRITTEN, '{"array_metadatas": [{}]}', "the entry {} names no array"),
    (WRITTEN, _entry(param_name=None), "names no array"),
    (WRITTEN, _entry(write_shape=None), "`write_shape` is null"),
    (WRITTEN, _entry(), None),
    (WRITTEN, "{}", None),
    ("array_metadatas/process_x", _entry(), "has a name that ends with no number of a process"),
    ("array_metadatas/notes", "", None),
    ("_sharding", "", "_sharding:1:1: is no JSON"),
    ("_sharding", "[]", "is a list, not an object"),
    ("_sharding", '{"step": "x"}', None),
    ("_sharding", "{}", None),
    ("_sharding", " {}", "_sharding: does not say where opt_state.1.0.count, opt_state.1.0.mu.blocks.0, opt_state.1.0"),
    ("_sharding", _placement(axis_types=[]), None),
    ("_sharding", _placement(axis_types=["AxisType.Auto"]), None),
    ("_sharding", _placement(axis_types=["AxisType.Bogus"]), 'has `axis_types` of ["AxisType.Bogus"], and jax has'),
    ("_sharding", _placement(axis_types=["AxisType.Auto"] * 2), "one for each axis"),
    ("_sharding", _placement(axis_types=3), "has `axis_types` of 3, and"),
    ("_sharding", json.dumps({NAME: 3}), "the placement of step is a number, not text"),
    ("_sharding", json.dumps({NAME: "{"}), "the placement of step is no JSON"),
    ("_sharding", json.dumps({NAME: ""}), "the placement of step is no JSON"),
    ("_sharding", _placement(), None),
    ("_sharding", _placement(sharding_type="PositionalSharding"), "which Orbax does not know"),
    ("_sharding", _placement(shape=None), "`shape` is null"),
    ("_sharding", _placement(axis_names=["a", "b"]), "names no mesh or no axes"),
    ("_sharding", _placement(partition_spec=None), "names no mesh or no axes"),
]


@pytest.fixture
def step(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made / "zarr", tmp_path / "step")
    return tmp_path / "step"


def put(step: Path, file: str, text: str) -> str:
    """The text of a case; of `_sharding` one entry is another, the rest as it was."""
    if file != "_sharding" or not text.startswith("{"):
        return text
    return json.dumps(json.loads((step / file).read_text()) | json.loads(text))


@pytest.mark.parametrize(("file", "text", "said"), CASES)
def test_what_is_damaged_is_told_and_its_twin_is_not(step: Path, file: str, text: str, said: str | None) -> None:
    (step / file).write_text(put(step, file, text))
    found = judge_checkpoint(CheckpointEvidence(read_checkpoint(step)))
    assert [(each.code, each.severity) for each in found] == (
        [("CKP616", "warning" if file == "_sharding" else "error")] if said else []
    )
    assert said is None or said in found[0].message


def test_placements_are_those_that_orbax_saved(made: Path) -> None:
    for name in ("ocdbt", "zarr", "zarr3"):
        arrays = read_checkpoint(made / name).arrays
        assert arrays["params/embed"].placed == Placed(MESH, (("data",), ("fsdp",)))
        assert arrays["params/layers/w"].placed == Placed(MESH, (("fsdp",), ()))
        assert arrays["params/blocks/0"].placed == Placed(MESH, ())
        assert arrays["step"].placed == Placed() and arrays["count"].placed is None


def test_without_them_a_step_is_as_whole(step: Path) -> None:
    """One restore of two needs `_sharding`; that is said, and nothing is wrong with the step."""
    shutil.rmtree(step / "array_metadatas")
    assert judge_checkpoint(CheckpointEvidence(read_checkpoint(step))) == []
    (step / "_sharding").unlink()
    (found,) = judge_checkpoint(CheckpointEvidence(read_checkpoint(step)))
    assert (found.code, found.severity) == ("CKP616", "info")
    assert "_sharding: is not there; StandardCheckpointer restores the tree, PyTreeCheckpointer where" in found.message


def test_of_one_array_the_placement_is_not_said(step: Path) -> None:
    said = json.loads((step / "_sharding").read_text())
    (step / "_sharding").write_text(json.dumps({name: each for name, each in said.items() if name != NAME}))
    (found,) = judge_checkpoint(CheckpointEvidence(read_checkpoint(step)))
    assert (found.code, found.severity) == ("CKP616", "warning")
    assert "_sharding: does not say where step lay; a restore that names no placement" in found.message


RESTORES = """
import json, os, sys
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax, orbax.checkpoint as ocp
step, cases = os.path.abspath("step"), json.load(open("cases.json"))
checkpointer = ocp.PyTreeCheckpointer()
here = ocp.ArrayRestoreArgs(sharding=jax.sharding.SingleDeviceSharding(jax.devices()[0]))
named = jax.tree.map(lambda _: here, checkpointer.metadata(step).item_metadata.tree)
for file, text in cases:
    path = os.path.join(step, file)
    before = open(path).read() if os.path.exists(path) else None
    open(path, "w").write(text)
    for arguments in (None, named):
        try:
            checkpointer.restore(step, restore_args=arguments)
            print("restored")
        except Exception as error:
            print("refused", type(error).__name__, str(error)[:90].replace("\\n", " "))
    os.remove(path)
    if before is not None:
        open(path, "w").write(before)
"""


@pytest.mark.slow
def test_what_is_called_damaged_is_what_orbax_does_not_restore(step: Path) -> None:
    """An error is what no restore gets past, a warning what stops one that names no placements."""
    (step.parent / "cases.json").write_text(json.dumps([(file, put(step, file, text)) for file, text, _ in CASES]))
    done = subprocess.run([sys.executable, "-c", RESTORES], cwd=step.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    said = [line.split()[0] for line in done.stdout.splitlines()]
    for (file, text, expected), plain, named in zip(CASES, said[::2], said[1::2], strict=True):
        damaged = "refused" if expected else "restored"
        assert (plain, named) == (damaged, damaged if file != "_sharding" else "restored"), (file, text, done.stdout)
