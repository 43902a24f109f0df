import time

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.module import parse_hlo
from contract_lint.hlo_tools.proto import module_from_proto, parse_proto, parse_shape
from hypothesis import given, settings
from hypothesis import strategies as st


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: int | bytes | str) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def packed(number: int, *values: int) -> bytes:
    return field(number, b"".join(varint(value) for value in values))


def array(element: int, *dims: int, layout: bytes = b"") -> bytes:
    return field(2, element) + packed(3, *dims) + (field(5, layout) if layout else b"")


F32_4 = array(11, 4, layout=packed(1, 0))


def instruction(
    name: str, opcode: str, identity: int, *operands: int, shape: bytes = F32_4, extra: bytes = b""
) -> bytes:
    made = field(1, name) + field(2, opcode) + field(3, shape) + field(35, identity)
    return field(2, made + (packed(36, *operands) if operands else b"") + extra)


def computation(name: str, identity: int, root: int, *instructions: bytes) -> bytes:
    return field(3, field(1, name) + b"".join(instructions) + field(5, identity) + field(6, root))


def simple_module() -> bytes:
    frames = field(1, "step.py") + field(2, "outer") + field(2, "inner")
    frames += field(3, field(1, 1) + field(2, 1) + field(3, 10)) + field(3, field(1, 1) + field(2, 2) + field(3, 20))
    frames += field(4, field(1, 1)) + field(4, field(1, 2) + field(2, 1))
    metadata = field(7, field(2, "jit(f)/add") + field(15, 2))
    entry = computation(
        "main", 7, 7 << 32 | 2,
        instruction("x", "parameter", 7 << 32 | 1),
        instruction("y", "add", 7 << 32 | 2, 7 << 32 | 1, 7 << 32 | 1, extra=metadata),
    )  # fmt: skip
    return field(1, "m") + field(2, "main") + entry + field(6, 7) + field(17, frames)


def test_module_and_hlo_proto_read_alike() -> None:
    for data in (simple_module(), field(1, simple_module())):
        module = parse_hlo(data)
        root = module.entry.root
        assert (module.name, root.name, root.opcode, root.shape.text) == ("m", "y", "add", "f32[4]{0}")
        assert [operand.name for operand in root.operands] == ["x", "x"]
        assert [user.name for user in root.operands[0].users] == ["y"]
        assert [(frame.function, frame.line) for frame in root.frames] == [("inner", 20), ("outer", 10)]
        assert root.op_name == "jit(f)/add"
        assert root.source == "step.py:20"


def test_stack_frames_that_go_in_a_circle_end() -> None:
    frames = field(1, "a.py") + field(3, field(1, 1) + field(3, 5)) + field(4, field(1, 1) + field(2, 1))
    metadata = field(7, field(15, 1))
    data = (
        field(1, "m") + computation("main", 1, 1, instruction("x", "parameter", 1, extra=metadata)) + field(17, frames)
    )
    assert len(module_from_proto(data).entry.root.frames) == 1


@pytest.mark.parametrize(
    ("shape", "text", "size", "padded"),
    [
        (array(11, 2, 3, layout=packed(1, 1, 0)), "f32[2,3]{1,0}", 24, 24),
        (
            array(16, 8, 100, layout=packed(1, 1, 0) + field(6, packed(1, 8, 128))),
            "bf16[8,100]{1,0:T(8,128)}",
            1600,
            2048,
        ),
        (array(21, 10, layout=packed(1, 0) + field(7, 4)), "s4[10]{0:E(4)}", 5, 5),
        (array(21, 10, layout=packed(1, 0)), "s4[10]{0}", 10, 10),
        (array(11, 4, layout=packed(1, 0) + field(8, 5)), "f32[4]{0:S(5)}", 16, 16),
        (array(11, 9) + packed(6, 1), "f32[<=9]", 36, 36),
        (array(11, -(1 << 63)) + packed(6, 1), "f32[?]", 0, 0),
        (field(2, 13) + field(4, array(11, 2)) + field(4, array(1, 3)), "(f32[2], pred[3])", 11, 11),
        (field(2, 17), "token[]", 0, 0),
        (array(99, 2), "type99[2]", 0, 0),
    ],
)
def test_shapes(shape: bytes, text: str, size: int, padded: int) -> None:
    made = parse_shape(shape, 0, len(shape))
    assert (made.text, made.bytes, made.padded_bytes) == (text, size, padded)


def test_tuples_nested_too_deep_are_refused() -> None:
    shape = field(2, 11)
    for _ in range(3000):
        shape = field(2, 13) + field(4, shape)
    with pytest.raises(ContractLintError, match="nested deeper"):
        parse_shape(shape, 0, len(shape))


