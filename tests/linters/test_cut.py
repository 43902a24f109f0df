"""Lists in findings say how much of them is left out."""

from __future__ import annotations

import re
from pathlib import Path

from contract_lint import linters
from contract_lint.linters.cut import SHOWN, shown


def test_a_list_that_fits_is_whole_and_a_longer_one_says_what_is_left() -> None:
    lines = [f"{number}" for number in range(SHOWN + 12)]
    assert shown(lines[:SHOWN]) == tuple(lines[:SHOWN])
    assert shown(iter(lines)) == (*lines[:SHOWN], "and 12 more")
    assert shown(lines, most=5)[-2:] == ("4", "and 27 more")


def test_no_rule_cuts_its_evidence_at_this_length_by_itself() -> None:
    folder = Path(linters.__file__).parent
    silent = [path.name for path in folder.rglob("*.py") if re.search(r"\[:(20|SHOWN)\],? *\)", path.read_text())]
    assert silent == []
