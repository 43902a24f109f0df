"""The proving ground itself: wheels unpack nowhere else, mutants are what they say, the table is well-formed."""

from __future__ import annotations

import ast
import sys
import zipfile
from pathlib import Path

import pytest
from contract_lint.linters.registry import rules

sys.path.insert(0, str(Path(__file__).parent))

from fetch import packages, unpack
from lint import Row, rows
from mutations.gather import choose, mutants
from mutations.mutant import Edit, Mutant, write
from mutations.operator import OPERATORS
from run import report
from second import SHOWN, drawn, entered
from verdicts import Verdict, read
from verdicts import write as write_table

TRAINER = '''"""A small trainer."""

import functools

import jax
import jax.numpy as jnp
import optax


@functools.partial(jax.jit, static_argnames=("depth",), donate_argnums=(0,))
def train_step(state, batch, depth=2):
    hidden = jnp.tanh(batch @ state)
    norm = jnp.linalg.norm(hidden)
    return state + hidden / (norm + 1e-6)


def train(state, batches, key):
    first, second = jax.random.split(key)
    a = jax.random.normal(first, (2,))
    b = jax.random.normal(second, (2,))
    for batch in batches:
        state = train_step(state, batch, depth=3)
    print(a, b)
    return state
'''


@pytest.fixture
def trainer(tmp_path: Path) -> Path:
    (tmp_path / "trainer.py").write_text(TRAINER)
    return tmp_path


def test_packages_are_pinned_to_one_wheel_each() -> None:
    there = packages()
    assert len(there) >= 25
    assert all(package.pin.count("--hash=sha256:") == 1 for package in there)
    assert len({package.name for package in there}) == len(there)


@pytest.mark.parametrize("name", ["../out.py", "/out.py", "a/../../out.py", "a\\..\\out.py"])
def test_a_wheel_stays_in_its_folder(tmp_path: Path, name: str) -> None:
    wheel = tmp_path / "bad.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(name, "x = 1")
    with pytest.raises(ValueError, match="does not stay in its folder"):
        unpack(wheel, tmp_path / "there" / "bad")
    assert not list(tmp_path.rglob("out.py"))


def test_a_wheel_brings_no_link_and_only_sources(tmp_path: Path) -> None:
    wheel = tmp_path / "good.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("pkg/a.py", "x = 1")
        archive.writestr("pkg/b.so", "binary")
        metadata = "Name: pkg\nRequires-Dist: jax>=0.4,<0.5\nRequires-Dist: flax; extra == 'nn'\n\nText\n"
        archive.writestr("pkg-1.dist-info/METADATA", metadata)
    unpack(wheel, tmp_path / "good")
    assert sorted(path.name for path in (tmp_path / "good").rglob("*.*")) == ["a.py", "requirements.txt"]
    assert (tmp_path / "good" / "requirements.txt").read_text() == "jax>=0.4,<0.5\n"
    link = zipfile.ZipInfo("pkg/link.py")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(ValueError, match="does not stay"):
        unpack(wheel, tmp_path / "again")


def test_every_operator_is_for_a_rule_of_source() -> None:
    codes = {rule.code for rule in rules("source")}
    assert len(OPERATORS) == len({(each.rule, each.name) for each in OPERATORS}) > 90
    assert {each.rule for each in OPERATORS} <= codes


def test_mutants_parse_and_mark_the_lines_of_the_fault(trainer: Path) -> None:
    found = list(mutants("trainer", trainer))
    assert {mutant.rule for mutant in found} >= {"JIT103", "JIT106", "JIT109", "NUM102", "SEM101", "MEM102"}
    data = (trainer / "trainer.py").read_bytes()
    for mutant in found:
        written = write(mutant, data)
        assert written is not None, mutant
        assert written.data != data
        assert written.lines, mutant
        ast.parse(written.data)


