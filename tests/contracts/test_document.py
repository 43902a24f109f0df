"""Overlays and bindings: later keys win, every value keeps its origin, and what is missing is a finding."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_lint.contracts.document import Document, load_document
from contract_lint.contracts.errors import ContractLintError


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_yaml", ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def load(folder: Path, name: str = "top.yaml") -> Document:
    return load_document(folder / name, root=folder)


def problems(document: Document) -> list[tuple[str, str | None, str]]:
    return [(finding.code, finding.key, str(finding.location)) for finding in document.problems]


def test_later_keys_win_and_lists_replace(tmp_path: Path) -> None:
    write(
        tmp_path,
        base_yaml="a: {x: 1, y: 2}\nl: [1, 2, 3]\nz: 1\n",
        mid__mid_yaml="extends: [../base.yaml]\na: {y: 3}\n",
        top_yaml="extends: [base.yaml, mid/mid.yaml]\na:\n  w: 4\nl: [9]\nz: null\n",
    )
    document = load(tmp_path)
    assert document.data == {
        "a": {"x": 1, "y": 3, "w": 4},
        "l": [9],
        "z": None,
        "extends": ["base.yaml", "mid/mid.yaml"],
    }
    assert str(document.place("a.x")) == "base.yaml:1:5"
    assert str(document.place("a.y")) == "mid/mid.yaml:2:5"
    assert str(document.place("a.w")) == "top.yaml:3:3"
    assert str(document.place("l[0]")) == "top.yaml:4:5"
    assert str(document.place("a.absent.deep")) == "top.yaml:2:1"
    assert document.folder("a.y") == tmp_path / "mid"
    assert document.problems == [] and document.complete


def test_what_a_base_extends_is_not_inherited(tmp_path: Path) -> None:
    write(tmp_path, low_yaml="a: 1\n", base_yaml="extends: [low.yaml]\nb: 2\n", top_yaml="extends: [base.yaml]\n")
    assert load(tmp_path).data == {"a": 1, "b": 2, "extends": ["base.yaml"]}


def test_circles_and_missing_files(tmp_path: Path) -> None:
    write(
        tmp_path,
        top_yaml="extends:\n  - a.yaml\n  - none.yaml\n",
        a_yaml="extends: [top.yaml]\nv: 1\n",
    )
    document = load(tmp_path)
    assert problems(document) == [
        ("JIT006", "extends[0]", "a.yaml:1:11"),
        ("JIT006", "extends[1]", "top.yaml:3:5"),
    ]
    assert document.data["v"] == 1 and not document.complete


def test_a_file_that_extends_itself(tmp_path: Path) -> None:
    write(tmp_path, top_yaml="extends: [top.yaml]\na: 1\n")
    assert [finding.code for finding in load(tmp_path).problems] == ["JIT006"]


def test_only_a_contract_is_read_outside_of_the_project(tmp_path: Path) -> None:
    """By its name, before it is opened, links followed; a contract may lie above the folder that is worked in."""
    inside = tmp_path / "project"
    write(inside, top_yaml="extends: [../secret.yaml, linked.yaml, ../base.contract.yaml]\na: 1\n")
    (tmp_path / "secret.yaml").write_text("password: 1\n")
    (tmp_path / "base.contract.yaml").write_text("b: 2\n")
    (inside / "linked.yaml").symlink_to(tmp_path / "secret.yaml")
    document = load(inside)
    assert document.data == {"extends": document.data["extends"], "a": 1, "b": 2} and not document.complete
    assert problems(document) == [
        ("JIT006", "extends[0]", "top.yaml:1:11"),
        ("JIT006", "extends[1]", "top.yaml:1:27"),
    ]
    assert document.problems[0].message.startswith("`../secret.yaml` is not read: ")


def test_a_diamond_is_read_once(tmp_path: Path) -> None:
    levels = 30
    write(tmp_path, n0_yaml="v: 1\n")
    for level in range(1, levels):
        write(tmp_path, **{f"n{level}_yaml": f"extends: [n{level - 1}.yaml, n{level - 1}.yaml]\n"})
    document = load(tmp_path, f"n{levels - 1}.yaml")
    assert document.data["v"] == 1 and document.problems == []


def test_a_chain_without_end_is_cut(tmp_path: Path) -> None:
    for level in range(200):
        write(tmp_path, **{f"n{level}_yaml": f"extends: [n{level + 1}.yaml]\n"})
    document = load(tmp_path, "n0.yaml")
    assert [finding.code for finding in document.problems] == ["JIT006"]
    assert "more than" in document.problems[0].message


def test_extends_that_is_no_list(tmp_path: Path) -> None:
    write(tmp_path, base_yaml="extends: {a: 1}\n", top_yaml="extends: [base.yaml, 3]\n")
    assert problems(load(tmp_path)) == [
        ("JIT006", "extends", "base.yaml:1:1"),
        ("JIT006", "extends[1]", "top.yaml:1:22"),
    ]


def test_bindings_take_value_and_origin_of_the_configuration(tmp_path: Path) -> None:
    write(
        tmp_path,
        conf__c_yaml="model:\n  layers: 4\n  'a.b': [7, {k: 8}]\n",
        base_yaml="config: {c: conf/c.yaml}\nm:\n  n: {from: c#model.layers}\n",
        top_yaml='extends: [base.yaml]\nm: {o: {from: "c#model.a.b.1.k"}, p: [{from: c#model}]}\n',
    )
    document = load(tmp_path)
    assert document.data["m"] == {"n": 4, "o": 8, "p": [{"layers": 4, "a.b": [7, {"k": 8}]}]}
    assert str(document.place("m.n")) == "conf/c.yaml:2:3"
    assert document.bound_by("m.n") == ("bound by c#model.layers at base.yaml:3:3",)
    assert document.problems == []


@pytest.mark.parametrize(
    ("reference", "words", "help_line"),
    [
        ("c#model.layer", "has no key `model.layer`", "did you mean `layers`?"),
        ("d#model.layers", "`d` is not in `config`", "known: c"),
        ("c", "expected `alias#key", None),
        ("c#model.tagged", "has a tag", None),
    ],
)
def test_bindings_without_a_value(tmp_path: Path, reference: str, words: str, help_line: str | None) -> None:
    write(
        tmp_path,
        c_yaml="model:\n  layers: 4\n  tagged: !env HOME\n",
        top_yaml=f'config: {{c: c.yaml}}\nm:\n  n: {{from: "{reference}"}}\n',
    )
    (finding,) = load(tmp_path).problems
    assert (finding.code, finding.key, str(finding.location)) == ("JIT008", "m.n", "top.yaml:3:3")
    assert words in finding.message and finding.help == help_line


def test_unreadable_configuration_is_told_once_at_its_name(tmp_path: Path) -> None:
    write(tmp_path, c_yaml="a: [\n", top_yaml="config:\n  c: c.yaml\n  d: no.yaml\nx: {from: c#a}\ny: {from: d#a}\n")
    assert problems(load(tmp_path)) == [("JIT007", "config.c", "top.yaml:2:3"), ("JIT007", "config.d", "top.yaml:3:3")]


def test_bindings_cannot_multiply_a_configuration(tmp_path: Path) -> None:
    write(
        tmp_path,
        c_yaml="big: [" + "1, " * 5000 + "1]\n",
        top_yaml="config: {c: c.yaml}\nx:\n" + "".join(f"  k{i}: {{from: c#big}}\n" for i in range(2000)),
    )
    document = load(tmp_path)
    assert sum(len(value) for value in document.data["x"].values()) < 100_000
    assert {finding.code for finding in document.problems} == {"JIT008"}


@pytest.mark.parametrize("text", ["", "- a\n", "3\n", "# nothing\n"])
def test_text_that_is_no_mapping(tmp_path: Path, text: str) -> None:
    write(tmp_path, top_yaml=text)
    document = load(tmp_path)
    assert [finding.code for finding in document.problems] == ["JIT001"] and document.data == {}


def test_a_file_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(ContractLintError, match=r"none\.yaml does not exist"):
        load(tmp_path, "none.yaml")
    with pytest.raises(ContractLintError, match="is a folder"):
        load_document(tmp_path, root=tmp_path.parent)
