"""A record as a text: canonical, named by its digest, read back as it was; and what is none."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts import record_file
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.json_nodes import parse_json
from contract_lint.contracts.record import FileDigest, canonical, digest_in, flat, summarised
from contract_lint.contracts.record_file import parse_record
from contract_lint.contracts.yaml_nodes import Source
from contract_lint.linters.record.evidence import RecordEvidence
from contract_lint.linters.record.judge import judge_record
from hypothesis import given
from hypothesis import strategies as st

from ..linters.record.small_record import small


def test_the_name_carries_the_digest_of_the_text_and_the_text_reads_back() -> None:
    record = small(name="a b/c: ü")
    text = record.as_text().encode()
    assert digest_in(record.file_name) == hashlib.sha256(text).hexdigest()
    assert record.file_name.startswith("a-b-c.") and "/" not in record.file_name
    assert parse_record(text, "r") == record
    assert json.loads(text)["_type"] == "https://in-toto.io/Statement/v1"


def _changed(**changes: Any) -> bytes:
    return (canonical(small().statement() | changes) + "\n").encode()


def _predicate(**changes: Any) -> bytes:
    statement = small().statement()
    return (canonical(statement | {"predicate": statement["predicate"] | changes}) + "\n").encode()


def _named(*paths: str) -> bytes:
    return small(files=[FileDigest(path=path, sha256="0" * 64, bytes=0) for path in paths]).as_text().encode()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "the text ends too early"),
        (b"[]\n", "is no in-toto Statement"),
        ("{'ü'}".encode(), "is not ASCII"),
        (_changed(predicateType="https://slsa.dev/provenance/v1"), "a statement of another kind"),
        (
            _changed(predicateType="urn:contract-lint:experiment-record:2"),
            "is of a later version of contract-lint: schema 2, known here is 1",
        ),
        (
            _changed(predicateType="urn:contract-lint:experiment-record:x"),
            "is of no version of contract-lint: schema x",
        ),
        (_predicate(schema_version=99), "is of a later version of contract-lint: schema 99, known here is 1"),
        (_predicate(schema_version=0), "is of no version of contract-lint: schema 0"),
        (_predicate(schema_version=None), "is of no version of contract-lint: schema None"),
        (_changed(more=1), "unknown key `more`"),
        (_changed(subject={}), "`subject` is no list"),
        (_changed(subject=[{"name": "a"}]), "`subject[0]` is not a name"),
        (_changed(predicate=[]), "`predicate` is no mapping"),
        (_predicate(mood="good"), "the key `predicate.mood` is not known"),
        (
            _predicate(created="yesterday"),
            "`predicate.created` must be a time such as 2027-03-01T12:00:00Z, found yesterday",
        ),
        (_predicate(metrics={"loss": {"count": -1}}), "`predicate.metrics.loss.count` must be at least 0, found -1"),
        (
            _predicate(contract=small().statement()["predicate"]["contract"] | {"digest": "A" * 64}),
            "`predicate.contract.digest` must be 64 hexadecimal digits in lower case, found AAA",
        ),
        (
            _predicate(conclusion="x" * 20_001),
            "`predicate.conclusion` must be text of at most 20,000 characters, found 20,001",
        ),
        (_named("../c"), "leads out of the folder"),
        (_named("/etc/passwd"), "is not relative to the folder"),
        (_named("a", "a"), "twice"),
        (json.dumps(small().statement()).encode(), "is not written as records are"),
    ],
)
def test_what_is_no_record_is_refused_with_a_sentence(data: bytes, said: str) -> None:
    with pytest.raises(ContractLintError) as refused:
        parse_record(data, "r.json")
    assert said in refused.value.message and refused.value.location is not None


@given(st.lists(st.floats(), min_size=1))
def test_percentiles_are_values_that_were_seen(values: list[float]) -> None:
    found = summarised(values)
    finite = sorted(value for value in values if math.isfinite(value))
    assert found.count == len(values) and found.not_finite == len(values) - len(finite)
    if finite:
        assert {found.p50, found.p90, found.p99, found.least, found.most} <= set(finite)
        for share, value in ((50, found.p50), (90, found.p90), (99, found.p99)):
            assert value is not None
            below = sum(each <= value for each in finite)
            assert below * 100 >= share * len(finite)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.data(), JSON)
def test_a_statement_with_anything_in_one_place_is_a_record_or_a_sentence(data: st.DataObject, value: object) -> None:
    statement = json.loads(small().as_text())
    holder: Any = statement
    while True:
        key = data.draw(st.sampled_from(sorted(holder) if isinstance(holder, dict) else range(len(holder))))
        inner = holder[key]
        if not inner or not isinstance(inner, dict | list) or data.draw(st.booleans()):
            break
        holder = inner
    holder[key] = value
    text = canonical(statement) + "\n"
    try:
        record = parse_record(text.encode(), "r")
    except ContractLintError as refused:
        assert refused.message and len(refused.message) < 500
        return
    assert record.as_text() == text
    found = judge_record(RecordEvidence("r", record.digest, record.digest, record))
    assert all(each.code.startswith("EXP6") for each in found)


def test_values_by_key() -> None:
    assert flat({"a": {"b": [1, {"c.d": 2}]}, "e": {}}) == {"a.b[0]": 1, 'a.b[1]["c.d"]': 2, "e": {}}


def _nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


WITHIN = {"deep": _nested(40), "digits": 10**19, "pair": "\U0001f600", "like": '\\ud800 {[,":12345678901234567890123'}
BEYOND = {"deep": _nested(50), "digits": 10**20, "half": "\ud800", "values": [0] * 400_000}


@pytest.mark.parametrize("name", WITHIN)
def test_what_keeps_the_limits_is_read(name: str) -> None:
    record = small(config={name: WITHIN[name]})
    assert parse_record(record.as_text().encode(), "r") == record


def test_a_canonical_text_is_not_read_token_by_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of which the index of 5,000 records took most of its time."""
    monkeypatch.setattr(record_file, "parse_json", None)
    assert parse_record(small().as_text().encode(), "r") == small()


@pytest.mark.parametrize("name", BEYOND)
def test_a_canonical_text_keeps_the_limits_of_every_other(name: str) -> None:
    text = small(config={name: BEYOND[name]}).as_text()
    with pytest.raises(ContractLintError) as refused:
        parse_json(text, Source(Path("r"), "r"))
    with pytest.raises(ContractLintError) as found:
        parse_record(text.encode(), "r")
    assert str(found.value) == str(refused.value)


def test_a_key_that_stands_twice_is_told() -> None:
    text = small().as_text().replace('"kind":"created"', '"kind":"created","kind":"created"')
    with pytest.raises(ContractLintError, match="key `kind` is already given"):
        parse_record(text.encode(), "r")
