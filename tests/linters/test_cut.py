"""Lists in findings say how much of them is left out."""

from __future__ import annotations

import re
from pathlib import Path

from contract_lint import linters
from contract_lint.linters.cut import SHOWN, in_a_line, shown


def test_a_list_that_fits_is_whole_and_a_longer_one_says_what_is_left() -> None:
    lines = [f"{number}" for number in range(SHOWN + 12)]
    assert shown(lines[:SHOWN]) == tuple(lines[:SHOWN])
    assert shown(iter(lines)) == (*lines[:SHOWN], "and 12 more")
    assert shown(lines, most=5)[-2:] == ("4", "and 27 more")


def test_words_in_a_line_too() -> None:
    words = [f"[{number}]" for number in range(5)]
    assert in_a_line(words[:3], 3, " or ") == "[0] or [1] or [2]"
    assert in_a_line(iter(words), 3) == "[0], [1], [2] and 2 more"


NO_LISTS = {
    "baseline.py": 1,
    "build_argument.py": 2,
    "involuntary_rematerialization.py": 1,
    "match.py": 1,
    "metadata.py": 1,
    "not_of_contract.py": 2,
    "others.py": 1,
    "parts_disagree.py": 1,
    "signature_mismatch.py": 1,
    "suppressions.py": 3,
    "tokenizer.py": 2,
    "varying.py": 1,
}
"""File -> how often it cuts a text of a user or a compiler, a digest, or a search; no list that is shown."""


def test_no_rule_cuts_a_list_by_itself() -> None:
    """But those on source, which cut what they follow, not what they say."""
    folder = Path(linters.__file__).parent
    files = [path for path in folder.rglob("*.py") if path.relative_to(folder).parts[0] != "source"]
    cuts = {path.name: len(re.findall(r"\[:(\d\d+|[3-9]|[A-Z_]{2,})\]", path.read_text())) for path in files}
    assert {name: count for name, count in cuts.items() if count} == NO_LISTS
