"""`verify` on a real step: live, from its capture, without jax, and with a promise broken."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.capture import Capture, read_capture
from contract_lint.plugins.pipeline import capture as captures
from contract_lint.plugins.pipeline.capture import capture
from contract_lint.plugins.pipeline.verify import verify
from contract_lint.plugins.report.formats import render

STEP = """
from types import SimpleNamespace

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P


def train_step(params, x):
    def loss(params):
        return jnp.mean((jnp.tanh(x @ params["w1"]) @ params["w2"]) ** 2)

    value, grads = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value


def build(mesh, width=64):
    def array(shape, *spec):
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, P(*spec)))

    params = {"w1": array((width, 128), "fsdp", None), "w2": array((128, width), None, "fsdp")}
    return SimpleNamespace(
        fn=train_step, args=(params, array((16, width), "data", None)), kwargs={}, donate=("params",), static=()
    )
"""

CONTRACT = """\
contract: 1
name: small
step: { train: { entry: "small_step:build", donate: [params], compiles: 1 } }
targets: [cpu:4]
mesh: { axes: { data: 2, fsdp: 2 } }
batch: { size: 16, axes: data }
parameters:
  rules:
    - { match: w1, axes: [fsdp, null] }
    - { match: w2, axes: [null, fsdp] }
memory: { hbm: 16MiB }
graph: { host_callbacks: forbid }
"""

FORMATS = ("text", "json", "sarif", "github", "gitlab", "junit", "markdown")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a contract, its step, and the capture of one executed step in `cap`."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "small_step.py").write_text(STEP)
    (folder / "c.contract.yaml").write_text(CONTRACT)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        capture("c.contract.yaml", out="cap", run=True, steps=2)
    return folder


@pytest.fixture
def project(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(made)
    return made


def test_clean(project: Path) -> None:
    report = verify("c.contract.yaml", capture_dir="cap", run=True)
    assert report.findings == () and report.exit_code == 0
    (tables,) = report.tables
    assert tables.target == "cpu:4" and tables.devices == 4 and tables.mesh == (("data", 2), ("fsdp", 2))
    assert any(row.partitioned_count for row in tables.collectives)
    assert {row.cls: row.count for row in tables.tensors} == {"parameter": 2, "batch": 1}
    assert tables.memory is not None and tables.memory.hbm_bytes == 16 << 20
    assert tables.run is not None and tables.run.steps == 2 and len(tables.run.compiles) == 1
    assert tables.run.worst is not None and tables.run.worst <= 1


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_bytes_live_and_from_a_capture_wherever_it_lies(form: str, project: Path, tmp_path: Path) -> None:
    # The live capture is the cached one that `capture` made: nothing is compiled twice.
    live = render(verify("c.contract.yaml", run=True, steps=2), form)
    shutil.copytree("cap", tmp_path / "elsewhere" / "deep")
    assert render(verify("c.contract.yaml", capture_dir="cap", run=True), form) == live
    assert render(verify("c.contract.yaml", capture_dir=tmp_path / "elsewhere", run=True), form) == live


def test_a_capture_is_judged_where_jax_cannot_be_imported(project: Path) -> None:
    code = """
import sys
for name in ("jax", "jaxlib", "flax", "optax"):
    sys.modules[name] = None
from contract_lint.plugins.cli.main import main
main(["verify", "c.contract.yaml", "--capture", "cap", "--run", "--format", "json"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == render(verify("c.contract.yaml", capture_dir="cap", run=True), "json")


def test_a_broken_promise_is_a_finding_at_its_key(project: Path) -> None:
    tight = project / "tight.contract.yaml"
    tight.write_text(CONTRACT.replace("16MiB", "4KiB").replace("axes: data }", "axes: fsdp }"))
    report = verify(tight, capture_dir="cap")
    assert report.exit_code == 1
    places = {(root.finding.key, root.finding.location.line) for root in report.new_roots() if root.finding.location}
    assert {("batch.axes", 6)} <= places
    everything = {finding.key for finding in report.findings}
    assert {"batch.axes", "memory.hbm"} <= everything
    text = render(report, "text", 80)
    assert text.startswith("FAIL small on cpu:4: ") and "broken" in text


def test_run_on_a_capture_in_which_nothing_ran(project: Path) -> None:
    capture("c.contract.yaml", out="compiled")
    assert verify("c.contract.yaml", capture_dir="compiled").exit_code == 0
    with pytest.raises(ContractLintError, match="no step was executed"):
        verify("c.contract.yaml", capture_dir="compiled", run=True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"capture_dir": "cap", "targets": ("cpu:8",)}, "holds no capture for cpu:8, only for cpu:4"),
        ({"capture_dir": "nowhere"}, "nowhere"),
        ({"targets": ("abacus:3",)}, "abacus"),
    ],
)
def test_wrong_usage(options: dict, said: str, project: Path) -> None:
    with pytest.raises(ContractLintError, match=said):
        verify("c.contract.yaml", **options)


