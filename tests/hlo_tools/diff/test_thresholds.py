"""Conditions of `--threshold`: what they mean, and what is said of those that are none."""

from __future__ import annotations

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.diff import Change, Diff, Metric
from contract_lint.hlo_tools.diff.thresholds import broken, parse_thresholds


def diff(*changes: Change, **figures: tuple[int | None, int | None]) -> Diff:
    metrics = {name: Metric(name, "bytes", before, after) for name, (before, after) in figures.items()}
    return Diff("a", "b", same=False, changes=list(changes), metrics=metrics)


@pytest.mark.parametrize(
    ("text", "before", "after", "is_broken"),
    [
        ("peak>+2%", 100, 102, False),
        ("peak>+2%", 100, 103, True),
        ("peak>+0%", 100, 100, False),
        ("peak>+0%", 0, 1, True),
        ("peak > +1KiB", 0, 1024, False),
        ("peak>+1KiB", 0, 1025, True),
        ("peak>+1.5K", 0, 1501, True),
        ("peak>16GiB", 0, 16 << 30, False),
        ("peak>16GiB", 99 << 30, (16 << 30) + 1, True),
        ("peak>+2%", 103, 100, False),
        ("peak>1,000", 0, 1000, False),
        ("peak>1,000,changed", 0, 1001, True),
        ("peak > +1,024B", 0, 1025, True),
    ],
)
def test_figures(text: str, before: int, after: int, is_broken: bool) -> None:
    assert bool(broken(parse_thresholds(text), diff(peak=(before, after)))) is is_broken


def test_words() -> None:
    gather = Change(kind="collective", what="1 all-gather more", before=0, after=5)
    fewer = Change(kind="collective", what="1 all-gather fewer", before=5, after=0)
    lost = Change(kind="donation", what="state is no longer reused", before=5, after=0)
    asked = parse_thresholds("changed, new-collective,new-host-call,lost-donation")
    assert [b.threshold for b in broken(asked, diff(gather))] == ["changed", "new-collective"]
    assert [b.threshold for b in broken(asked, diff(fewer))] == ["changed"]
    assert [b.threshold for b in broken(asked, diff(lost))] == ["changed", "lost-donation"]
    assert broken(asked, diff()) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "an empty condition"),
        ("peak>+2%,", "an empty condition"),
        ("peek>+2%", "no figure is called 'peek'"),
        ("peak>1,00", "'peak>1,00' is no condition"),
        ("peak>1,0000", "is no condition"),
        ("peak>+2%,5", "is no condition"),
        ("peak>2%", "per cent of what"),
        ("peak>+2XB", "unknown unit"),
        ("peak<2", "is no condition"),
        ("peak", "is no condition"),
        ("new-colective", "is no condition"),
        ("peak>+-2%", "is no condition"),
        ("peak>" + "9" * 400, "is no condition"),
        ("x" * 100_000, "is no condition"),
    ],
)
def test_what_is_no_condition(text: str, said: str) -> None:
    with pytest.raises(ContractLintError) as raised:
        parse_thresholds(text)
    assert said in raised.value.message and len(str(raised.value)) < 600


def test_a_near_miss_is_named() -> None:
    with pytest.raises(ContractLintError) as raised:
        parse_thresholds("new-colective")
    assert "new-collective" in (raised.value.help or "")


def test_a_figure_that_nobody_knows_is_no_pass() -> None:
    with pytest.raises(ContractLintError, match="cannot be judged"):
        broken(parse_thresholds("peak>+2%"), diff(peak=(None, 5)))
