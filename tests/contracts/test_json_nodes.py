"""JSON with places: it reads what the standard library reads, and says where the rest is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts import json_nodes
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.json_nodes import parse_json, read_json
from contract_lint.contracts.yaml_nodes import MAX_DEPTH, Source, plain
from hypothesis import given, settings
from hypothesis import strategies as st

SOURCE = Source(Path("a.json"), "a.json")
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=100, deadline=None)
@given(value=VALUES, indent=st.sampled_from([None, 1]), ascii_only=st.booleans())
def test_reads_what_json_writes(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert plain(parse_json(text, SOURCE)) == value


@settings(max_examples=300, deadline=None)
@given(text=st.text(alphabet='{}[],:"ab1-.e \n\\', max_size=12))
def test_refuses_what_json_refuses(text: str) -> None:
    try:
        wanted: Any = json.loads(text, object_pairs_hook=lambda pairs: [len(pairs), len(dict(pairs))])
    except ValueError:
        with pytest.raises(ContractLintError, match=r"^a\.json:\d+:\d+: "):
            parse_json(text, SOURCE)
        return
    if not _twice(wanted):
        assert plain(parse_json(text, SOURCE)) == json.loads(text)


def _twice(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and value[0] != value[1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1,\n "b": 2,\n "a": 3}', "a.json:3:2: key `a` is already given in line 1"),
        ("[1, 2", "a.json:1:6: the text ends too early"),
        ('{"a": [1 2]}', "a.json:1:10: expected `]` or `,`: what is open began in line 1"),
        ("[1],", "a.json:1:4: a second value starts here"),
        ("[01]", "a.json:1:2: a number begins with 0"),
        ("[" + "9" * 30 + "]", "has 30 digits"),
        ("[1e999]", "is too large"),
        ('["\\ud800"]', "half a surrogate"),
        ("[" * (MAX_DEPTH + 1), f"nested deeper than {MAX_DEPTH}"),
        ("{1: 2}", "a.json:1:2: expected a key in quotes"),
        ("NaN", "a.json:1:1: expected JSON, found `NaN`"),
    ],
)
def test_says_where(text: str, said: str) -> None:
    with pytest.raises(ContractLintError) as error:
        parse_json(text, SOURCE)
    assert said in str(error.value)


def test_values_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_nodes, "MAX_NODES", 9)
    assert plain(parse_json("[1,2,3,4,5,6,7,8]", SOURCE)) == [*range(1, 9)]
    with pytest.raises(ContractLintError, match="more than 9 values"):
        parse_json("[1,2,3,4,5,6,7,8,9]", SOURCE)


def test_values_know_their_place() -> None:
    node = parse_json('{\n  "a": [10,\n    20]}', SOURCE)
    assert isinstance(node.value, dict) and isinstance(node.value["a"].value, list)
    assert str(node.value["a"].location) == "a.json:2:3"
    assert str(node.value["a"].value[1].place) == "a.json:3:5"


def test_files_are_bounded(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('"' + "x" * 100 + '"')
    with pytest.raises(ContractLintError, match="has more than 99 bytes"):
        read_json(tmp_path / "a.json", most=99)
    (tmp_path / "b.json").write_bytes(b'"a\n\xff"')
    with pytest.raises(ContractLintError, match=r"b\.json:2: byte 0xff is not UTF-8"):
        read_json(tmp_path / "b.json")
    with pytest.raises(ContractLintError, match="cannot be read"):
        read_json(tmp_path)
