"""Loading: every schema fault with key, place, expectation and suggestion, in one run."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.load import LoadedContract, load_contract

HEAD = "contract: 1\nname: n\nstep:\n  train: { entry: m.n:build }\n"


def load(folder: Path, text: str) -> LoadedContract:
    path = folder / "t.contract.yaml"
    path.write_text(text)
    return load_contract(path, root=folder, today=date(2026, 1, 1))


def told(folder: Path, text: str) -> list[tuple[str, str | None, str, str | None]]:
    findings = load(folder, text).findings
    assert all(finding.location for finding in findings)
    return [(f.code, f.key, f"{f.location.line}:{f.location.column}" if f.location else "", f.help) for f in findings]


def test_the_smallest_contract(tmp_path: Path) -> None:
    loaded = load(tmp_path, HEAD)
    assert loaded.findings == [] and loaded.contract is not None
    assert loaded.contract.step["train"].entry == "m.n:build" and loaded.path == "t.contract.yaml"
    assert loaded.today == date(2026, 1, 1) and loaded.readable() is loaded


@pytest.mark.parametrize(
    ("line", "code", "key", "column", "help_line"),
    [
        ("bach: {}", "JIT002", "bach", 1, "did you mean `batch`?"),
        (
            "batch: { size: 1, microbatches: 2 }",
            "JIT002",
            "batch.microbatches",
            19,
            "`microbatches` belongs to `accumulation`",
        ),
        ("batch: { size: 0 }", "JIT003", "batch.size", 10, None),
        ("batch: { size: 1.0 }", "JIT003", "batch.size", 10, None),
        ("batch: { size: true }", "JIT003", "batch.size", 10, None),
        ("batch: { size: '8' }", "JIT003", "batch.size", 10, None),
        ("batch: { size: 8, axes: [1] }", "JIT003", "batch.axes[0]", 26, None),
        ("batch: { size: 8, axes: { a: 1 } }", "JIT003", "batch.axes", 19, None),
        ("batch: 3", "JIT003", "batch", 1, None),
        ("batch: {}", "JIT004", "batch.size", 1, "add `size`"),
        ("model: { layers: 2 }", "JIT004", "model.kind", 1, "add `kind`"),
        ("model: { kind: dens }", "JIT003", "model.kind", 10, "did you mean `dense`?"),
        ("model: { kind: listed, parameters: { w: [1, x] } }", "JIT003", "model.parameters.w[1]", 45, None),
        ("model: { kind: listed, parameters: {}, heads: 2 }", "JIT002", "model.heads", 40, None),
        ("mesh: { axes: { data: -1 } }", "JIT003", "mesh.axes.data", 17, None),
        ("memory: { hbm: 16 gib }", "JIT003", "memory.hbm", 11, None),
        ("memory: { hbm: 1.5 }", "JIT003", "memory.hbm", 11, None),
        ("collectives: { expect: open }", "JIT003", "collectives.expect", 16, None),
        (
            "collectives: { expect: [{ kind: all-gathr, axes: a, count: 1 }] }",
            "JIT003",
            "collectives.expect[0].kind",
            27,
            "did you mean `all-gather`?",
        ),
        ("targets: [{ mesh: { axes: {} } }]", "JIT004", "targets[0].target", 11, "add `target`"),
        ("targets: [3]", "JIT003", "targets[0]", 11, None),
        ("deviations: [{ rule: A, reason: '' }]", "JIT003", "deviations[0].reason", 25, None),
        ("deviations: [{ rule: A, reason: b, until: 2026-02-30 }]", "JIT003", "deviations[0].until", 36, None),
        ("deviations: [{ rule: A, reason: b, until: 5 }]", "JIT003", "deviations[0].until", 36, None),
        ("optimizer: { placement: { a: b } }", "JIT003", "optimizer.placement", 14, None),
        ("parameters: { rules: [{ match: '(?i)a', axes: [] }] }", "JIT003", "parameters.rules[0].match", 25, None),
        ("graph: { repeated_blocks_max: 0 }", "JIT003", "graph.repeated_blocks_max", 10, None),
    ],
)
def test_one_fault(tmp_path: Path, line: str, code: str, key: str, column: int, help_line: str | None) -> None:
    ((found_code, found_key, place, found_help),) = told(tmp_path, HEAD + line + "\n")
    assert (found_code, found_key, place) == (code, key, f"5:{column}")
    if help_line is not None:
        assert found_help == help_line


def test_all_faults_in_one_run_and_in_order(tmp_path: Path) -> None:
    text = "contract: 2\nname: 3\nstp: {}\nbatch: { size: x, axis: a }\nmemory: { hbm: 1Gb }\n"
    assert [(code, key, place) for code, key, place, _ in told(tmp_path, text)] == [
        ("JIT003", "contract", "1:1"),
        ("JIT004", "step", "1:1"),
        ("JIT003", "name", "2:1"),
        ("JIT002", "stp", "3:1"),
        ("JIT003", "batch.size", "4:10"),
        ("JIT002", "batch.axis", "4:19"),
        ("JIT003", "memory.hbm", "5:11"),
    ]


def test_a_misspelled_required_key_is_one_cause(tmp_path: Path) -> None:
    findings = load(tmp_path, HEAD.replace("name:", "nam:")).findings
    roots = [finding for finding in findings if finding.is_root]
    assert [finding.key for finding in roots] == ["nam"]
    assert [finding.caused_by for finding in findings if not finding.is_root] == [roots[0].fingerprint]


def test_a_fault_in_a_base_points_into_the_base(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("batch:\n  size: none\n")
    (finding,) = load(tmp_path, HEAD + "extends: [b.yaml]\n").findings
    assert str(finding.location) == "b.yaml:2:3" and finding.found == "none"


def test_a_bound_value_that_does_not_fit_points_at_both_ends(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("bs: many\n")
    (finding,) = load(tmp_path, HEAD + "config: { c: c.yaml }\nbatch: { size: { from: c#bs } }\n").findings
    assert str(finding.location) == "c.yaml:1:1"
    assert finding.evidence == ("bound by c#bs at t.contract.yaml:6:10",)


def test_a_binding_without_a_value_gives_no_second_finding(tmp_path: Path) -> None:
    findings = load(tmp_path, HEAD + "batch: { size: { from: c#bs } }\n").findings
    assert [finding.code for finding in findings] == ["JIT008"]


@pytest.mark.parametrize("extends", ["[gone.yaml]", "base.yaml", "[t.contract.yaml]", "[3]"])
def test_absent_keys_of_a_missing_base_are_not_told(tmp_path: Path, extends: str) -> None:
    (tmp_path / "base.yaml").write_text("name: a\n")
    findings = load(tmp_path, f"contract: 1\nextends: {extends}\nbatch: {{ axis: a }}\n").findings
    assert [finding.code for finding in findings] == ["JIT006", "JIT002"]
    assert findings[0].help == ("write a list: `extends: [base.yaml]`" if extends == "base.yaml" else None)


def test_absent_keys_of_a_base_that_is_there_are(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("name: a\n")
    findings = load(tmp_path, "contract: 1\nextends: [base.yaml]\n").findings
    assert [(finding.code, finding.subject) for finding in findings] == [("JIT004", "step")]


def test_unreadable_text_is_a_finding_or_an_error(tmp_path: Path) -> None:
    loaded = load(tmp_path, "a: [\n")
    assert loaded.contract is None and [finding.code for finding in loaded.findings] == ["JIT001"]
    with pytest.raises(ContractLintError) as caught:
        loaded.readable()
    assert caught.value.location is not None and caught.value.location.line == 2


def test_the_digest_is_of_the_meaning(tmp_path: Path) -> None:
    plain = load(tmp_path, HEAD).digest
    assert (
        load(tmp_path, "# a comment\n" + HEAD.replace("{ entry: m.n:build }", "\n    entry: 'm.n:build'")).digest
        == plain
    )
    assert load(tmp_path, HEAD.replace("name: n", "name: o")).digest != plain


def test_sizes_are_exact(tmp_path: Path) -> None:
    loaded = load(tmp_path, HEAD + "memory: { hbm: 0.1GiB, classes: { output: 16777217.5kB } }\n")
    assert loaded.contract is not None and loaded.contract.memory is not None
    assert loaded.contract.memory.hbm == 107374182
    assert loaded.contract.memory.classes["output"] == 16777217500


def test_a_base_may_leave_out_what_others_give(tmp_path: Path) -> None:
    path = tmp_path / "base.contract.yaml"
    path.write_text("contract: 1\ncollectives: { expect: closed_form }\nbatch: { axis: a }\n")
    loaded = load_contract(path, root=tmp_path, may_be_base=True)
    assert loaded.contract is None and [finding.code for finding in loaded.findings] == ["JIT002"]
    assert {finding.code for finding in load_contract(path, root=tmp_path).findings} == {"JIT002", "JIT004"}


def test_a_key_that_is_given_three_times_is_two_mistakes(tmp_path: Path) -> None:
    path = tmp_path / "t.contract.yaml"
    path.write_text("contract: 1\nname: one\nname: two\nname: three\nstep: { train: { entry: 'm:build' } }\n")
    repeated = [finding for finding in load_contract(path).findings if finding.code == "JIT005"]
    assert [finding.location.line for finding in repeated if finding.location] == [3, 4]
    assert len({finding.fingerprint for finding in repeated}) == 2
