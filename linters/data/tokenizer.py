"""What a tokenizer's files say of its ids, read as text and bytes: nothing in them is run."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from ...contracts.data_manifest import Tokenizer
from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ...contracts.json_once import TwiceError, once
from ...hlo_tools.wire import SPAN, WireError, fields

MAX_BYTES = 128 * 1024 * 1024
_SPECIAL = {"pad_token": "pad_id", "eos_token": "eos_id", "bos_token": "bos_id", "unk_token": "unk_id"}
_SENTENCEPIECE = {"<pad>": "pad_id", "</s>": "eos_id", "<s>": "bos_id", "<unk>": "unk_id"}
_NAMES = ("special_tokens_map.json", "tokenizer_config.json")
"""Files that say which piece plays which part."""


@dataclass(frozen=True)
class Vocabulary:
    """Pieces by id, and the ids with a part of their own (`pad_id`, `eos_id`, ...)."""

    pieces: Mapping[int, str]
    special: Mapping[str, int] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Ids are below it."""
        return max(self.pieces, default=-1) + 1


def read_vocabulary(path: str | Path) -> Vocabulary:
    """The vocabulary of a tokenizer: one of its files, or the folder that holds them.

    Raises ContractLintError for what cannot be read or is no vocabulary.
    """
    given = Path(path)
    shown = given.as_posix()
    beside = given if given.is_dir() else given.parent
    try:
        names = sorted(entry.name for entry in beside.iterdir()) if given.is_dir() else [given.name]
    except OSError as error:
        raise ContractLintError(f"cannot be read: {error.strerror or error}", Location(shown)) from error

    def read(name: str) -> bytes:
        try:
            with open(beside / name, "rb") as file:
                return _limited(file.read(MAX_BYTES + 1), (beside / name).as_posix())
        except OSError as error:
            place = Location((beside / name).as_posix())
            raise ContractLintError(f"cannot be read: {error.strerror or error}", place) from error

    also = [name for name in _NAMES if (beside / name).is_file()]
    found = _vocabulary(names, also, read, beside.as_posix(), whatever=not given.is_dir())
    if found is None:
        known = ", ".join(name for name in TOKENIZER_FILES if name not in _NAMES)
        raise ContractLintError("holds no vocabulary that can be read", Location(shown), f"known files are {known}")
    return found


def tokenizer_of(files: Mapping[str, bytes], shown: str) -> Tokenizer | None:
    """What a tokenizer's files (path below `shown` -> content) say; None where there are none."""
    if not files:
        return None
    places = {path.rpartition("/")[2]: path for path in files}
    also = [name for name in _NAMES if name in places]
    found = _vocabulary(list(places), also, lambda name: files[places[name]], shown)
    return Tokenizer(found.size, dict(found.special)) if found is not None else Tokenizer()


def _limited(data: bytes, shown: str) -> bytes:
    if len(data) > MAX_BYTES:
        raise ContractLintError(f"has more than {MAX_BYTES:,} bytes", Location(shown))
    return data


def _vocabulary(
    names: Sequence[str], also: Sequence[str], read: Callable[[str], bytes], shown: str, whatever: bool = False
) -> Vocabulary | None:
    """The first file of `names` that is a vocabulary, in the order of TOKENIZER_FILES; `whatever` tries others too."""
    order = [name for name in TOKENIZER_FILES if name in names]
    order += [name for name in names if name not in order and (whatever or name.endswith(".tiktoken"))]
    for name in order:
        kind = _KINDS.get(name) or _KINDS.get(name[name.rfind(".") :] if "." in name else "")
        if kind is None:
            continue
        where = f"{shown}/{name}"
        found = kind(read(name), where)
        ids = {piece: number for number, piece in reversed(list(found.pieces.items()))}
        special = dict(found.special)
        for other in also:
            special |= _named(_json(read(other), f"{shown}/{other}"), ids)
        return Vocabulary(found.pieces, special)
    return None


def _named(data: Any, ids: Mapping[str, int]) -> dict[str, int]:
    """`{"eos_token": "</s>"}` or `{"eos_token": {"content": "</s>"}}` as ids."""
    found: dict[str, int] = {}
    for name, part in _SPECIAL.items():
        value = data.get(name) if isinstance(data, dict) else None
        piece = value.get("content") if isinstance(value, dict) else value
        if isinstance(piece, str) and piece in ids:
            found[part] = ids[piece]
    return found


def _tokenizer_json(data: bytes, shown: str) -> Vocabulary:
    """`tokenizer.json` of the `tokenizers` library."""
    whole = _json(data, shown)
    model = whole.get("model") if isinstance(whole, dict) else None
    vocab = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(vocab, list):
        scored = [entry if isinstance(entry, list) and entry else [None] for entry in vocab]
        pieces = {number: _piece(entry[0], shown) for number, entry in enumerate(scored)}
    else:
        pieces = _by_id(vocab, shown)
    added = whole.get("added_tokens") if isinstance(whole, dict) else None
    for entry in added if isinstance(added, list) else ():
        if isinstance(entry, dict):
            pieces |= _by_id({entry.get("content"): entry.get("id")}, shown)
    bytes_level = '"ByteLevel"' in json.dumps([whole.get("decoder"), whole.get("pre_tokenizer")])
    return Vocabulary(_byte_level(pieces) if bytes_level else pieces)


