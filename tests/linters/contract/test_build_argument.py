"""SEM003: what a step is built with and what the contract promises of the argument, given or by default."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_lint.contracts.load import load_contract
from contract_lint.linters.contract.rules.build_argument import RULE

PROMISES = {
    "accumulation.microbatches": "accumulation: { microbatches: 2, arg: n }",
    "optimizer.chain[1].max_norm": "optimizer:\n  chain:\n    - { kind: reduce }\n"
    "    - { kind: clip_by_global_norm, max_norm: 2, arg: n }",
    "rng.root.seed": "rng: { root: { seed: 2, arg: n } }",
}
OWN = "contract_lint.runtime.trainer:build"


def found(folder: Path, promise: str, step: str) -> list[tuple[str | None, str | None]]:
    file = folder / "c.contract.yaml"
    file.write_text(f"contract: 1\nname: c\nstep: {{ train: {step} }}\n{promise}\n")
    return [(each.key, each.found) for each in RULE.check(load_contract(file))]


@pytest.mark.parametrize("key", PROMISES)
def test_what_args_say_of_every_promise(tmp_path: Path, key: str) -> None:
    at = "step.train.args.n"
    assert found(tmp_path, PROMISES[key], "{ entry: m:build, args: { n: 3 } }") == [(at, "3")]
    assert found(tmp_path, PROMISES[key], "{ entry: m:build, args: { n: null } }") == [(at, "None")]
    assert found(tmp_path, PROMISES[key], "{ entry: m:build, args: { n: 2 } }") == []


@pytest.mark.parametrize("key", PROMISES)
@pytest.mark.parametrize(
    ("signature", "default"),
    [
        ("mesh, n=3", "3"),
        ("mesh, n=-2", "-2"),
        ("mesh, *, other, n=3, last=4", "3"),
        ("mesh, n=2", None),
        ("mesh, n=None", None),
        ("mesh, n=DEFAULT", None),
        ("mesh, n=-DEFAULT", None),
        ("mesh, n", None),
        ("mesh, **rest", None),
    ],
)
def test_what_the_build_function_takes_by_default(
    tmp_path: Path, key: str, signature: str, default: str | None
) -> None:
    expected = [] if default is None else [(key, default)]
    (tmp_path / "src").mkdir()
    (tmp_path / "src/m.py").write_text(f"DEFAULT = 3\n\n\ndef build({signature}):\n    return None\n")
    assert found(tmp_path, PROMISES[key], "{ entry: m:build, path: [src] }") == expected
    assert found(tmp_path, PROMISES[key], "{ entry: m:build, path: [src], args: { n: 2 } }") == []
    assert found(tmp_path, PROMISES[key], "{ entry: m:build }") == []  # that module is not there
    (tmp_path / "src").rename(tmp_path / "m")
    (tmp_path / "m/m.py").rename(tmp_path / "m/__init__.py")
    assert found(tmp_path, PROMISES[key], "{ entry: m:build }") == expected


def test_what_cannot_be_told_is_no_finding(tmp_path: Path) -> None:
    for text in ("@wrapped\ndef build(mesh, n=3): ...", "build = 1", "def build(mesh, n=3", "\0"):
        (tmp_path / "m.py").write_text(text)
        assert found(tmp_path, PROMISES["rng.root.seed"], "{ entry: m:build }") == []


def test_the_seed_of_the_reference_trainer(tmp_path: Path) -> None:
    seed = "rng: {{ root: {{ seed: {}, arg: seed }} }}"
    assert found(tmp_path, seed.format(1), f"{{ entry: '{OWN}' }}") == [("rng.root.seed", "0")]
    assert found(tmp_path, seed.format(0), f"{{ entry: '{OWN}' }}") == []
