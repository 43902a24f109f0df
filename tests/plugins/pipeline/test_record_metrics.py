"""Metrics of files: what is taken, what is left out and said, and what is refused."""

from __future__ import annotations

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.plugins.pipeline.record.metrics import MOST_NAMES, read_metrics


def read(text: str) -> tuple[dict[str, int], list[str]]:
    """Name -> values that were taken, and what was said."""
    told: list[str] = []
    found = read_metrics(text.encode(), "m.jsonl", told.append)
    return {name: metric.count for name, metric in found.items()}, told


DEEP = '{"a":' * 10 + "1" + "}" * 10
MANY = "{" + ", ".join(f'"m{n}": 1' for n in range(MOST_NAMES + 2)) + "}"

# Text, what is said of it, and a twin of which nothing is said.
SAID = [
    ('{"loss": 1, "tag": "x"}', "m.jsonl: left out, being no numbers: tag (text)", '{"loss": 1, "step": 0}'),
    ('{"loss": 1, "hist": [1, 2]}', "hist (a list)", '{"loss": 1, "hist": {"low": 1, "high": 2}}'),
    ('{"loss": 1, "ok": true}', "ok (true or false)", '{"loss": 1, "ok": 1}'),
    (f'{{"loss": 1, "x": {DEEP}}}', "(nested more than 8 deep)", '{"loss": 1, "x": {"a": 1}}'),
    (
        '{"loss": 1}\n{"loss": null}',
        "m.jsonl: left out where they are no numbers: loss in 1 of 2 rows (null)",
        '{"loss": 1}\n{"loss": NaN}',
    ),
    (MANY, f"has more than {MOST_NAMES:,} names; 2 of them are left out", '{"m": 1}'),
    (
        '{"step": 0, "loss": 1}\n\n{"step": 2, "loss": 1}\n{"step": 1, "loss": 1}',
        "m.jsonl:4: step 1 comes after step 2: rows are taken as they stand",
        '{"step": 0, "loss": 1}\n{"step": 1, "loss": 1}\n{"step": 1, "eval": 1}\n{"eval": 2}\n{"step": 5}',
    ),
    (
        "\n".join(f'{{"step": {n}, "a": 1}}' for n in (3, 1, 2, 0)),
        "m.jsonl:2: step 1 comes after step 3, and 1 more such",
        '{"step": "late", "step_2": 1}',
    ),
]


@pytest.mark.parametrize(("text", "said", "quiet"), SAID)
def test_what_is_left_out_or_odd_is_said(text: str, said: str, quiet: str) -> None:
    (told,) = read(text)[1]
    assert said in told
    assert read(quiet)[1] == []


def test_what_is_left_out_is_not_counted() -> None:
    assert read('{"loss": 1, "tag": "x", "ok": true}\n{"loss": null}')[0] == {"loss": 1}
    assert read('{"loss": "NaN", "a": "-inf", "b": {"c": 1}}')[0] == {"loss": 1, "a": 1, "b.c": 1}


def test_half_a_character_is_in_no_name() -> None:
    found, told = read('{"\\ud800": 1, "loss": 2}')
    assert found == {"loss": 1} and told == [
        "m.jsonl: left out, being no numbers: \\ud800 (with half a character in its name)"
    ]
    assert read('{"\\ud83d\\ude00": 1, "loss": 2}') == ({"\U0001f600": 1, "loss": 1}, [])


DOTTED = [
    ('{"a.b": 1, "a": {"b": 2}}', "m.jsonl", '{"a.b": 1, "a": {"c": 2}}'),
    ('{"a.b": 1}\n{"a": {"b.c": 1, "b": {"c": 2}}}', "m.jsonl:2", '{"a.b": 1}\n{"a": {"b": 2}}'),
]


@pytest.mark.parametrize(("text", "place", "good"), DOTTED)
def test_a_name_that_a_row_has_twice_is_refused_too(text: str, place: str, good: str) -> None:
    with pytest.raises(ContractLintError, match="stands twice in one row: with a dot, and nested") as refused:
        read(text)
    assert str(refused.value.location) == place
    assert read(good)[1] == []


# Text, where, and a twin with the name once in each object.
TWICE = [
    ('{"loss": 1, "loss": 2}', "m.jsonl:1", '{"loss": 1, "lose": 2}'),
    ('{"loss": 1}\n{"loss": 1, "loss": 2}', "m.jsonl:2", '{"loss": 1}\n{"loss": 2}'),
    ('{"loss": 1, "loss": 2}\n{"loss": 1}', "m.jsonl:1", '{"a": {"loss": 1}, "loss": 2}\n{"loss": 1}'),
    ('{\n "a": {"loss": 1, "loss": 2}\n}', "m.jsonl", '{\n "a": {"loss": 1}, "b": {"loss": 2}\n}'),
]


@pytest.mark.parametrize(("text", "place", "good"), TWICE)
def test_a_key_that_stands_twice_is_refused_with_its_line(text: str, place: str, good: str) -> None:
    with pytest.raises(ContractLintError) as refused:
        read(text)
    assert refused.value.message == "the key `loss` stands twice in one object" and str(refused.value.location) == place
    assert read(good)[1] == []
