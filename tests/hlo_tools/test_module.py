import gzip

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.cost import cost
from contract_lint.hlo_tools.memory import MemoryLedger, memory
from contract_lint.hlo_tools.module import Computation, HloModule, Instruction, parse_hlo
from contract_lint.hlo_tools.shape import parse_shape

LOOP = """\
HloModule jit_f, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }, num_partitions=8, replica_count=2

%body (t: (s32[], f32[8])) -> (s32[], f32[8]) {
  %t = (s32[], f32[8]{0}) parameter(0)
  %one = s32[] constant(1)
  %next = s32[] add(%t#0, %one)
  %double = f32[8]{0} add(%t#1, %t#1)
  ROOT %out = (s32[], f32[8]{0}) tuple(%next, %double)
}

%cond (t.1: (s32[], f32[8])) -> pred[] {
  %t.1 = (s32[], f32[8]{0}) parameter(0)
  %n = s32[] constant(6)
  ROOT %less = pred[] compare(%t.1#0, %n), direction=LT
}

ENTRY %main (x: f32[8]) -> (f32[8], s32[]) {
  %x = f32[8]{0} parameter(0), sharding={replicated}, metadata={op_name="params['w']"}
  %zero = s32[] constant(0), frontend_attributes={a.b="x, y",j={"k":[1]}}
  %start = (s32[], f32[8]{0}) tuple(%zero, %x)
  %while.5 = (s32[], f32[8]{0}) while(%start), condition=%cond, body=%body, backend_config={"trips":{"n":"6"},"s":"}"}
  ROOT %result = (f32[8]{0}, s32[]) tuple(%while.5#1, %while.5#0), control-predecessors={%zero}
}
"""


def test_operands_users_and_calls_are_resolved() -> None:
    module = parse_hlo(LOOP)
    body, condition, main = module.computations
    assert main is module.entry
    loop = main.find("while.5")
    assert loop is not None
    assert loop.called == (body, condition)
    assert [o.name for o in loop.operands] == ["start"]
    element = main.root.operands[0]
    assert (element.opcode, element.tuple_index, element.shape.text) == ("get-tuple-element", 1, "f32[8]{0}")
    assert element.operands == (loop,)
    assert element.index == -1
    assert set(loop.users) == set(main.root.operands)
    assert element.users == (main.root,)
    double = body.find("double")
    assert double is not None and double.operands[0] is double.operands[1]
    assert [user.name for user in double.operands[0].users] == ["double"]


def test_attributes_keep_what_is_printed() -> None:
    module = parse_hlo(LOOP)
    assert module.attributes["input_output_alias"] == "{ {0}: (0, {}, may-alias) }"
    assert (module.num_partitions, module.replica_count, module.is_scheduled) == (8, 2, True)
    main = module.entry
    loop, result, x = main.find("while.5"), main.root, main.find("x")
    assert loop is not None and x is not None
    assert loop.backend_config == {"trips": {"n": "6"}, "s": "}"}
    assert result.attributes["control-predecessors"] == "{%zero}"
    assert (x.parameter_number, x.op_name) == (0, "params['w']")
    zero = main.find("zero")
    assert zero is not None and zero.literal == 0
    assert zero.frontend_attributes == {"a.b": "x, y", "j": '{"k":[1]}'}
    assert (result.is_root, x.is_root, x.place) == (True, False, (18, 8))


def test_unknown_opcodes_and_attributes_are_kept() -> None:
    module = parse_hlo(
        "ENTRY e {\n  a = f9e9m9[4]{0} parameter(0)\n"
        '  ROOT b = f9e9m9[4]{0} quantum-gather(a), twist=3, knots={"x", {y}}, mode=fast\n}\n'
    )
    root = module.entry.root
    assert root.opcode == "quantum-gather"
    assert root.attributes == {"twist": "3", "knots": '{"x", {y}}', "mode": "fast"}
    assert root.shape.elements == 4


def test_the_entry_is_the_last_computation_without_a_mark_and_the_root_the_last_instruction() -> None:
    module = parse_hlo("f {\n  a = f32[] parameter(0)\n}\n\ng {\n  b = f32[] parameter(0)\n  c = f32[] negate(b)\n}\n")
    assert (module.name, module.entry.name, module.entry.root.name) == ("", "g", "c")


def test_a_module_can_be_built_from_parts() -> None:
    module = HloModule("made", attributes={"num_partitions": "4"})
    computation = Computation(module, "main")
    x = Instruction(computation, "x", "parameter", 0, shape=parse_shape("f32[4]"), operands=(), literal="0")
    y = Instruction(
        computation, "y", "all-gather", 1, shape=parse_shape("f32[16]"), operands=(x,), attributes={"channel_id": "3"}
    )
    computation.fill([x, y])
    module.fill([computation])
    assert (module.entry.root, y.channel_id, x.parameter_number, x.users) == (y, 3, 0, (y,))


def test_bytes_and_gzip_are_read_like_text() -> None:
    for data in (LOOP.encode(), gzip.compress(LOOP.encode())):
        assert [c.name for c in parse_hlo(data).computations] == ["body", "cond", "main"]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"HloModule m\n\nENTRY e {\n  a\xff = f32[] parameter(0)\n}\n", "UTF-8"),
        (gzip.compress(LOOP.encode())[:200], "gzip"),
        (b"\x1f\x8b\x08garbage", "gzip"),
        (b"", "empty"),
        (b"\x00\x01\x02\x03" * 100, "field|proto|wire|byte"),
    ],
)
def test_damaged_bytes_are_refused(data: bytes, says: str) -> None:
    with pytest.raises(ContractLintError, match=says) as caught:
        parse_hlo(data, "x.hlo")
    if says == "UTF-8":
        location = caught.value.location
        assert location is not None and (location.path, location.line, location.column) == ("x.hlo", 4, 4)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("ROOT %x = f32[4] add(%x, %p)", "reads its own result"),
        ("ROOT %x = f32[4] add(f32[4] x, p)", "reads its own result"),
        ("%x = f32[4] add(%p, %y)\n  ROOT %y = f32[4] negate(%x)", "reads 'y', which is made below it"),
        ("%x = f32[4] negate(%y#0)\n  ROOT %y = (f32[4]) tuple(%x)", "reads 'y', which is made below it"),
        ("%x = f32[4] negate(%p)\n  ROOT %y = f32[4] add(%x, %x)", ""),
    ],
)
def test_an_operand_stands_above_its_reader(line: str, said: str) -> None:
    module = parse_hlo(f"HloModule m, is_scheduled=true\n\nENTRY %e {{\n  %p = f32[4] parameter(0)\n  {line}\n}}\n")
    for ledger in (memory_of_text, cost):
        if not said:
            assert ledger(module)
            continue
        with pytest.raises(ContractLintError, match=said) as raised:
            ledger(module)
        place = raised.value.location
        assert place is not None and place.line == 5


def memory_of_text(module: HloModule) -> MemoryLedger:
    return memory(None, module)
