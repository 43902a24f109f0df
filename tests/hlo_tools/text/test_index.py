import time

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.module import parse_hlo

PLAIN = """HloModule m, is_scheduled=true, num_partitions=4

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}

ENTRY %main (x: (f32[2], s32[])) -> f32[2] {
  %x = (f32[2]{0}, s32[]) parameter(0)
  %y = f32[2]{0} get-tuple-element(%x), index=0
  ROOT %z = f32[2]{0} all-reduce(%y), replica_groups={}, to_apply=%add, metadata={op_name="a // b" source_file="x.py"}
}
"""

# The same program in other layouts of its text.
OTHER_LAYOUTS = {
    "bare names": PLAIN.replace("%", ""),
    "windows line ends": PLAIN.replace("\n", "\r\n"),
    "no signatures": PLAIN.replace(" (a: f32[], b: f32[]) -> f32[]", "").replace(" (x: (f32[2], s32[])) -> f32[2]", ""),
    "indented": PLAIN.replace("\n", "\n    "),
    "comments": "// RUN: hlo-opt\n"
    + PLAIN.replace("parameter(1)", "parameter(1) // second").replace("(%a,", "(/*l*/%a,"),
    "several lines": PLAIN.replace(", to_apply", ",\n      to_apply").replace("all-reduce(%y)", "all-reduce(\n  %y\n)"),
    "inline computation": "HloModule m, is_scheduled=true, num_partitions=4\nENTRY %main {\n"
    "  %x = (f32[2]{0}, s32[]) parameter(0)\n  %y = f32[2]{0} get-tuple-element(%x), index=0\n"
    "  ROOT %z = f32[2]{0} all-reduce(%y), replica_groups={}, to_apply={\n    %a = f32[] parameter(0)\n"
    "    %b = f32[] parameter(1)\n    ROOT %sum = f32[] add(%a, %b)\n  }\n}\n",
    "shapes of operands": PLAIN.replace("add(%a, %b)", "add(f32[] %a, f32[] %b)").replace(
        "element(%x)", "element((f32[2]{0}, s32[]) %x)"
    ),
    "wide dimensions": PLAIN.replace("f32[2]{0}", "f32[2]{ 0 }"),
}


@pytest.mark.parametrize("layout", OTHER_LAYOUTS)
def test_the_layout_of_the_text_does_not_matter(layout: str) -> None:
    module = parse_hlo(OTHER_LAYOUTS[layout])
    assert (module.name, module.num_partitions, module.is_scheduled) == ("m", 4, True)
    assert [len(computation) for computation in module.computations] == [3, 3]
    assert module.entry.name == "main"
    assert [(i.name, i.opcode) for i in module.entry.instructions] == [
        ("x", "parameter"),
        ("y", "get-tuple-element"),
        ("z", "all-reduce"),
    ]
    root = module.entry.root
    assert root.operands[0].shape.text == "f32[2]{0}"
    assert root.called[0] is module.computations[0]
    assert [operand.name for operand in root.called[0].root.operands] == ["a", "b"]


def test_instructions_as_operands_get_names_of_their_own() -> None:
    module = parse_hlo(
        "ENTRY e { ROOT r = f32[2] add(f32[2] parameter(0), multiply(parameter(1), f32[2] parameter(2))) }"
    )
    assert [i.name for i in module.entry.instructions] == [
        "parameter.anon",
        "parameter.anon.1",
        "parameter.anon.2",
        "multiply.anon",
        "r",
    ]
    assert [o.name for o in module.entry.root.operands] == ["parameter.anon", "multiply.anon"]


def test_a_fragment_of_instruction_lines_is_a_program() -> None:
    module = parse_hlo("  all-gather.1 = f32[8]{0} all-gather(reshape.2), replica_groups={{0,1}}, dimensions={0}\n")
    (gather,) = module.entry.instructions
    assert gather.operands[0].name == "reshape.2"
    assert gather.operands[0].opcode == "undefined"
    assert gather.attributes == {"replica_groups": "{{0,1}}", "dimensions": "{0}"}


def test_the_end_of_a_computation_may_name_a_thread() -> None:
    module = parse_hlo(
        'HloModule m\n\n%h {\n  ROOT a = f32[] parameter(0)\n}, execution_thread="host"\n\n'
        "ENTRY e {\n  ROOT b = f32[] parameter(0)\n} // e\n"
    )
    assert [computation.name for computation in module.computations] == ["h", "e"]


