"""Bytes to text as Python reads them, and places in it."""

from __future__ import annotations

import ast

import pytest
from contract_lint.linters.source.text import Unreadable, plain_source, source_text
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("data", "encoding", "text"),
    [
        (b"", "utf-8", ""),
        (b"x = 1\n", "utf-8", "x = 1\n"),
        (b"\xef\xbb\xbfx = 1\r\n", "utf-8", "x = 1\r\n"),
        (b"# coding: latin-1\nx = '\xe9'\n", "latin-1", "# coding: latin-1\nx = 'é'\n"),
        (b"#!/usr/bin/python\n# -*- coding: cp1252 -*-\nx = '\x80'\n", "cp1252", None),
        (b"\n\n# coding: latin-1\nx = '\xc3\xa9'\n", "utf-8", None),
        (b"x = 1\n# coding: latin-1\n", "utf-8", None),
        (b"\xef\xbb\xbf# coding: utf-8\n", "utf-8", None),
    ],
)
def test_is_decoded_as_python_does(data: bytes, encoding: str, text: str | None) -> None:
    source = source_text(data, "a.py")
    assert source.encoding == encoding
    assert text is None or source.text == text
    assert ast.dump(ast.parse(source.text)) == ast.dump(ast.parse(data))


@pytest.mark.parametrize(
    ("data", "reason", "line"),
    [
        (b"x = 1\ny = '\xe9'\n", "byte 0xe9 is not UTF-8 and no encoding is declared", 2),
        (b"x = 1\ny = 2\0\n", "the file holds a null byte", 2),
        ("x = 1\n".encode("utf-16"), "the file is UTF-16", 1),
        ("x = 1\n".encode("utf-32"), "the file is UTF-32", 1),
        (b"# coding: klingon\n", "'klingon' is unknown", 1),
        (b"# coding: hex\n61\n", "'hex' is unknown", 1),
        (b"\xef\xbb\xbf# coding: latin-1\n", "the byte order mark says UTF-8", 1),
        (b"# coding: ascii\nx = '\xe9'\n", "byte 0xe9 is not ASCII which the file declares", 2),
    ],
)
def test_what_python_cannot_read_says_where(data: bytes, reason: str, line: int) -> None:
    with pytest.raises(Unreadable) as caught:
        source_text(data, "a.py")
    assert reason in caught.value.reason and caught.value.line == line


@given(st.binary(max_size=200))
def test_any_bytes_are_a_text_or_a_problem(data: bytes) -> None:
    try:
        source = source_text(data, "a.py")
    except Unreadable as problem:
        assert problem.reason
    else:
        assert source.text.encode(source.encoding) == data.removeprefix(b"\xef\xbb\xbf")


def test_places_are_counted_in_characters() -> None:
    source = plain_source("a.py", "é = 'ü'; f(x)\n\tg(\n  y)\n".replace("\t", ""))
    call = ast.parse(source.text).body[1]
    place = source.place(call)
    assert (place.line, place.column, place.end_line, place.end_column) == (1, 10, 1, 14)
    assert source.text[source.offset(1, 10) : source.offset(1, 14)] == "f(x)"


@pytest.mark.parametrize("text", ["a\nb\n", "a\r\nb\r\n", "a\rb\r", "a\x0cx\nb\u2028c\n", "", "a\n\n"])
def test_lines_are_those_of_python(text: str) -> None:
    source = plain_source("a.py", text)
    for number, line in enumerate(source.lines, 1):
        start = source.offset(number, 1)
        assert start is not None and source.text[start : start + len(line)] == line
    assert source.offset(len(source.lines) + 1, 1) is None
    assert source.offset(1, len(source.lines[0]) + 2) is None


def test_the_digest_is_that_of_the_bytes() -> None:
    assert source_text(b"x", "a.py").digest == source_text(b"x", "b.py").digest != source_text(b"y", "a.py").digest
