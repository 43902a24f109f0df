"""The two lives of the package: a base install without jax that judges captures, and extras that resolve everywhere."""

from __future__ import annotations

import email
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FLOORS = ("contracts", "hlo_tools", "linters", "runtime", "plugins")
SCRIPTS = "Scripts" if os.name == "nt" else "bin"

HLO = """\
HloModule small, num_partitions=2

ENTRY main {
  x = f32[8]{0} parameter(0)
  ROOT r = f32[16]{0} all-gather(x), channel_id=1, replica_groups={{0,1}}, dimensions={0}, use_global_device_ids=true
}
"""

STEP = """\
from types import SimpleNamespace

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P


def build(mesh):
    x = jax.ShapeDtypeStruct((8, 4), jnp.float32, sharding=NamedSharding(mesh, P("data")))
    return SimpleNamespace(fn=lambda x: jnp.sum(x * x), args=(x,))
"""

CONTRACT = """\
contract: 1
name: small
step: { train: { entry: "small_step:build", path: [.] } }
targets: [cpu:2]
mesh: { axes: { data: 2 } }
collectives: { expect: [] }
"""


def run(*command: str | Path, cwd: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    """A command without the surrounding environment's Python settings."""
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "COLUMNS")}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True, timeout=300
    )
    assert not check or done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


def environment(folder: Path, *packages: str | Path) -> Path:
    """The `bin` of a fresh virtual environment that holds these packages, fetched by this environment's pip."""
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    binaries = folder / SCRIPTS
    pip("install", "-c", ROOT / "constraints.txt", *packages, python=binaries / "python", cwd=folder.parent)
    return binaries


