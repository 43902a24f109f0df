import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.shape import Shape, numpy_dtype, parse_shape


@pytest.mark.parametrize(
    ("text", "elements", "size", "padded"),
    [
        ("f32[2,3]{1,0}", 6, 24, 24),
        ("f32[]", 1, 4, 4),
        ("f32[]{:T(128)}", 1, 4, 512),
        ("f32[4,16]{1,0:T(4,128)}", 64, 256, 2048),
        ("f32[100]{0:T(128)}", 100, 400, 512),
        ("bf16[8,128]{1,0:T(8,128)(2,1)}", 1024, 2048, 2048),
        ("bf16[9,130]{1,0:T(8,128)(2,1)S(1)}", 1170, 2340, 16 * 256 * 2),
        ("bf16[130,9]{0,1:T(8,128)(2,1)}", 1170, 2340, 16 * 256 * 2),
        ("pred[7]", 7, 7, 7),
        ("u4[1024,512]{1,0:E(4)}", 524288, 262144, 262144),
        ("u4[1024,512]{1,0}", 524288, 524288, 524288),
        ("s4[3]{0:E(4)}", 3, 2, 2),
        ("f8e4m3fn[16]", 16, 16, 16),
        ("c128[2]", 2, 32, 32),
        ("token[]", 0, 0, 0),
        ("()", 0, 0, 0),
        ("(f32[2], (bf16[3], token[]), /*index=3*/pred[1])", 6, 15, 15),
        ("f32[<=1801,1]", 1801, 7204, 7204),
        ("f32[0,5]", 0, 0, 0),
    ],
)
def test_sizes(text: str, elements: int, size: int, padded: int) -> None:
    shape = parse_shape(text)
    assert (shape.elements, shape.bytes, shape.padded_bytes) == (elements, size, padded)


@pytest.mark.parametrize(
    "text",
    [
        "f32[2,3]{1,0:T(8,128)(2,1)S(1)}",
        "(f32[2]{0}, (s32[], u8[4]{0:S(5)}), token[])",
        "b(f32[4]{0})",
        "f32[?,<=4]",
        "s4[8]{0:T(2,*)E(4)}",
        "f32[3]{0:T(128)L(128)#(u32)}",
        "opaque[]",
    ],
)
def test_a_shape_prints_as_it_was_read(text: str) -> None:
    assert parse_shape(text).text == text


def test_layout_properties_are_read() -> None:
    layout = parse_shape("bf16[4,8]{0,1:T(8,128)(2,1)S(1)}").layout
    assert layout is not None
    assert (layout.minor_to_major, layout.tiles, layout.memory_space) == ((0, 1), ((8, 128), (2, 1)), 1)
    assert parse_shape("f32[2]").layout is None
    assert parse_shape("f32[2]{0:S(5)}").memory_space == 5


def test_a_layout_made_from_parts_prints_like_the_text() -> None:
    text = "bf16[4,8]{0,1:T(8,128)(2,1)E(4)S(1)}"
    read = parse_shape(text)
    assert Shape(read.dtype, read.dims, layout=read.layout).text == text


def test_leaves_carry_their_index() -> None:
    shape = parse_shape("((f32[1], s32[2]), (), pred[])")
    assert [(index, leaf.text) for index, leaf in shape.leaves()] == [
        ((0, 0), "f32[1]"),
        ((0, 1), "s32[2]"),
        ((2,), "pred[]"),
    ]
    assert shape.at((0, 1)).text == "s32[2]"


def test_equality_looks_at_type_and_size_only() -> None:
    assert parse_shape("f32[2,3]{1,0}") == parse_shape("f32[2,3]{0,1}")
    assert parse_shape("(f32[2]{0})") == parse_shape("(f32[2])")
    assert parse_shape("(f32[2], s32[])") != parse_shape("(f32[2])")
    assert parse_shape("f32[2]") != parse_shape("f32[<=2]")


@pytest.mark.parametrize(
    "text",
    ["", "f32", "f32[", "f32[a]", "f32[-1]", "(f32[2]", "f32[2] f32[3]", "f32[99999999999999999999]", "(" * 10**5],
)
def test_what_is_no_shape_is_refused(text: str) -> None:
    with pytest.raises(ContractLintError):
        parse_shape(text)


@pytest.mark.parametrize(
    ("primitive", "name"),
    [
        ("f32", "float32"),
        ("bf16", "bfloat16"),
        ("pred", "bool"),
        ("u8", "uint8"),
        ("s4", "int4"),
        ("f8e4m3fn", "float8_e4m3fn"),
        ("c64", "complex64"),
    ],
)
def test_numpy_names(primitive: str, name: str) -> None:
    assert numpy_dtype(primitive) == name
