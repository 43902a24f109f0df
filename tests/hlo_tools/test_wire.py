import time

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools import wire
from hypothesis import given
from hypothesis import strategies as st


def encode_varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return encode_varint(number << 3) + encode_varint(value)
    return encode_varint(number << 3 | 2) + encode_varint(len(value)) + value


@given(st.lists(st.tuples(st.integers(1, 1 << 28), st.integers(0, (1 << 64) - 1) | st.binary(max_size=300))))
def test_fields_reads_back_what_was_written(message: list[tuple[int, int | bytes]]) -> None:
    data = b"".join(encode(number, value) for number, value in message)
    read = [(f[0], f[2] if f[1] == wire.VARINT else data[f[2] : f[3]]) for f in wire.fields(data)]
    assert read == message


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_signed_is_the_inverse_of_twos_complement(value: int) -> None:
    (field,) = wire.fields(encode(5, value))
    assert wire.signed(wire.number(field)) == value


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=40))
def test_packed_and_repeated_integers_read_the_same(values: list[int]) -> None:
    packed = encode(4, b"".join(encode_varint(value) for value in values))
    single = b"".join(encode(4, value) for value in values)
    read_packed = [number for field in wire.fields(packed) for number in wire.integers(packed, field)]
    read_single = [number for field in wire.fields(single) for number in wire.integers(single, field)]
    assert read_packed == read_single == values


def test_fixed_width_numbers_are_little_endian() -> None:
    data = bytes([1 << 3 | 1]) + (7).to_bytes(8, "little") + bytes([2 << 3 | 5]) + (9).to_bytes(4, "little")
    assert [(f[0], f[1], f[2]) for f in wire.fields(data)] == [(1, wire.FIXED64, 7), (2, wire.FIXED32, 9)]


@pytest.mark.parametrize(
    ("data", "offset", "words"),
    [
        (b"\x0a\x05abc", 0, "claims 5 bytes, 3 are left"),
        (b"\x08", 0, "has no value"),
        (b"\x08\x80\x80", 1, "cut off"),
        (b"\x08\x01" + b"\x80" * 11, 2, "longer than ten bytes"),
        (b"\x08\x01\x0b", 2, "wire type 3"),
        (b"\x00\x01", 0, "field number 0"),
        (b"\x09\x01\x02", 0, "fixed-width"),
    ],
)
def test_damage_is_named_with_its_byte(data: bytes, offset: int, words: str) -> None:
    with pytest.raises(wire.WireError, match=words) as caught:
        list(wire.fields(data))
    assert caught.value.offset == offset
    assert f"byte {offset}" in str(caught.value)


def test_a_wrong_kind_of_field_is_named() -> None:
    (number,) = wire.fields(encode(3, 8))
    with pytest.raises(wire.WireError, match="field 3 is a number"):
        wire.span(number)
    (words,) = wire.fields(encode(3, b"ab"))
    with pytest.raises(wire.WireError, match="field 3 is a message or text"):
        wire.number(words)


@given(st.binary(max_size=400))
def test_any_bytes_give_fields_or_our_error(data: bytes) -> None:
    try:
        for field in wire.fields(data):
            assert field[1] != wire.SPAN or 0 <= field[2] <= field[3] <= len(data)
    except ContractLintError as error:
        assert "byte" in str(error)


def test_reading_is_linear() -> None:
    def seconds(count: int) -> float:
        data = encode(1, 300) * count
        start = time.process_time()
        assert sum(1 for _ in wire.fields(data)) == count
        return time.process_time() - start

    seconds(1000)
    assert seconds(160_000) < 60 * max(seconds(10_000), 1e-3)