def test_headers_may_hold_programs_in_strings() -> None:
    module = parse_hlo(
        'HloModule m, origin_recovery_table={\n  {"a"} : {"b"},\n  "\n    ENTRY %r (p: f32[]) -> f32[] {\n'
        '      ROOT %p = f32[] parameter(0)\n    }\n  "\n}\n\nENTRY main {\n  ROOT q = f32[] parameter(0)\n}\n'
    )
    assert [computation.name for computation in module.computations] == ["main"]


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ("", 1, 1, "empty"),
        ("  \n\n", 1, 1, "empty"),
        ("hello world", 1, 1, "expected a computation"),
        ("HloModule m\n", 1, 1, "holds no computation"),
        ("HloModule m\n\nENTRY e {\n}\n", 1, 1, "no instructions"),
        ("HloModule m\n\nENTRY e {\n  a = f32[] parameter(0)\n", 4, 25, "cut off"),
        ("HloModule m\n\nENTRY e {\n  a = f32[] parameter(0)\n  b = f32[] ne", 5, 15, "cut off"),
        (
            "HloModule m\n\nENTRY e {\n  a = f32[] parameter(0)\n  garbage here\n}\n",
            5,
            3,
            "expected the next instruction",
        ),
        ("HloModule m, a={b\n\nENTRY e {\n", 1, 14, "never closed"),
        ("ENTRY e {\n  a = f32[] parameter(0)\n}\n\nHloModule n\n", 5, 1, "second HloModule"),
        ("def f(x):\n    return x\n", 1, 1, "expected"),
        ('{"a": [1, 2]}', 1, 1, "expected"),
    ],
)
def test_what_is_no_program_is_refused_with_its_place(text: str, line: int, column: int, says: str) -> None:
    with pytest.raises(ContractLintError, match=says) as caught:
        parse_hlo(text, "dump.txt")
    location = caught.value.location
    assert location is not None
    assert (location.path, location.line, location.column) == ("dump.txt", line, column)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("b = f32[2,x] negate(a)", "not a size"),
        ("b = f32[99999999999999999999] negate(a)", "not a size"),
        ("b = f32[2] negate(a.b:c)", "not an operand"),
        ("b = f32[2] get-tuple-element(a), index=99999999999999999999", "64 bits"),
        ("b = f32[2] negate(a#0)", "no tuple element"),
    ],
)
def test_what_is_wrong_in_a_line_is_told_when_it_is_read(line: str, says: str) -> None:
    module = parse_hlo(f"HloModule m\n\nENTRY e {{\n  a = f32[2] parameter(0)\n  {line}\n}}\n", "dump.txt")
    with pytest.raises(ContractLintError, match=says) as caught:
        for instruction in module.instructions():
            _ = (instruction.shape, instruction.operands, instruction.tuple_index)
    assert caught.value.location is not None
    assert (caught.value.location.path, caught.value.location.line) == ("dump.txt", 5)


HOSTILE = {
    "letters": "HloModule m\n\nENTRY e {{\n  {0}\n}}\n",
    "operands": "HloModule m\n\nENTRY e {{\n  x = f32[] add({0})\n}}\n",
    "attribute": "HloModule m\n\nENTRY e {{\n  x = f32[] add(), a={0}\n}}\n",
    "header": "HloModule m, a={0}\n",
    "shape": "HloModule m\n\nENTRY e {{\n  x = {0} add()\n}}\n",
    "bare": "{0}",
}
FILLINGS = [
    "a",
    "%a, ",
    "(",
    "{",
    '"',
    "'",
    "//",
    "/*",
    " ",
    "x(",
    "(x(",
    "={",
    ", a={b}",
    "\\",
    "\n",
    "#0",
    "1,",
    "[[",
]


@pytest.mark.parametrize("place", HOSTILE)
@pytest.mark.parametrize("filling", FILLINGS)
def test_hostile_text_raises_only_our_error(place: str, filling: str) -> None:
    read_all(HOSTILE[place].format(filling * 20_000))


def read_all(text: str) -> None:
    try:
        for instruction in parse_hlo(text).instructions():
            _ = (instruction.shape, instruction.operands, instruction.attributes, instruction.called, instruction.users)
            _ = (instruction.metadata, instruction.backend_config, instruction.frontend_attributes)
    except ContractLintError as error:
        assert str(error)


@pytest.mark.parametrize("filling", ["a", "%a, ", "{", '"', "(x(", ", a={b}"])
def test_eight_times_the_text_takes_about_eight_times_as_long(filling: str) -> None:
    """A quadratic scan would take 64 times as long."""

    def seconds(repeats: int) -> float:
        text = HOSTILE["attribute"].format(filling * repeats)
        begin = time.process_time()
        read_all(text)
        return time.process_time() - begin

    seconds(1000)
    small = min(seconds(20_000) for _ in range(3))
    large = min(seconds(160_000) for _ in range(2))
    assert large < 24 * small + 0.05


def test_a_long_chain_without_shapes_needs_no_recursion() -> None:
    lines = "\n".join(f"  a{i} = negate(a{i - 1})" for i in range(1, 5000))
    module = parse_hlo(f"ENTRY e {{\n  a0 = f32[3] parameter(0)\n{lines}\n}}\n")
    assert module.entry.root.shape.text == "f32[3]"


def test_instructions_that_need_each_other_are_refused() -> None:
    module = parse_hlo("ENTRY e {\n  a = negate(b)\n  b = negate(a)\n}\n")
    with pytest.raises(ContractLintError, match="made below it"):
        _ = module.entry.root.shape