def pip(*arguments: str | Path, python: Path, cwd: Path) -> None:
    run(sys.executable, "-m", "pip", "--quiet", "--python", python, *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project in a folder named as an archive from a code host unpacks: building writes beside the sources."""
    folder = tmp_path_factory.mktemp("source") / "contract-lint-main"
    left_out = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist", "shared")
    return Path(shutil.copytree(ROOT, folder, ignore=left_out))


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with what `[build-system]` asks for and nothing else."""
    return environment(tmp_path_factory.mktemp("builder") / "venv", *PROJECT["build-system"]["requires"])


@pytest.fixture(scope="module")
def sdist(source: Path, builder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sdist")
    hook = f"from setuptools import build_meta; build_meta.build_sdist({str(out)!r})"
    run(builder / "python", "-c", hook, cwd=source)
    (archive,) = out.glob("*.tar.gz")
    return archive


@pytest.fixture(scope="module")
def wheel(sdist: Path, builder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the sdist, so that what the sdist leaves out is missed here."""
    out = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-deps", "--no-build-isolation", "-w", out, sdist, python=builder / "python", cwd=out)
    (archive,) = out.glob("*.whl")
    return archive


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel and what it depends on, no extra."""
    return environment(tmp_path_factory.mktemp("base") / "venv", wheel)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work")
    (folder / "small.contract.yaml").write_text(CONTRACT)
    (folder / "small_step.py").write_text(STEP)
    (folder / "small.txt").write_text(HLO)
    return folder


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path, source: Path) -> None:
    modules = [path.relative_to(source) for floor in FLOORS for path in (source / floor).rglob("*.py")]
    described = (source / "runtime" / "targets" / "gpus").glob("*.txtpb")
    modules += [path.relative_to(source) for path in described]
    expected = {f"contract_lint/{path.as_posix()}" for path in modules}
    expected |= {"contract_lint/__init__.py", "contract_lint/__main__.py", "contract_lint/py.typed"}
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        info = {name.split(".dist-info/")[1] for name in archive.namelist() if ".dist-info/" in name}
    assert names == expected
    assert {"METADATA", "RECORD", "entry_points.txt", "licenses/LICENSE"} <= info
    assert wheel.name.endswith("-py3-none-any.whl")


def test_the_metadata_are_whole(wheel: Path) -> None:
    known = metadata(wheel)
    assert known["Name"] == "jax-contract-lint" and known["License-Expression"] == "Apache-2.0"
    assert known["Requires-Python"] == ">=3.11"
    assert "make verify" in known.get_payload()
    assert {"jax", "tpu", "cuda", "data", "all"} <= set(known.get_all("Provides-Extra", []))


def test_the_sdist_holds_the_sources_and_the_licence(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "py.typed", "contracts/finding.py", "__init__.py"} <= names


def test_the_base_install_has_no_jax(base: Path, work: Path) -> None:
    heavy = ("jax", "jaxlib", "numpy", "flax", "optax", "tensorstore")
    probe = (
        "import contract_lint, json; from importlib.util import find_spec;"
        f"print(json.dumps([contract_lint.__version__, [n for n in {heavy} if find_spec(n)], contract_lint.__file__]))"
    )
    version, found, file = json.loads(run(base / "python", "-c", probe, cwd=work).stdout)
    assert version == PROJECT["project"]["version"] and found == []
    assert Path(file).is_relative_to(base.parent)
    for command in (("contract-lint",), ("python", "-m", "contract_lint")):
        said = run(base / command[0], *command[1:], "--version", cwd=work).stdout
        assert said == f"contract-lint {version}\n"


def test_the_base_install_checks_contracts_and_reads_programs(base: Path, work: Path) -> None:
    assert run(base / "contract-lint", "check", cwd=work).stdout.startswith("PASS 1 contract")
    count = len(list((ROOT / "examples").rglob("*.contract.yaml")))
    assert run(base / "contract-lint", "check", ROOT / "examples", cwd=work).stdout.startswith(
        f"PASS {count} contracts"
    )
    summary = json.loads(
        run(base / "contract-lint", "hlo", "summary", "small.txt", "--format", "json", cwd=work).stdout
    )
    assert summary["module"] == "small"
    assert "JIT002" in run(base / "contract-lint", "rules", cwd=work).stdout
    assert "properties" in json.loads(run(base / "contract-lint", "schema", cwd=work).stdout)


def test_the_base_install_judges_a_capture_as_the_full_one_does(base: Path, work: Path) -> None:
    here = (sys.executable, "-m", "contract_lint")
    run(*here, "capture", "small.contract.yaml", "-o", "capture", "--no-cache", cwd=work)
    judge = ("verify", "small.contract.yaml", "--capture", "capture", "--format", "json")
    without, full = (run(*tool, *judge, cwd=work, check=False) for tool in ((base / "contract-lint",), here))
    assert without.stdout == full.stdout and without.returncode == full.returncode == 1
    findings = json.loads(without.stdout)["findings"]
    assert [(finding["name"], finding["targets"]) for finding in findings] == [("unplanned-collective", ["cpu:2"])]


@pytest.mark.parametrize(
    "command",
    [
        ("verify", "small.contract.yaml"),
        ("init", "small_step:build", "--target", "cpu:2", "--path", "."),
        ("capture", "small.contract.yaml", "-o", "never"),
        ("train", str(ROOT / "examples" / "dense_fsdp" / "train.contract.yaml")),
    ],
    ids=lambda command: command[0],
)
def test_a_verb_without_its_extra_says_which(command: tuple[str, ...], base: Path, work: Path) -> None:
    done = run(base / "contract-lint", *command, cwd=work, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert "jax-contract-lint[jax]" in done.stderr and "Traceback" not in done.stderr
    assert not (work / "never").exists()


def test_an_editable_install_leads_to_the_sources(source: Path, builder: Path, tmp_path: Path) -> None:
    pip("install", "--no-deps", "--no-build-isolation", "-e", source, python=builder / "python", cwd=tmp_path)
    probe = "import contract_lint.hlo_tools.text as text; print(text.__file__)"
    found = run(builder / "python", "-c", probe, cwd=tmp_path).stdout.strip()
    assert Path(found).resolve() == (source / "hlo_tools" / "text" / "__init__.py").resolve()


def resolved(wheel: Path, extra: str, **system: str) -> set[str]:
    """Every distribution that the base and `extra` ask for on a system, own extras followed to the end."""
    requirements = [Requirement(text) for text in metadata(wheel).get_all("Requires-Dist", [])]
    found, seen, waiting = set(), set(), [extra]
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        for each in requirements:
            if each.marker is not None and not each.marker.evaluate({**system, "extra": current}):
                continue
            if canonicalize_name(each.name) == "jax-contract-lint":
                waiting += each.extras
            else:
                found.add(each.name + (f"[{','.join(sorted(each.extras))}]" if each.extras else ""))
    return found


BASE = {"click", "libcst", "networkx", "pathspec", "pydantic", "rich", "ruamel.yaml"}
MAC = {"sys_platform": "darwin", "platform_system": "Darwin", "platform_machine": "arm64"}
LINUX = {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"}


def test_extras_resolve_where_their_accelerator_exists(wheel: Path) -> None:
    assert resolved(wheel, "", **LINUX) == BASE
    assert resolved(wheel, "jax", **MAC) == BASE | {"jax", "flax", "optax"}
    everywhere = BASE | {"jax", "flax", "optax", "grain", "numpy", "safetensors", "tensorstore"}
    assert resolved(wheel, "all", **MAC) == everywhere
    on_linux = resolved(wheel, "all", **LINUX) - everywhere
    assert sorted(name.partition("[")[0] for name in on_linux) == ["jax", "jax"]
    assert any("tpu" in name for name in on_linux) and any("cuda" in name for name in on_linux)
    arm = resolved(wheel, "all", **{**LINUX, "platform_machine": "aarch64"})
    assert not any("tpu" in name for name in arm)


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_the_pinned_versions_satisfy_what_is_asked_for(python: str) -> None:
    here = {**LINUX, "python_version": python, "python_full_version": f"{python}.0"}
    project = PROJECT["project"]
    asked = [*project["dependencies"], *(each for extra in project["optional-dependencies"].values() for each in extra)]
    lines = (line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#"))
    pins: dict[str, str] = {}
    for pin in map(Requirement, lines):
        (exact,) = pin.specifier
        assert exact.operator == "==", f"{pin} pins nothing"
        if pin.marker is None or pin.marker.evaluate(here):
            assert canonicalize_name(pin.name) not in pins, f"{pin.name} is pinned twice"
            pins[canonicalize_name(pin.name)] = exact.version
    for each in map(Requirement, asked):
        version = pins.get(canonicalize_name(each.name))
        if version is not None and (each.marker is None or each.marker.evaluate(here)):
            assert each.specifier.contains(version), f"constraints.txt has {each.name} {version}, asked is {each}"