def test_attributes_are_spelt_as_in_text() -> None:
    groups = field(93, field(1, field(1, field(1, "a") + field(2, 2)) + field(1, field(1, "b") + field(2, 4)))
                   + field(2, field(1, 1) + field(2, field(1, 2) + field(2, 2))))  # fmt: skip
    extra = field(26, 3) + field(71, 1) + packed(14, 0) + groups
    iota = field(92, field(1, 2) + field(2, 4) + packed(3, 4, 2) + packed(4, 1, 0))
    old = field(49, packed(1, 0, 1)) + field(49, packed(1, 2, 3))
    new = field(87, field(1, packed(1, 0, 2)) + field(1, packed(1, 1, 3)))
    slices = field(17, field(2, 4) + field(3, 1)) + field(17, field(1, 1) + field(2, 9) + field(3, 2))
    pairs = field(52, field(2, 1)) + field(52, field(1, 1))
    data = field(1, "m") + computation(
        "main", 1, 1,
        instruction("x", "parameter", 1),
        instruction("g", "all-gather", 2, 1, extra=extra),
        instruction("i", "all-reduce", 3, 1, extra=iota),
        instruction("o", "all-reduce", 4, 1, extra=old),
        instruction("n", "all-reduce", 5, 1, extra=new),
        instruction("p", "collective-permute", 6, 1, extra=pairs),
        instruction("s", "slice", 7, 1, extra=slices),
        instruction("c", "custom-call", 8, extra=field(28, 'say "hi"') + field(43, '{"k":1}') + field(77, 4)),
        instruction("t", "constant", 9, shape=array(1), extra=field(8, field(1, array(1)) + packed(2, 1))),
        instruction("a", "constant", 10, extra=field(8, field(1, array(4, 3)) + packed(4, 1, -2, 3))),
    )  # fmt: skip
    made = {i.name: i for i in module_from_proto(data).entry}
    assert made["g"].attributes == {
        "channel_id": "3",
        "use_global_device_ids": "true",
        "dimensions": "{0}",
        "replica_groups": "mesh['a'=2,'b'=4] {'b':(2)2}",
    }
    assert made["i"].attributes["replica_groups"] == "[2,4]<=[4,2]T(1,0)"
    assert made["o"].attributes["replica_groups"] == "{{0,1},{2,3}}"
    assert made["n"].attributes["replica_groups"] == "{{0,2},{1,3}}"
    assert made["p"].attributes["source_target_pairs"] == "{{0,1},{1,0}}"
    assert made["s"].attributes["slice"] == "{[0:4], [1:9:2]}"
    assert made["c"].attributes["custom_call_target"] == '"say \\"hi\\""'
    assert made["c"].backend_config == {"k": 1}
    assert made["c"].attributes["api_version"] == "API_VERSION_TYPED_FFI"
    assert made["t"].literal == 1
    assert made["a"].operand_text == "{1, -2, 3}"


def test_an_operand_that_nobody_defines_is_named() -> None:
    data = field(1, "m") + computation("main", 1, 2, instruction("y", "add", 2, 77))
    with pytest.raises(ContractLintError, match="no operand with the id 77"):
        _ = module_from_proto(data).entry.root.operands


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (field(1, b""), "no instruction"),
        (field(3, b""), "no instruction"),
        (field(1, simple_module()[:-3]), "byte"),
        (simple_module()[:40], "byte"),
    ],
)
def test_what_is_no_module_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(ContractLintError, match=words):
        parse_proto(data)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(simple_module()) - 1), st.binary(max_size=6), st.integers(0, 6))
def test_any_damage_gives_a_module_or_our_error(at: int, inserted: bytes, removed: int) -> None:
    data = simple_module()
    damaged = data[:at] + inserted + data[at + removed :]
    try:
        for made in module_from_proto(damaged).instructions():
            _ = made.shape, made.attributes, made.operands, made.called, made.frames, made.operand_text, made.metadata
    except ContractLintError:
        return


def test_many_instructions_take_linear_time() -> None:
    def seconds(count: int) -> float:
        rows = [instruction(f"i{n}", "add", n, n - 1, n - 1) for n in range(2, count)]
        data = field(1, "m") + computation("main", 1, count - 1, instruction("x", "parameter", 1), *rows)
        start = time.process_time()
        root = parse_hlo(data).entry.root
        assert len(root.operands) == 2
        return time.process_time() - start

    seconds(100)
    assert seconds(16_000) < 60 * max(seconds(1_000), 2e-3)
