from contract_lint.contracts.manifest import Frame
from contract_lint.hlo_tools.frames import FrameTable, user_frame
from contract_lint.hlo_tools.module import parse_hlo

TEXT = """HloModule m

FileNames
1 "/src/train.py"
2 "/venv/lib/python3.11/site-packages/optax/update.py"
3 "/src/odd \\"name\\".py"

FunctionNames
1 "step"
2 "apply"

FileLocations
1 {file_name_id=1 function_name_id=1 line=10 end_line=10 column=2 end_column=9}
2 {file_name_id=2 function_name_id=2 line=20 end_line=20 column=4 end_column=5}
3 {file_name_id=3 function_name_id=1 line=30 end_line=30 column=1 end_column=1}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}
3 {file_location_id=3 parent_frame_id=1}


ENTRY main {
  a = f32[] parameter(0), metadata={op_name="x" stack_frame_id=2}
  b = f32[] negate(a), metadata={op_name="jit(f)/neg" stack_frame_id=1}
  c = f32[] negate(b), metadata={op_name="old" source_file="/src/old.py" source_line=7}
  d = f32[] negate(c), metadata={stack_frame_id=99}
  ROOT e = f32[] negate(d), metadata={stack_frame_id=3}
}
"""


def test_parents_are_printed_one_too_high_and_columns_count_from_zero() -> None:
    main = parse_hlo(TEXT).entry
    a, b = main.find("a"), main.find("b")
    assert a is not None and b is not None
    assert [(f.path, f.line, f.column, f.function) for f in a.frames] == [
        ("/venv/lib/python3.11/site-packages/optax/update.py", 20, 5, "apply"),
        ("/src/train.py", 10, 3, "step"),
    ]
    assert [f.line for f in b.frames] == [10]


def test_the_source_is_the_innermost_frame_of_the_user() -> None:
    main = parse_hlo(TEXT).entry
    found = {instruction.name: instruction.source for instruction in main.instructions}
    assert found == {
        "a": "/src/train.py:10",
        "b": "/src/train.py:10",
        "c": "/src/old.py:7",
        "d": None,
        "e": '/src/odd "name".py:30',
    }
    assert user_frame([Frame(path="/x/site-packages/flax/nn.py", line=3)]) == Frame(
        path="/x/site-packages/flax/nn.py", line=3
    )
    assert user_frame([]) is None


def test_a_stack_that_is_its_own_parent_ends() -> None:
    table = FrameTable(["a.py"], ["f"], [{"file_name_id": 1, "function_name_id": 1, "line": 1}], [(1, 2), (1, 1)])
    assert len(table.stack(1)) == 2
    assert table.stack(0) == []