def test_two_captures_of_one_target_are_refused(project: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        shutil.copytree("cap", tmp_path / name)
    with pytest.raises(ContractLintError, match="more than one capture for cpu:4"):
        verify("c.contract.yaml", capture_dir=tmp_path)


TWO = CONTRACT.replace("[cpu:4]", '[cpu:4, "tpu:v5e:2x2"]')


def test_a_target_without_a_capture_is_named_and_the_other_judged(project: Path) -> None:
    (project / "two.contract.yaml").write_text(TWO.replace("16MiB", "1KiB"))
    report = verify("two.contract.yaml", capture_dir="cap")
    assert report.targets == ("cpu:4",) and "MEM202" in {finding.code for finding in report.findings}
    (left,) = report.not_checked
    assert left.target == "tpu:v5e:2x2" and "holds no capture for tpu:v5e:2x2, only for cpu:4" in left.message
    assert report.exit_code == 2
    # An error at the target's own entry says it already.
    (project / "two.contract.yaml").write_text(TWO.replace('"tpu:v5e:2x2"', '"tpu:v5e:2x4"'))
    report = verify("two.contract.yaml", capture_dir="cap")
    assert report.not_checked == () and report.exit_code == 1
    # One that nobody can have needs no capture: it is a finding on the contract.
    (project / "two.contract.yaml").write_text(TWO.replace("2x2", "3x3"))
    report = verify("two.contract.yaml", capture_dir="cap")
    assert report.not_checked == () and "JIT009" in {finding.code for finding in report.findings}


def test_a_compiler_that_is_missing_stops_no_other_target(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = read_capture(project / "cap")

    def capture_targets(_: object, targets: Sequence[str], **options: object) -> list[Capture]:
        if list(targets) == ["tpu:v5e:2x2"]:
            raise ContractLintError("libtpu is not installed", help="pip install it")
        return [made]

    monkeypatch.setattr(captures, "capture_targets", capture_targets)
    (project / "two.contract.yaml").write_text(TWO)
    for targets in ((), ("tpu:v5e:2x2", "cpu:4")):
        report = verify("two.contract.yaml", targets=targets)
        assert report.targets == ("cpu:4",) and report.findings == () and report.exit_code == 2
        assert [(each.target, each.help) for each in report.not_checked] == [("tpu:v5e:2x2", "pip install it")]
    with pytest.raises(ContractLintError, match=r"^libtpu is not installed"):
        verify("two.contract.yaml", targets=("tpu:v5e:2x2",))


def test_a_name_that_is_no_target_is_refused_before_anything_is_compiled(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(captures, "_capture_one")
    for name in ("cpu:0", "tpu:v5e:3x3"):
        with pytest.raises(ContractLintError, match=name):
            verify("c.contract.yaml", targets=("cpu:4", name))
        with pytest.raises(ContractLintError, match=name):
            capture("c.contract.yaml", targets=("cpu:4", name))


def test_a_capture_of_the_others_is_made_where_a_target_is_impossible(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = captures.capture_contract

    def captured(loaded: object, target: str, out: Path, **options: object) -> Path:
        return out if target == "cpu:4" else real(loaded, target, out=out)  # type: ignore[arg-type]

    monkeypatch.setattr(captures, "capture_contract", captured)
    (project / "three.contract.yaml").write_text(TWO.replace("2x2", "3x3"))
    folders, missing = captures.capture_each("three.contract.yaml", out=tmp_path)
    assert folders == [tmp_path / "cpu-4"] and [each.target for each in missing] == ["tpu:v5e:3x3"]
    with pytest.raises(ContractLintError, match=r"^tpu:v5e:3x3: .*no slice that there is"):
        capture("three.contract.yaml", out=tmp_path)


def test_no_targets(project: Path) -> None:
    (project / "none.contract.yaml").write_text(CONTRACT.replace("targets: [cpu:4]\n", ""))
    with pytest.raises(ContractLintError, match="names no target"):
        verify("none.contract.yaml")


def test_a_contract_with_errors_is_reported_without_running_anything(project: Path) -> None:
    (project / "bad.contract.yaml").write_text(CONTRACT.replace("memory:", "memori:"))
    report = verify("bad.contract.yaml")
    assert [(f.name, f.location.line if f.location else 0) for f in report.findings] == [("unknown-key", 11)]
    assert report.captures == () and report.exit_code == 1


def test_a_missing_extra_names_what_to_install(project: Path) -> None:
    code = """
import importlib.util, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "jax" else find(name, *rest)
from contract_lint.plugins.cli.main import main
main(["verify", "c.contract.yaml", "--no-cache"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "pip install 'jax-contract-lint[jax]'" in done.stderr and "Traceback" not in done.stderr
