"""Every leaf of two examples' contracts is a promise that can be broken, and `verify` names the one that was."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from broken_promises import GRAPH_EDITS, TABLES, Broken
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.finding import Finding
from contract_lint.contracts.key import Key, format_key, parse_key
from contract_lint.contracts.load import load_contract
from contract_lint.hlo_tools.capture import Capture, read_capture
from contract_lint.linters.judge import evidence_of, judge
from contract_lint.plugins.pipeline.capture import RUN_STEPS
from contract_lint.plugins.pipeline.check import static_findings
from contract_lint.plugins.pipeline.verify import verify
from contract_lint.runtime.contract import capture_contract
from harness import CONTRACT, ROOT, project
from ruamel.yaml import YAML

EXAMPLES = tuple(TABLES)
LEDGERS = ("tensors", "partitioned", "optimized", "explanation", "memory")
"""What evidence makes of a capture alone, whatever the contract says."""


@dataclass(frozen=True)
class Captured:
    """One capture with its ledgers, read once for all contracts that are held against it."""

    folder: Path
    capture: Capture
    ledgers: tuple[dict[str, Any], ...]


def captured(contract: Path, run: bool) -> Captured:
    loaded = load_contract(contract)
    folder = capture_contract(loaded, "cpu:8", run_steps=RUN_STEPS if run else 0)
    capture = read_capture(folder)
    evidence = evidence_of(loaded, [capture], run)
    return Captured(folder, capture, tuple({name: getattr(each, name) for name in LEDGERS} for each in evidence))


def findings(contract: Path, against: Captured, run: bool) -> list[Finding]:
    """What `verify` finds, with the ledgers of the capture taken from the first time."""
    loaded = load_contract(contract)
    if loaded.contract is None:
        return static_findings(loaded)
    evidence = evidence_of(loaded, [against.capture], run)
    for each, ledgers in zip(evidence, against.ledgers, strict=True):
        vars(each).update(ledgers)
    return judge(loaded, [against.capture], run, evidence)


def roots(found: list[Finding]) -> list[Finding]:
    return [finding for finding in found if finding.is_root and finding.status == "new"]


def leaves(data: Any, key: Key = ()) -> Iterator[str]:
    """Every value of a contract that holds no others, as its key."""
    if isinstance(data, dict | list) and data:
        pairs = data.items() if isinstance(data, dict) else enumerate(data)
        for name, value in pairs:
            yield from leaves(value, (*key, name))
    else:
        yield format_key(key)


def write(source: Path, target: Path, change: Callable[[Any], None]) -> Path:
    """A copy of a contract with one change."""
    yaml = YAML()
    data = yaml.load(source.read_text())
    change(data)
    with target.open("w") as file:
        yaml.dump(data, file)
    return target


def broken(source: Path, target: Path, case: Broken) -> Path:
    """A copy of a contract with one leaf replaced."""

    def change(data: Any) -> None:
        *parents, last = parse_key(case.leaf)
        for part in parents:
            data = data[part]
        data[last] = case.value

    return write(source, target, change)


def cases(example: str, wanted: Callable[[Broken], bool]) -> list[Any]:
    return [
        pytest.param(example, case, id=f"{example}-{case.leaf}", marks=[pytest.mark.slow] if case.slow else [])
        for case in TABLES[example]
        if wanted(case)
    ]


def every(wanted: Callable[[Broken], bool]) -> list[Any]:
    return [case for example in EXAMPLES for case in cases(example, wanted)]


def names_the_leaf(found: list[Finding], case: Broken) -> None:
    """Exactly one root that fails the verdict, of the expected code, at the leaf's key or the nearest that means
    something, or with the leaf in its words."""
    found = [finding for finding in found if finding.severity == "error"]
    assert [(f.code, f.key) for f in found] == [(case.code, case.expected_key)], [
        f"{f.code} {f.key} at {f.location}: {f.message}" for f in found
    ]
    (finding,) = found
    name = next(part for part in reversed(parse_key(case.leaf)) if isinstance(part, str))
    near = case.leaf.startswith(case.expected_key) or case.expected_key.startswith(case.leaf)
    assert near or name in finding.message or case.builds


@pytest.fixture(scope="session")
def shared() -> Callable[[str], Captured]:
    """The capture of an untouched example, its step executed; made once."""
    made: dict[str, Captured] = {}

    def of(example: str) -> Captured:
        if example not in made:
            made[example] = captured(ROOT / "examples" / example / CONTRACT, run=True)
        return made[example]

    return of


@pytest.fixture(scope="session")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], tuple[Path, Captured]]:
    """The capture of an example whose graph holds what its contract forbids; made once for each fault."""
    made: dict[tuple[str, str], tuple[Path, Captured]] = {}

    def of(example: str, fault: str) -> tuple[Path, Captured]:
        if (example, fault) not in made:
            contract = project(tmp_path_factory.mktemp(fault), example, "small", GRAPH_EDITS[example, fault])
            made[example, fault] = contract, captured(contract, run=False)
        return made[example, fault]

    return of


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_leaf_has_a_value_that_breaks_it(example: str) -> None:
    listed = [case.leaf for case in TABLES[example]]
    assert sorted(listed) == sorted(leaves(load_contract(ROOT / "examples" / example / CONTRACT).document.data))


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_promises_hold(example: str, shared: Callable[[str], Captured]) -> None:
    report = verify(ROOT / "examples" / example / CONTRACT, capture_dir=shared(example).folder, run=True)
    assert report.exit_code == 0
    assert roots(list(report.findings)) == []


@pytest.mark.parametrize(("example", "case"), every(lambda case: not case.builds and not case.fault))
def test_a_broken_leaf_is_named(example: str, case: Broken, shared: Callable[[str], Captured], tmp_path: Path) -> None:
    contract = broken(ROOT / "examples" / example / CONTRACT, tmp_path / CONTRACT, case)
    names_the_leaf(roots(findings(contract, shared(example), run=True)), case)


@pytest.mark.parametrize("example", EXAMPLES)
def test_verify_says_the_same(example: str, shared: Callable[[str], Captured], tmp_path: Path) -> None:
    """The whole pipeline, once for each example, with a budget that is too small."""
    case = next(case for case in TABLES[example] if case.leaf == "memory.hbm")
    contract = broken(ROOT / "examples" / example / CONTRACT, tmp_path / CONTRACT, case)
    report = verify(contract, capture_dir=shared(example).folder, run=True)
    assert report.exit_code == 1
    names_the_leaf(roots(list(report.findings)), case)


@pytest.mark.parametrize(("example", "case"), every(lambda case: bool(case.fault)))
def test_a_limit_on_the_graph_is_named(
    example: str, case: Broken, faulty: Callable[[str, str], tuple[Path, Captured]]
) -> None:
    contract, against = faulty(example, case.fault)
    only = write(contract, contract.with_name("only.contract.yaml"), lambda data: _keep(data["graph"], case))
    names_the_leaf(roots(findings(only, against, run=False)), case)


def _keep(graph: Any, case: Broken) -> None:
    """One limit, at the value that the table gives (and the example has)."""
    name = case.leaf.split(".")[-1]
    assert graph[name] == case.value
    for other in [other for other in graph if other != name]:
        del graph[other]


@pytest.mark.parametrize(("example", "case"), every(lambda case: case.refused))
def test_what_cannot_be_built_is_refused_by_name(
    example: str, case: Broken, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 2: one paragraph with the value, at the leaf's place in the contract, or in the user's words where their
    own code refuses it."""
    contract = _rebuilt(example, case, tmp_path)
    monkeypatch.chdir(contract.parent)
    with pytest.raises(ContractLintError) as refusal:
        verify(contract)
    error = refusal.value
    assert str(case.value).rpartition(":")[2] in str(error)
    assert error.location is not None
    if error.location.path.endswith(CONTRACT):
        assert error.location.line == load_contract(contract).place(case.expected_key).line
    else:
        assert case.leaf.rpartition(".")[2] in str(error)


@pytest.mark.parametrize(("example", "case"), every(lambda case: case.builds and not case.refused))
def test_a_leaf_that_decides_what_is_built_is_named(
    example: str, case: Broken, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract = _rebuilt(example, case, tmp_path)
    monkeypatch.chdir(contract.parent)
    report = verify(contract, run=case.runs)
    assert report.exit_code == 1
    names_the_leaf(roots(list(report.findings)), case)


def _rebuilt(example: str, case: Broken, folder: Path) -> Path:
    target = folder / example
    ignored = shutil.ignore_patterns("__pycache__", ".contract-lint")
    shutil.copytree(ROOT / "examples" / example, target, ignore=ignored)
    return broken(target / CONTRACT, target / CONTRACT, case)
