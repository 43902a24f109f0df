"""`history compare` as text: however many records there are, and however narrow it is, each value can be read."""

from __future__ import annotations

import pytest
from contract_lint.plugins.pipeline.record.history import Compared
from contract_lint.plugins.report.history_compared import compared

from ...linters.record.small_record import small

REASON = "loss, token count and the norm of all gradients"


def some(count: int, *, named: bool = False, reasons: bool = True) -> Compared:
    """`count` records of which one key differs everywhere, one by turns, and every figure."""
    names = [f"wide-{n}" if named else "small" for n in range(count)]
    config = [
        *([("name", tuple(names))] if named else []),
        ("batch.size", tuple(16 << n % 2 for n in range(count))),
        *([("collectives.allow[0].reason", tuple(f"{REASON} {n}" for n in range(count)))] if reasons else []),
    ]
    figures = [
        (f"gradient_norm {each}", tuple(3.14159e-05 * (n + 1) for n in range(count))) for each in ("last", "p99")
    ]
    records = tuple(small(name=name, tool=str(n)) for n, name in enumerate(names))
    return Compared(records, tuple(config), tuple(figures))


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("count", [2, 3, 6, 12])
def test_nothing_is_broken_inside_of_a_word(count: int, width: int) -> None:
    found = some(count)
    text = compared(found, width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width, text
    assert f"{count} records: 2 keys of the configuration differ" in text
    words = text.split()
    for number, record in enumerate(found.records, 1):
        (row,) = (line for line in lines if record.digest[:12] in line)
        assert row.split()[0] == str(number)
        figure = f"{3.14159e-05 * number:.5g}"
        assert words.count(figure) == 2, f"{figure} once for each figure: {text}"
        assert number == 1 or words.count(f"(+{100 * (number - 1)}.00") == 2, text
    headings = [line.split()[1:] for line in lines if line.startswith("metric")]
    assert [each for heading in headings for each in heading] == [str(n) for n in range(1, count + 1)]


@pytest.mark.parametrize("count", [6, 12])
def test_records_with_the_same_value_share_a_row(count: int) -> None:
    lines = [" ".join(line.split()) for line in compared(some(count), 80).splitlines()]
    odd, even = (", ".join(map(str, range(first, count + 1, 2))) for first in (1, 2))
    assert f"batch.size 16 {odd}" in lines and f"32 {even}" in lines


def test_a_few_short_values_stand_side_by_side() -> None:
    lines = [" ".join(line.split()) for line in compared(some(3, reasons=False), 80).splitlines()]
    assert "key 1 2 3" in lines and "batch.size 16 32 16" in lines


def test_a_name_stands_once() -> None:
    text = compared(some(2, named=True), 80)
    assert (text.count("wide-0"), text.count("name")) == (1, 1)
    assert "2 records: 2 keys of the configuration differ" in " ".join(text.split())
    other = some(2)
    text = compared(Compared(other.records, (("name", ("a", "b")), *other.config), ()), 80)
    assert "3 keys of the configuration differ" in text and text.count("name") == 2, "it is another name"


def test_what_is_cut_is_said() -> None:
    found = some(2)
    many = tuple((f"key{n}", (n, -n)) for n in range(1, 204))
    figures = tuple((f"m{n} last", (1.0, 2.0)) for n in range(201))
    text = compared(Compared(found.records, many, figures), 80)
    assert "203 keys" in text and "key200" in text and "key201" not in text
    assert "and 3 more: --format json has all" in text and "and 1 more: --format json has all" in text
    assert "more:" not in compared(Compared(found.records, many[:200], figures[:200]), 80)
