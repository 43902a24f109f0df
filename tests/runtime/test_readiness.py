"""What is missing for a platform is named before anything compiles, with the way to get it."""

from __future__ import annotations

import importlib.metadata
import json
import platform as host

import pytest
from click.testing import CliRunner
from contract_lint.contracts.errors import ContractLintError
from contract_lint.plugins.cli.main import group
from contract_lint.runtime.targets import readiness as module
from contract_lint.runtime.targets.readiness import asked_for, pinned, readiness, satisfies

REQUIRES = [
    "jaxlib<=0.10.2,>=0.10.1",
    'libtpu==0.0.42.*; extra == "tpu"',
    'requests; extra == "tpu"',
    'jax-cuda12-plugin[with-cuda]<=0.10.2,>=0.10.2; extra == "cuda"',
    'jax_cuda12.plugin<=0.10.2,>=0.10.2; extra == "cuda12-local"',
]
MATCHED = {
    "jax": "0.10.2",
    "jaxlib": "0.10.2",
    "libtpu": "0.0.42.1",
    "jax-cuda12-plugin": "0.10.2",
    "jax-cuda12-pjrt": "0.10.2",
}


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An x86-64 Linux with a matched set of packages, to be changed by the test."""
    packages = dict(MATCHED)
    monkeypatch.setattr(module, "installed", packages.get)
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: REQUIRES)
    monkeypatch.setattr(host, "system", lambda: "Linux")
    monkeypatch.setattr(host, "machine", lambda: "x86_64")
    return packages


@pytest.mark.parametrize("platform", ["cpu", "tpu", "cuda"])
def test_a_matched_set_is_ready(machine: dict[str, str], platform: str) -> None:
    found = readiness(platform)
    assert found.ready and found.help is None
    found.require()


@pytest.mark.parametrize(
    ("platform", "package", "version", "sentence", "advice"),
    [
        (
            "tpu",
            "libtpu",
            "0.0.52",
            "jax 0.10.2 is made for libtpu 0.0.42.*, but 0.0.52 is installed",
            "jax[tpu]==0.10.2",
        ),
        ("cuda", "jax-cuda12-plugin", "0.12.0.1", "but 0.12.0.1 is installed", "jax[cuda12-local]==0.10.2"),
        ("cuda", "jax-cuda12-pjrt", "0.10.1", "jax-cuda12-pjrt <=0.10.2,>=0.10.2, but 0.10.1", "cuda12-local"),
        ("cpu", "jaxlib", "0.9.0", "made for jaxlib <=0.10.2,>=0.10.1, but 0.9.0", "pip install 'jax==0.10.2'"),
        ("tpu", "jaxlib", "0.10.3", "made for jaxlib <=0.10.2,>=0.10.1, but 0.10.3", "pip install 'jax==0.10.2'"),
        ("cuda", "jaxlib", "0.10.0", "made for jaxlib <=0.10.2,>=0.10.1, but 0.10.0", "pip install 'jax==0.10.2'"),
        ("tpu", "libtpu", None, "libtpu, which is not installed", "jax-contract-lint[tpu]"),
        ("cuda", "jax-cuda12-plugin", None, "CUDA plugin, which is not installed", "jax-contract-lint[cuda]"),
        ("cuda", "jax-cuda12-pjrt", None, "jax-cuda12-pjrt, which is not installed", "cuda12-local"),
        ("tpu", "jax", None, "need jax, which is not installed", "jax-contract-lint[tpu]"),
        ("cpu", "jax", None, "need jax, which is not installed", "jax-contract-lint[jax]"),
    ],
)
def test_what_is_missing_is_named(
    machine: dict[str, str], platform: str, package: str, version: str | None, sentence: str, advice: str
) -> None:
    machine.pop(package)
    if version is not None:
        machine[package] = version
    found = readiness(platform)
    assert not found.ready and found.missing is not None and sentence in found.missing
    assert found.help is not None and advice in found.help
    if version is not None:
        assert "this pair of versions is not supported" in found.missing and "your step" in found.help
    with pytest.raises(ContractLintError, match=r"jax|libtpu"):
        found.require()


@pytest.mark.parametrize(
    ("system", "machine_name", "lacking"),
    [("Darwin", "arm64", {"tpu", "cuda"}), ("Linux", "aarch64", {"tpu"}), ("Windows", "AMD64", {"tpu", "cuda"})],
)
def test_other_machines(
    machine: dict[str, str], monkeypatch: pytest.MonkeyPatch, system: str, machine_name: str, lacking: set[str]
) -> None:
    monkeypatch.setattr(host, "system", lambda: system)
    monkeypatch.setattr(host, "machine", lambda: machine_name)
    found = {platform: readiness(platform) for platform in ("cpu", "tpu", "cuda")}
    assert {platform for platform, each in found.items() if not each.ready} == lacking
    for platform in lacking:
        assert f"this is {system} on {machine_name}" in str(found[platform].missing)
        assert "--capture" in str(found[platform].help)


def test_pins_are_read_from_jax(machine: dict[str, str]) -> None:
    assert pinned("libtpu", "tpu") == "==0.0.42.*"
    assert pinned("jax-cuda12-plugin", "cuda12-local") == "<=0.10.2,>=0.10.2"
    assert pinned("libtpu", "cuda") is None and pinned("nothing", "tpu") is None
    assert pinned("jaxlib", None) == "<=0.10.2,>=0.10.1" and pinned("libtpu", None) is None
    assert asked_for("tpu", readiness("tpu")) == {"jaxlib": "<=0.10.2,>=0.10.1", "libtpu": "==0.0.42.*"}
    assert asked_for("cpu", readiness("cpu")) == {"jaxlib": "<=0.10.2,>=0.10.1"}


@pytest.mark.parametrize(
    ("version", "specifier", "met"),
    [
        ("0.0.42.1", "==0.0.42.*", True),
        ("0.0.42", "==0.0.42.*", True),
        ("0.0.421", "==0.0.42.*", False),
        ("0.10.2", "<=0.10.2,>=0.10.2", True),
        ("0.10.2.0", "==0.10.2", True),
        ("0.10.3", "<=0.10.2,>=0.10.2", False),
        ("0.10.2.dev3", ">=0.10", True),
        ("1.4.9", "~=1.4", True),
        ("2.0", "~=1.4", False),
        ("1.5", "!=1.5", False),
        ("1.5", "<1.5", False),
        ("1.5", ">1.4,<2", True),
        ("1.5", "===odd", True),
    ],
)
def test_specifiers(version: str, specifier: str, met: bool) -> None:
    assert satisfies(version, specifier) is met


def test_the_verb(machine: dict[str, str]) -> None:
    machine["libtpu"] = "0.0.52"
    done = CliRunner().invoke(group, ["targets", "--format", "json"])
    assert done.exit_code == 0
    rows = {row["platform"]: row for row in json.loads(done.output)["targets"]}
    assert [rows[name]["ready"] for name in ("cpu", "tpu", "cuda")] == [True, False, True]
    assert "v5e" in [kind["name"] for kind in rows["tpu"]["kinds"]] and rows["tpu"]["asked"]["libtpu"] == "==0.0.42.*"
    text = CliRunner().invoke(group, ["targets"]).output
    assert text.startswith("This Python (") and "can compile for cpu, cuda." in text
    assert "tpu   MISSING" in text and "get it   pip install 'jax[tpu]==0.10.2'" in text
    assert "| tpu | jax 0.10.2 is made for" in CliRunner().invoke(group, ["targets", "--format", "markdown"]).output
