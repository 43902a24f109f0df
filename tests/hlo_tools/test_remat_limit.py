"""Rematerialization that does not get a program small enough: the figures of the warning."""

from __future__ import annotations

import pytest
from contract_lint.hlo_tools.remat_limit import RematLimit, remat_limit

GIB = 1 << 30
SAID = (
    "hlo_rematerialization.cc:3005] Can't reduce memory use below 37.22GiB (39965061120 bytes) by rematerialization; "
    "only reduced to 60.11GiB (64542615040 bytes), down from 61.00GiB (65498251264 bytes) originally"
)


def test_bytes_are_exact_where_they_are_printed() -> None:
    assert remat_limit(f"before\n{SAID}\nafter") == RematLimit(39_965_061_120, 64_542_615_040, 61 * GIB)


def test_of_several_programs_the_largest_counts() -> None:
    small = SAID.replace("60.11GiB (64542615040", "1.00GiB (1073741824")
    assert remat_limit(f"{small}\n{SAID}\n{small}") == remat_limit(SAID)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("below 2.00GiB by rematerialization; only reduced to 3.00GiB", RematLimit(2 * GIB, 3 * GIB)),
        ("below 2.00GiB by rematerialization (only reduced to 3.00GiB)", RematLimit(2 * GIB, 3 * GIB)),
        ("below -512B (-512 bytes) by rematerialization; only reduced to 16B (16 bytes)", RematLimit(-512, 16)),
    ],
)
def test_older_wordings(said: str, expected: RematLimit) -> None:
    assert remat_limit(f"Can't reduce memory use {said}") == expected


@pytest.mark.parametrize("text", ["", "Can't reduce memory use below 2.00GiB", SAID[: SAID.index("only reduced")]])
def test_what_is_cut_says_nothing(text: str) -> None:
    assert remat_limit(text) is None
