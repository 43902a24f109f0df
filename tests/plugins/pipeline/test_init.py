"""`init`: placements as few rules, YAML that reads back, and a contract that passes on a step it has never seen."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from contract_lint.contracts.load import load_contract
from contract_lint.contracts.manifest import CompileEvent, RunFacts
from contract_lint.contracts.pattern import PathPattern
from contract_lint.plugins.pipeline.init.draft import REVIEW, _at, promised_compiles
from contract_lint.plugins.pipeline.init.patterns import Spec, placement_rules
from contract_lint.plugins.pipeline.init.yaml_text import CHECKPOINT, yaml_text
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

FSDP: Spec = (("fsdp",), ())
WHOLE: Spec = ((), ())


def test_siblings_placed_alike_share_a_rule() -> None:
    rules = placement_rules({f"params/attn/{name}": FSDP for name in ("wq", "wk", "wv")} | {"params/attn/wo": WHOLE})
    assert [(rule.pattern, rule.spec, rule.count) for rule in rules] == [("(wq|wk|wv)", FSDP, 3), ("wo", WHOLE, 1)]


def test_numbers_are_generalised_only_where_all_are_placed_alike() -> None:
    alike = placement_rules({f"layers/{n}/w": FSDP for n in range(12)})
    assert [(rule.pattern, rule.count) for rule in alike] == [("w", 12)]
    apart = placement_rules({"layers/0/w": FSDP, "layers/1/w": WHOLE, "block0/w": FSDP})
    assert len(apart) == 3


component = st.text("ab01._+", min_size=1, max_size=3)
paths = st.lists(component, min_size=1, max_size=4).map("/".join)


@settings(deadline=None)
@given(st.dictionaries(paths, st.sampled_from([FSDP, WHOLE, ((), ("data", "fsdp"))]), max_size=12))
def test_every_path_gets_its_own_placement_and_only_that(placements: dict[str, Spec]) -> None:
    rules = placement_rules(placements)
    for path, spec in placements.items():
        assert [rule.spec for rule in rules if PathPattern(rule.pattern).matches(path)] == [spec]


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text("ab :#-'\"\n[]{}", max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3),
    )
)
def test_yaml_reads_back(value: object) -> None:
    data = {"contract": 1, "graph": value}
    assert YAML(typ="safe").load(yaml_text(data)) == data


@pytest.mark.parametrize(
    ("keys", "told"), [("model optimizer", True), ("model", False), ("model optimizer checkpoint", False)]
)
def test_a_contract_with_parameters_and_slots_says_how_checkpoints_are_held_to_them(keys: str, told: bool) -> None:
    assert (CHECKPOINT in yaml_text(dict.fromkeys(keys.split(), 1)).splitlines()) == told


STEP = """
from types import SimpleNamespace

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P


def step(params, moments, batch):
    def loss(params):
        x = batch["x"]
        for layer in params["layers"]:
            x = jnp.tanh(x @ layer["w"] + layer["b"])
        jax.debug.print("left in")
        return jnp.mean(x**2)

    grads = jax.grad(loss)(params)
    moments = jax.tree.map(lambda m, g: 0.9 * m + g, moments, grads)
    return jax.tree.map(lambda p, m: p - m, params, moments), moments


def build(mesh, depth=2, width=32):
    def array(shape, *spec):
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, P(*spec)))

    axis = mesh.axis_names[-1]
    params = {"layers": [{"w": array((width, width), axis, None), "b": array((width,))} for _ in range(depth)]}
    batch = {"x": array((16, width), mesh.axis_names[0], None)}
    return SimpleNamespace(
        fn=step, args=(params, params, batch), kwargs={}, donate=("params", "moments"), static=()
    )
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("init")
    (folder / "src").mkdir()
    (folder / "src/their_step.py").write_text(STEP)
    return folder


