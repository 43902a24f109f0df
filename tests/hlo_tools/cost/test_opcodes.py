"""The opcodes that are known are those that XLA's parser takes; one of a newer XLA is told once and kept."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError, ContractLintWarning
from contract_lint.hlo_tools.cost.opcodes import unknown_opcodes
from contract_lint.hlo_tools.module import parse_hlo
from contract_lint.plugins.pipeline.hlo import open_program

CORPUS = os.environ.get("CONTRACT_LINT_CORPUS")
NEWER = """HloModule m

ENTRY e {
  x = f32[8]{0} parameter(0)
  y = f32[8]{0} frobnicate(x), level=3
  z = f32[8]{0} frobnicate(y), level=4
  s = f32[8]{0} all-to-all-start(x)
  ROOT r = f32[8]{0} add(y, z)
}
"""


@pytest.mark.skipif(not CORPUS, reason="CONTRACT_LINT_CORPUS is not set: no corpus to read")
def test_every_opcode_that_xla_takes_is_known() -> None:
    texts = []
    with gzip.open(Path(CORPUS or "", "corpus", "xla_strings.jsonl.gz"), "rt") as rows:
        texts += [row["text"] for row in map(json.loads, rows) if row["xla_parse"] == "ok"]
    for path in sorted(Path(CORPUS or "", "corpus", "hlo").glob("*.hlo")):
        texts += re.split(r"^// -----.*$", path.read_text(), flags=re.MULTILINE)
    found: set[str] = set()
    for text in texts:
        try:
            found |= unknown_opcodes(parse_hlo(text)).keys()
        except ContractLintError:
            continue
    assert not found


def test_a_newer_opcode_is_told_once_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "newer.hlo"
    path.write_text(NEWER)
    with pytest.warns(ContractLintWarning) as told:
        module = open_program(path.as_posix()).module
    assert [str(each.message) for each in told] == [
        f"{path.as_posix()}: unknown opcodes, of a newer XLA: frobnicate (2); kept, their shapes count, what they "
        "compute does not"
    ]
    assert module.entry.opcodes().count("frobnicate") == 2
