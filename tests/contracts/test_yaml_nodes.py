"""Reading YAML: values by the core schema, places to the column, and hostile text refused in linear time."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_lint.contracts.yaml_nodes import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_LINE,
    Source,
    Unreadable,
    decode,
    plain,
    read_yaml,
    resolve_scalar,
)
from hypothesis import given, settings
from hypothesis import strategies as st

SOURCE = Source(Path("x.yaml"), "x.yaml")


def tree(text: str):
    node, findings = read_yaml(text, SOURCE)
    assert node is not None and findings == []
    return node


def refusal(text: str) -> Unreadable:
    with pytest.raises(Unreadable) as caught:
        read_yaml(text, SOURCE)
    return caught.value


def test_values() -> None:
    numbers = "a: [1, -2, 0x1F, 0o17, 1_000, 1.5, .5, 1e3, true, null, ~, yes, '1', \"x\"]\n"
    assert plain(tree(numbers + "b: 2027-03-01\nc: |\n  two\n  lines\n")) == {
        "a": [1, -2, 31, 15, 1000, 1.5, 0.5, 1000.0, True, None, None, "yes", "1", "x"],
        "b": "2027-03-01",
        "c": "two\nlines\n",
    }


@pytest.mark.parametrize("text", ["", "~", "null", "Null", "NULL"])
def test_null_spellings(text: str) -> None:
    assert resolve_scalar(text) is None


def test_places_are_those_of_the_keys() -> None:
    node = tree("a:\n  b: 1\n  cc:  [x, {d: 2}]\n")
    place = node.value["a"].value["cc"].location
    assert (place.line, place.column, place.end_line, place.end_column) == (3, 3, 3, 5)
    item = node.value["a"].value["cc"].value[1]
    assert (item.location.line, item.location.column) == (3, 12)
    assert (item.value["d"].location.line, item.value["d"].location.column) == (3, 13)
    assert (item.value["d"].place.line, item.value["d"].place.column) == (3, 16)


def test_merge_keys_keep_their_origin() -> None:
    node = tree("base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\n")
    assert plain(node)["use"] == {"x": 1, "y": 3}
    assert node.value["use"].value["x"].location.line == 1


def test_a_quoted_merge_key_is_a_plain_name() -> None:
    assert plain(tree('"<<": 1\n')) == {"<<": 1}


def test_a_repeated_key_is_a_finding_and_the_first_value_stays() -> None:
    node, findings = read_yaml("s:\n  - a: 1\n    a: 2\n", SOURCE)
    assert node is not None and plain(node) == {"s": [{"a": 1}]}
    assert [(f.code, f.key, f.location.line, f.location.column) for f in findings if f.location] == [
        ("JIT005", "s[0].a", 3, 5)
    ]


BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 60)
)
LADDER = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 90))


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        (BOMB, 5, None, "aliases counted in full"),
        (LADDER, 50, None, "nested deeper"),
        ("a: " + "[" * 100_000, 1, MAX_DEPTH + 3, "nested deeper"),
        ("- " * 500 + "a", 1, None, "nested deeper"),
        ("? [a]\n: 1\n", 1, 3, "a key must be a plain name"),
        ("a: &a [*a]\n", 1, 8, "inside its own anchor"),
        ("a: *b\n", 1, 4, "has no anchor"),
        ("a: !!python/object/apply:os.system [x]\n", 1, 4, "is not allowed"),
        ("a: !!int '3'\n", 1, 4, "is not allowed"),
        ("a: 1\n---\nb: 2\n", 2, 1, "a second YAML document"),
        ("a: 1\nb: \x07\n", 2, 4, "control character"),
        ("a: " + "9" * 5000 + "\n", 1, 4, "5,000 digits"),
        ("a: [1, 2\nb: 3\n", 2, 2, "not YAML"),
        ('a: "\\ud800"\n', 1, 4, "surrogate"),
        ("<<: 1\n", 1, 1, "merges a mapping"),
    ],
)
def test_hostile_text_is_refused_with_its_place(text: str, line: int, column: int | None, words: str) -> None:
    finding = refusal(text).finding
    assert finding.code == "JIT001" and words in finding.message
    assert finding.location is not None and finding.location.line == line
    assert column is None or finding.location.column == column


def test_a_number_that_overflows_inside_the_scanner_is_refused() -> None:
    assert "not YAML" in refusal('a: "\\UFFFFFFFF"\n').finding.message


def test_tags_of_a_projects_own_configuration_are_noted() -> None:
    node, _ = read_yaml("a: !include x.yml\n", SOURCE, strict=False)
    assert node is not None and node.value["a"].tag == "!include"


@pytest.mark.parametrize(
    ("data", "line", "column", "words"),
    [
        (b"a: 1\nb\xc3\xa9: \xff\n", 2, 5, "0xff is not UTF-8"),
        (b"a" * (MAX_LINE + 1), 1, 1, "a line has more than"),
        (b"a: 1\n" * (MAX_BYTES // 5 + 1), None, None, "the file has more than"),
    ],
)
def test_bytes_that_are_no_contract(data: bytes, line: int | None, column: int | None, words: str) -> None:
    with pytest.raises(Unreadable) as caught:
        decode(data, SOURCE)
    place = caught.value.finding.location
    assert place is not None and (place.line, place.column) == (line, column) and words in caught.value.finding.message


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert decode(b"\xef\xbb\xbfa: 1\n", SOURCE) == "a: 1\n"


@given(st.text(alphabet=st.sampled_from("ab1:-?[]{},&*!|>'\"%@`#\n\t \\~<=.xU"), max_size=60))
@settings(max_examples=400, deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        node, _ = read_yaml(text, SOURCE)
    except Unreadable as error:
        assert error.finding.message
    else:
        assert node is None or node.size >= 1
