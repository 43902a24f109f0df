"""Malformed contracts as people write them: each message says what is wrong in the writer's words, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_lint.contracts.load import load_contract

HEAD = 'contract: 1\nname: x\nstep: { train: { entry: "m:build" } }\ntargets: [cpu:8]\n'

CASES: dict[str, tuple[str, tuple[int, int], str, str]] = {
    # text, (line, column), what the message says, what the help says
    "a tab": (HEAD + "mesh:\n\taxes: {}\n", (6, 1), "a tab stands where only blanks are allowed", "indent with blanks"),
    "an at sign": (HEAD + "batch: { size: @3 }\n", (5, 16), "the character @ cannot begin a value", "quotes"),
    "a star": (HEAD + "mesh: { axes: * }\n", (5, 15), "need a name right behind them", "quotes"),
    "an alias of nothing": (HEAD + "mesh: *m\n", (5, 7), "alias `*m` has no anchor before it", ""),
    "no colon": (HEAD + "mesh\n  axes: {}\n", (5, 1), "neither `key: value` nor an item of a list", "blank behind"),
    "a dash without a blank": (
        HEAD + "config:\n-a\n",
        (6, 1),
        "neither `key: value` nor an item",
        "dash of a list item",
    ),
    "no blank behind the colon": (HEAD + "mesh:{axes: 3}\n", (5, 1), "no key `mesh:{axes`", "`mesh: ...`"),
    "an unbreakable blank": (HEAD + "batch:\u00a0{ size: 3 }\n", (5, 1), "no key `batch:", "U+00A0"),
    "a mark inside the text": (HEAD + "\ufeffmesh: {}\n", (5, 1), "no key `", "U+FEFF"),
    "two colons": ("contract: 1\nname: a: b\n", (2, 8), "a `:` stands where no key can be", "quotes"),
    "a key too far out": (HEAD + "mesh:\n  axes: {}\n dcn: {}\n", (7, 2), "not indented like those", "alike"),
    "a key too far in": (HEAD + "batch:\n  size: 3\n    axes: a\n", (7, 9), "stands where no key can be", "indent"),
    "an open brace": (
        HEAD + "mesh: { axes: {}\nname: y\n",
        (6, 1),
        "the `{` of line 5 is not closed",
        "close the brace",
    ),
    "an open bracket": (HEAD + "x: [a, b\n", (6, 1), "the `[` of line 5 is not closed", "close the bracket"),
    "an open quote": (HEAD + 'mesh: "abc\n', (5, 7), "the quote that opens here is not closed", "close it"),
    "a variable": (HEAD + "batch: { size: ${N} }\n", (5, 17), "the `{` of line 5 is not closed", "in quotes"),
    "a template": (HEAD + "batch: { size: {{ n }} }\n", (5, 17), "a key must be a plain name", "not filled in"),
    "an odd escape": (HEAD + 'mesh: "\\q"\n', (5, 9), "`\\q` means nothing in double quotes", "single quotes"),
    "a short escape": (HEAD + 'mesh: "\\xZZ"\n', (5, 10), "this escape needs 2 hexadecimal digits", ""),
    "text behind a bar": (HEAD + "mesh: |3x\n  a\n", (5, 9), "only a line break may follow", "quotes"),
    "another version": ("%YAML 9.9\n---\n" + HEAD, (1, 1), "asks for a version other than 1", "leave that line out"),
    "a tag": (HEAD + "mesh: !!python/object:os.system {}\n", (5, 7), "tag `!!python/object:os.system` is not", "plain"),
    "a huge number": (HEAD + f"batch: {{ size: {10**28} }}\n", (5, 16), "does not fit into 64 bits", ""),
    "thousands of digits": (HEAD + f"batch: {{ size: {'9' * 5000} }}\n", (5, 16), "has 5,000 digits", ""),
    "nothing": ("", (1, 1), "the file is empty", "`contract: 1`"),
    "comments only": ("# to do\n", (1, 1), "the file is empty", "contract-lint init"),
    "a list": ("- contract: 1\n", (1, 1), "a mapping of sections, found a list", "at the left margin"),
    "a word": ("hello\n", (1, 1), "a mapping of sections, found a single value", "`contract: 1`"),
    "a NUL": ("contract: 1\nname: a\0b\n", (2, 8), "the control character U+0000 is not allowed", "delete it"),
    "a key twice": (HEAD + "name: y\n", (5, 1), "key `name` is already given in line 2", "keep one"),
    "an empty key": (HEAD + '"": 3\n', (5, 1), 'a contract has no key `""`', "known: "),
    "a quoted number": (
        HEAD + 'batch: { size: "16" }\n',
        (5, 10),
        'whole number, found the text "16"',
        "leave out the quotes",
    ),
    "a quoted version": (HEAD.replace("1", '"1"', 1), (1, 1), 'must be 1, found the text "1"', "leave out the quotes"),
    "a broken number": (HEAD + "batch: { size: 16.0 }\n", (5, 10), "must be a whole number, found 16.0", ""),
    "a list for a mapping": (HEAD + "mesh: [data]\n", (5, 1), "`mesh` must be a mapping, found the list [data]", ""),
    "a number for a target": (HEAD.replace("cpu:8", "8"), (4, 11), "must be a target such as cpu:8", ""),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_of_a_malformed_contract(name: str, tmp_path: Path) -> None:
    text, place, message, help = CASES[name]
    (tmp_path / "a.contract.yaml").write_bytes(text.encode())
    (finding,) = load_contract(tmp_path / "a.contract.yaml", tmp_path).findings
    assert finding.location is not None and (finding.location.line, finding.location.column) == place
    assert message in finding.message and "<" not in finding.message
    assert help in (finding.help or "")


@pytest.mark.parametrize(
    "text", ["\ufeff" + HEAD, HEAD.replace("\n", "\r\n"), HEAD.replace("\n", "\r"), HEAD + "batch:\n"]
)
def test_what_is_well_formed_after_all(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.contract.yaml").write_bytes(text.encode())
    loaded = load_contract(tmp_path / "a.contract.yaml", tmp_path)
    assert loaded.contract is not None and loaded.findings == []


def test_a_configuration_of_the_projects_own_may_hold_larger_numbers(tmp_path: Path) -> None:
    (tmp_path / "base.yml").write_text(f"seed: {10**28}\nlayers: 16\n")
    text = HEAD + "config: { base: base.yml }\nbatch: { size: { from: base#layers } }\n"
    (tmp_path / "a.contract.yaml").write_text(text)
    loaded = load_contract(tmp_path / "a.contract.yaml", tmp_path)
    assert loaded.findings == [] and loaded.contract is not None and loaded.contract.batch is not None
    assert loaded.contract.batch.size == 16