def _vocab_json(data: bytes, shown: str) -> Vocabulary:
    """A mapping piece -> id, or a list of pieces; `tokenizer.json` under another name too."""
    whole = _json(data, shown)
    if isinstance(whole, list):
        return Vocabulary({number: _piece(piece, shown) for number, piece in enumerate(whole)})
    if isinstance(whole, dict) and isinstance(whole.get("model"), dict):
        return _tokenizer_json(data, shown)
    return Vocabulary(_by_id(whole, shown))


def _lines(data: bytes, shown: str) -> Vocabulary:
    """One piece a line."""
    text = _text(data, shown).removesuffix("\n")
    return Vocabulary(dict(enumerate(line.rstrip("\r") for line in text.split("\n"))))


def _tiktoken(data: bytes, shown: str) -> Vocabulary:
    """Lines of a piece in base64 and its id."""
    pieces: dict[int, str] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            piece, rank = line.split()
            pieces[int(rank)] = base64.b64decode(piece, validate=True).decode("utf-8", "replace")
        except (ValueError, binascii.Error) as error:
            raise ContractLintError("is no line of a tiktoken file", Location(shown, number)) from error
    return Vocabulary(pieces)


def _sentencepiece(data: bytes, shown: str) -> Vocabulary:
    """A ModelProto of SentencePiece: field 1 holds the pieces, in each field 1 is the text."""
    pieces: dict[int, str] = {}
    special: dict[str, int] = {}
    try:
        for number, kind, start, stop in fields(data):
            if (number, kind) != (1, SPAN):
                continue
            inner = fields(data, start, stop)
            text = next((data[a:b] for n, k, a, b in inner if (n, k) == (1, SPAN)), b"")
            piece = text.decode("utf-8", "replace")
            if piece in _SENTENCEPIECE:
                special[_SENTENCEPIECE[piece]] = len(pieces)
            pieces[len(pieces)] = piece
    except WireError as error:
        raise ContractLintError(f"is no SentencePiece model: {error}", Location(shown)) from error
    if not pieces:
        _no_vocabulary(shown)
    return Vocabulary(pieces, special)


_KINDS: dict[str, Callable[[bytes, str], Vocabulary]] = {
    "tokenizer.json": _tokenizer_json,
    ".json": _vocab_json,
    ".model": _sentencepiece,
    ".tiktoken": _tiktoken,
    ".txt": _lines,
}
TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "added_tokens.json",
    *_NAMES,
)
"""What the files of tokenizers are called."""


def _by_id(vocab: Any, shown: str) -> dict[int, str]:
    if not isinstance(vocab, dict):
        _no_vocabulary(shown)
    pieces: dict[int, str] = {}
    for piece, number in vocab.items():
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 1 << 31:
            raise ContractLintError(f"the id of {str(piece)[:40]!r} is no number of at least 0", Location(shown))
        pieces[number] = _piece(piece, shown)
    return pieces


def _piece(piece: Any, shown: str) -> str:
    if not isinstance(piece, str):
        _no_vocabulary(shown)
    return piece


def _byte_level(pieces: Mapping[int, str]) -> dict[int, str]:
    """Pieces in the alphabet of GPT-2's byte-level BPE, as the text they stand for.

    Bytes that print in Latin-1 stand for themselves, the others for the characters from U+0100 on.
    """
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    table = {chr(byte): byte for byte in plain} | {chr(0x100 + n): byte for n, byte in enumerate(others)}

    def text(piece: str) -> str:
        values: Iterable[int | None] = [table.get(character) for character in piece]
        known = [value for value in values if value is not None]
        return bytes(known).decode("utf-8", "replace") if len(known) == len(piece) else piece

    return {number: text(piece) for number, piece in pieces.items()}


def _json(data: bytes, shown: str) -> Any:
    try:
        return json.loads(_text(data, shown), object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise ContractLintError(f"is no JSON: {error.msg}", Location(shown, error.lineno, error.colno)) from error
    except TwiceError as error:
        raise ContractLintError(str(error), Location(shown)) from error
    except RecursionError as error:
        raise ContractLintError("is nested too deeply", Location(shown)) from error
    except ValueError as error:
        raise ContractLintError(f"is no JSON that can be read: {str(error)[:80]}", Location(shown)) from error


def _text(data: bytes, shown: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ContractLintError(f"byte 0x{data[error.start]:02x} is not UTF-8", Location(shown, line)) from error


def _no_vocabulary(shown: str) -> NoReturn:
    raise ContractLintError("holds no vocabulary: pieces and their ids are expected", Location(shown))
