"""Lines of comments round a long program, as tests of XLA have them, move nothing and cost nothing."""

from __future__ import annotations

import pytest
from contract_lint.hlo_tools.text import index
from contract_lint.hlo_tools.text.index import index_text

PROGRAM = """HloModule m

%fused {
  %p = f32[8]{0} parameter(0)
  // CHECK: negate
  ROOT %r = f32[8]{0} negate(%p)
}

ENTRY %main {
  %x = f32[8]{0} parameter(0)
  ROOT %f = f32[8]{0} fusion(%x), kind=kLoop, calls=%fused
}
"""
COMMENTED = f"// RUN: tool %s \\\n//   --flag\n\n{PROGRAM}// CHECK-COUNT-80:  func.func"


def places(text: str) -> list[tuple[str, tuple[int, int]]]:
    found = index_text(text)
    return [
        (line[0].split("=")[0].strip(), found.place(line.start(0)))
        for computation in found.computations
        for line in map(computation.line, range(len(computation.begins)))
    ]


@pytest.mark.parametrize("text", [COMMENTED, "\n" + COMMENTED, "// only before\n" + PROGRAM, PROGRAM + "  // behind\n"])
def test_a_long_text_is_read_as_a_short_one(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    short = places(text)
    monkeypatch.setattr(index, "_SHORT", 0)
    assert [name for name, _ in places(text)] == [name for name, _ in short]
    read = index_text(text)
    lines = text.split("\n")
    for computation in read.computations:
        for line in map(computation.line, range(len(computation.begins))):
            row, _ = read.place(line.end())
            assert line[0].strip() == lines[row - 1].strip()


def test_it_is_read_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from contract_lint.hlo_tools.text import normalise

    monkeypatch.setattr(index, "_SHORT", 0)
    monkeypatch.setattr(normalise, "normalise", None)
    assert len(places(COMMENTED)) == 4