def test_the_marked_line_is_that_of_the_new_text() -> None:
    data = b"import a\n\nx = f(\n    1,\n)\n"
    mutant = Mutant("p", "m.py", "JIT103", "op", (Edit(0, 0, "import b\n"), Edit(14, 15, "g", True)))
    written = write(mutant, data)
    assert written is not None
    assert written.data == b"import b\nimport a\n\nx = g(\n    1,\n)\n"
    assert written.lines == {4, 5, 6}


def test_overlapping_or_broken_edits_are_no_mutant() -> None:
    assert write(Mutant("p", "m.py", "R", "o", (Edit(0, 3, "a"), Edit(2, 4, "b"))), b"x = 1\n") is None
    assert write(Mutant("p", "m.py", "R", "o", (Edit(0, 1, "("),)), b"x = 1\n") is None


def test_one_seed_is_one_choice(trainer: Path) -> None:
    found = list(mutants("trainer", trainer))
    assert choose(found, 2, 7) == choose(found, 2, 7)
    counts = [sum(each.rule == rule for each in choose(found, 2, 7)) for rule in {one.rule for one in found}]
    assert max(counts) == 2


def finding(line: int) -> dict[str, object]:
    facts = {"code": "JIT103", "confidence": "certain", "severity": "error", "message": "m", "fingerprint": "f"}
    return {"path": "m.py", "line": line, "column": 1, **facts}


def judged(row: Row, verdict: bool, second: bool | None = None) -> Verdict:
    return Verdict(
        package=row.package,
        path=row.path,
        line=row.line,
        code=row.code,
        text=row.text,
        nth=row.nth,
        verdict=verdict,
        reason="because",
        second=second,
    )


def test_lines_that_read_alike_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("if x:\n    pass\nif x:\n    pass\n")
    found = rows([finding(3), finding(1)], tmp_path, "p")
    assert [(row.line, row.text, row.nth) for row in found] == [(1, "if x:", 0), (3, "if x:", 1)]


def test_report_holds_floors_and_wants_every_finding_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.py").write_text("if x:\n    pass\nif y:\n    pass\n")
    found = rows([finding(1), finding(3)], tmp_path, "p")
    assert report(found, [judged(row, True) for row in found]) == 0
    assert report(found, [judged(found[0], True)]) == 1
    assert report(found, [judged(found[0], True), judged(found[1], False)]) == 1
    assert report(found, [judged(row, True, second=False) for row in found]) == 1
    assert report(found[:1], [judged(row, True) for row in found], show_gone=True) == 0
    assert "gone: p/m.py: JIT103" in capsys.readouterr().out


def test_the_table_reads_back_sorted(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("if x:\n    pass\nif y:\n    pass\n")
    first, second = (judged(row, True) for row in rows([finding(1), finding(3)], tmp_path, "p"))
    write_table([second, first], tmp_path / "table.jsonl")
    assert read(tmp_path / "table.jsonl") == [first, second]


def test_second_readings_are_entered_beside_the_first(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("if x:\n    pass\nif y:\n    pass\n")
    table = [judged(row, True) for row in rows([finding(1), finding(3)], tmp_path, "p")]
    chosen = drawn(table, 1, 0)
    assert chosen == drawn(table, 1, 0) and len(drawn(table, 9, 0)) == 2
    reading = {name: getattr(chosen[0], name) for name in SHOWN} | {"second": False}
    assert sorted(str(verdict.second) for verdict in entered(table, [reading])) == ["False", "None"]
    with pytest.raises(ValueError, match="neither true nor false"):
        entered(table, [reading | {"second": None}])
    with pytest.raises(ValueError, match="no judged finding"):
        entered(table, [reading | {"line": 99}])


def test_every_verdict_has_a_reason_and_a_package() -> None:
    known = {package.name for package in packages()}
    table = read()
    assert len({verdict.key for verdict in table}) == len(table)
    assert [verdict for verdict in table if verdict.package not in known or not verdict.reason] == []
