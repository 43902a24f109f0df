"""Programs as people hand them on: in a mail, a chat, a log or another encoding; and files that are something else.

What stands around the lines of a program is taken away so that every line keeps its number.
"""

from __future__ import annotations

import codecs
import re

from .prefixes import without_prefixes
from .wrapping import unpacked

_QUOTED = re.compile(r"^(?:> ?)+", re.MULTILINE)
_QUOTED_PROGRAM = re.compile(r"^(?:> ?)+HloModule ", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$", re.MULTILINE)
_TWO = re.compile(rb"\n\}[^\n]*+\n(?:\s++|//[^\n]*+)*+(HloModule [\w.\-]+)")
_BEGIN = re.compile(r"^HloModule ", re.MULTILINE)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_COLOUR = re.compile(rb"\x1b\[[\d;]{0,20}m")
_LOOKED_AT = 4096

_KINDS: tuple[tuple[re.Pattern[bytes], str, str], ...] = tuple(
    (re.compile(pattern, re.DOTALL), said, advice)
    for pattern, said, advice in (
        (rb"\x1f\x8b", "is gzip data inside gzip data", "unpack it once (gunzip)"),
        (rb"PK\x03\x04", "is a ZIP archive", "give a file out of it: unzip it"),
        (rb"\x7fELF|MZ|\xcf\xfa\xed\xfe", "is an executable or a library, no program that XLA printed", ""),
        (rb"\x89PNG|\xff\xd8\xff|GIF8|%PDF", "is a picture or a document", ""),
        (rb"\s*<(?:!DOCTYPE|html|\?xml|head|body)", "is a page of HTML", "give the raw text: 'Raw' or 'Download'"),
        (
            rb".*?(?:\bmodule @|#loc\d*|\bstablehlo\.|\bfunc\.func\b)",
            "is StableHLO (MLIR), from before XLA compiles",
            "give compiled.as_text(); `contract-lint capture` keeps all stages",
        ),
        (
            rb"\s*\{ ?(?:lambda|\x1b\[\d+mlambda)\b|.*?\blet\b[^\n]*\n.*?\bin \(",
            "is a jaxpr, what JAX traced",
            "give jax.jit(f).lower(...).compile().as_text()",
        ),
        (
            rb".*?(?:Ran out of memory |Memory Space: \w+ \(color=|RESOURCE_EXHAUSTED|Out of memory while trying)",
            "is an out-of-memory message without figures that can be read",
            "paste it as far as `Used ... of ... hbm.`, `Total bytes: ...` or the size that could not be allocated, or "
            "give the folder of --xla_dump_to",
        ),
        (rb"\s*contract: *\d", "is a contract", "`contract-lint verify` takes it"),
        (rb"\s*(?:\{\s*[\"}]|\[\s*[\"{\[\]\d])", "is JSON", "give the dump that it was made from"),
        (
            rb"\s*(?:import \w|from \w+ import|def \w+\(|#!.*python)",
            "is Python source",
            "`contract-lint check` takes it",
        ),
    )
)


def is_text(data: bytes) -> bool:
    """Whether these bytes are text: the tags and lengths that a protobuf begins with are control characters.

    A terminal's colours are none of them, nor is what stands in the strings of a program.
    """
    head = data[:256]
    return head.lstrip().startswith(b"HloModule ") or _CONTROL.search(_COLOUR.sub(b"", head)) is None


def as_utf8(data: bytes) -> bytes:
    """Text without a byte order mark; UTF-16, which Windows shells redirect to, as UTF-8."""
    if data.startswith(codecs.BOM_UTF8):
        return data.removeprefix(codecs.BOM_UTF8)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace").encode()
    return data


def unwrapped(text: str) -> str | None:
    """The program in a text that quotes it (`> `), fences it, says something before it, holds it as a string, or has a
    logger's prefix on each line; None elsewhere.
    """
    made = _unquoted(unpacked(text))
    fences = [match.span() for match in _FENCE.finditer(made)]
    if len(fences) > 1:
        begin, end = fences[0][1], fences[1][0]
        made = "\n" * made.count("\n", 0, begin) + made[begin:end]
    made = without_prefixes(made, "HloModule ")
    begin = _BEGIN.search(made)
    if begin is not None:
        made = "\n" * made.count("\n", 0, begin.start()) + made[begin.start() :]
    return made if made != text else None


def _unquoted(text: str) -> str:
    """A text without its marks of quotation; of a program that is quoted, without what is said behind it."""
    begin = _QUOTED_PROGRAM.search(text)
    if begin is None:
        quoted = all(line.startswith(">") for line in text.splitlines() if line.strip())
        return _QUOTED.sub("", text) if quoted else text
    lines = text[begin.start() :].split("\n")
    last = max(at for at, line in enumerate(lines) if line.startswith(">"))
    # A line in between that is not quoted may be a long one that a mail wrapped: it stays, and the parser tells.
    return _QUOTED.sub("", text[: begin.start()] + "\n".join(lines[: last + 1]) + "\n")


def second_module(data: bytes) -> int | None:
    """The line on which a second module begins in a text of several; None for one."""
    found = _TWO.search(data)
    return None if found is None else data.count(b"\n", 0, found.start(1)) + 1


def foreign(data: bytes) -> tuple[str, str] | None:
    """What a file is that holds no HLO, and what to give instead; None where that is not known."""
    head = data[:_LOOKED_AT]
    return next(((said, advice) for pattern, said, advice in _KINDS if pattern.match(head)), None)