def cli(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # Python's readline sets COLUMNS behind os.environ's back; sentences would fold by it.
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    command = [sys.executable, "-m", "contract_lint", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, env=env)


def test_what_it_writes_passes_verify(project: Path) -> None:
    done = cli(
        project,
        "init",
        "their_step:build",
        "--target",
        "cpu:4",
        "--mesh",
        "data=2,fsdp=2",
        "--path",
        "src",
        "--arg",
        "depth=3",
        "-o",
        "contracts.contract.yaml",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("PASS their-step on cpu:4")
    loaded = load_contract(project / "contracts.contract.yaml", project)
    assert loaded.findings == [] and loaded.contract is not None
    contract = loaded.contract
    assert contract.mesh is not None and contract.mesh.axes == {"data": 2, "fsdp": 2}
    section = contract.step["train"]
    assert (section.path, section.args, section.donate) == (["src"], {"depth": 3}, ["params", "moments"])
    assert contract.parameters is not None
    assert {rule.match: rule.axes for rule in contract.parameters.rules} == {"w": ["fsdp", None], "b": [None]}
    assert contract.collectives is not None and contract.collectives.expect != "closed_form"
    assert contract.collectives.expect and all(row.review for row in contract.collectives.expect)
    assert any("; at src/their_step.py:" in (row.review or "") for row in contract.collectives.expect)
    assert contract.graph is not None and contract.graph.host_callbacks == "allow"
    text = (project / "contracts.contract.yaml").read_text()
    assert (
        "# What must fit on one device: as found and a tenth of headroom, but no more than it gives; in whole MiB."
        in text
    )
    assert contract.memory is not None and contract.memory.hbm and contract.memory.hbm % (1 << 20) == 0
    # The compiler places what the step returns otherwise than its arguments.
    assert section.compiles == 2 and section.review
    verified = cli(project, "verify", "--run", "contracts.contract.yaml")
    assert verified.returncode == 0, verified.stdout
    assert "unchanged since the last capture for cpu:4" in verified.stderr
    (project / "contracts.contract.yaml").write_text(text.replace("depth: 3", "depth: 4"))
    assert "train: compile" in cli(project, "verify", "contracts.contract.yaml").stderr


LOOSE = """
from types import SimpleNamespace

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P


def step(params, key, batch):
    key, _ = jax.random.split(key)
    loss, grads = jax.value_and_grad(lambda params: jnp.mean((batch @ params) ** 2))(params)
    return params - grads, key, loss


def build(mesh):
    batch = jax.ShapeDtypeStruct((8, 4), jnp.float32, sharding=NamedSharding(mesh, P("data")))
    args = (jnp.ones((4, 4)), jax.random.key(0), batch)
    return SimpleNamespace(fn=step, args=args, donate="params", carry={0: "params", 1: "key"})


def alone():
    args = (jnp.ones((4, 4)), jax.random.key(0), jnp.ones((8, 4)))
    return SimpleNamespace(fn=step, args=args, donate="params", example=lambda i: args)
"""


def test_arguments_that_lie_nowhere_at_first_make_a_second_program_to_review(project: Path) -> None:
    (project / "src/loose.py").write_text(LOOSE)
    done = cli(project, "init", "loose:build", "--target", "cpu:2", "--path", "src")
    assert done.returncode == 0, done.stderr
    contract = load_contract(project / "loose.contract.yaml", project).contract
    assert contract is not None and contract.deviations == []
    assert contract.step["train"].compiles == 2
    assert "placed nowhere in particular before" in (contract.step["train"].review or "")
    verified = cli(project, "verify", "--run", "loose.contract.yaml")
    assert verified.returncode == 0, verified.stdout
    assert "unchanged since the last capture for cpu:2" in verified.stderr


def test_a_step_without_a_mesh_that_cannot_be_run_promises_neither_placements_nor_compiles(project: Path) -> None:
    (project / "src/loose.py").write_text(LOOSE)
    done = cli(project, "init", "loose:alone", "--target", "cpu:2", "--path", "src", "-o", "odd.contract.yaml")
    assert done.returncode == 0, done.stderr
    assert "the step cannot be run: src/loose.py:23: example(0) returned a tuple of 3" in done.stderr
    contract = load_contract(project / "odd.contract.yaml", project).contract
    assert contract is not None and contract.step["train"].compiles is None
    assert contract.parameters is None and contract.deviations == []
    assert "compiles: the step could not be run" in (project / "odd.contract.yaml").read_text()
    assert "--run" not in done.stdout and "(the step was not run, its last lines say why)" in done.stdout
    assert "unchanged since the last capture" in cli(project, "verify", "odd.contract.yaml").stderr


def events(*indices: int) -> RunFacts:
    compiles = [CompileEvent(index=index, reason=f"reason {index}; and more") for index in indices]
    return RunFacts(steps=3, compiles=compiles)


@pytest.mark.parametrize(
    ("run", "promised"),
    [
        (None, {}),
        (events(0), {"compiles": 1}),
        (events(0, 1, 2), {"compiles": 1}),
        (
            events(0, 1),
            {"compiles": 2, "review": f"{REVIEW}: 2 programs because of reason 1; 1 where all calls are alike"},
        ),
    ],
)
def test_compiles_are_promised_where_they_came_to_an_end(run: RunFacts | None, promised: dict[str, object]) -> None:
    assert promised_compiles(run) == promised


def test_a_mesh_that_does_not_fit_is_the_options_to_change(project: Path) -> None:
    done = cli(project, "init", "their_step:build", "--target", "cpu:4", "--mesh", "data=2,fsdp=3", "--path", "src")
    assert done.returncode == 2 and "needs 6 devices, but cpu:4 has 4" in done.stderr
    assert "--mesh" in done.stderr and "mesh.axes" not in done.stderr and "{" not in done.stderr


def test_a_mark_names_the_lines_that_are_known() -> None:
    assert _at([None, ""]) == ""
    assert _at(["a.py:1", None, "a.py:1"]) == "; at a.py:1"
    assert _at([f"a.py:{n}" for n in range(3)]) == "; at a.py:0, a.py:1 and 1 more line"


def test_an_existing_file_is_left_alone(project: Path) -> None:
    (project / "mine.contract.yaml").write_text("x")
    done = cli(project, "init", "their_step:build", "--target", "cpu:4", "--path", "src", "-o", "mine.contract.yaml")
    assert done.returncode == 2 and "exists already" in done.stderr
    assert (project / "mine.contract.yaml").read_text() == "x"


def test_a_step_that_does_not_trace_is_one_sentence_at_its_line(project: Path) -> None:
    (project / "src/wrong_step.py").write_text(STEP.replace('x @ layer["w"]', 'x @ layer["w"][:5]'))
    done = cli(project, "init", "wrong_step:build", "--target", "cpu:4", "--mesh", "data=2,fsdp=2", "--path", "src")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "wrong_step.py:13" in done.stderr
    assert not (project / "wrong_step.contract.yaml").exists()
