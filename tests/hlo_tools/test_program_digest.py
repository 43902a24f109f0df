"""A program's digest: places in source do not count, everything else does."""

from __future__ import annotations

from contract_lint.hlo_tools.program_digest import program_digest

TEXT = """\
HloModule m, is_scheduled=true

FileNames
1 "/a/b.py"

StackFrames
1 {file_location_id=1 parent_frame_id=1}


ENTRY %main (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0), metadata={op_name="x[\\"}{\\"]"}
  ROOT %add = f32[4]{0} add(%p, %p), metadata={op_name="jit(f)/add" source_file="/a/b.py" source_line=3}, \
backend_config={"a":"b"}
}
"""


def test_places_do_not_count_and_the_rest_does() -> None:
    moved = TEXT.replace("/a/b.py", "/c/d.py").replace("source_line=3", "source_line=30").replace("1 {", "12 {")
    assert moved != TEXT and program_digest(moved) == program_digest(TEXT)
    for old, new in (("add(%p", "multiply(%p"), ("f32[4]{0} par", "f32[5]{0} par"), ('"a":"b"', '"a":"c"')):
        assert program_digest(TEXT.replace(old, new)) != program_digest(TEXT)
