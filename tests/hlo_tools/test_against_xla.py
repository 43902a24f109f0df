"""Our reading of HLO text against XLA's own, for every text of the corpus that XLA's parser accepts."""

from __future__ import annotations

import gzip
import json
import os
import re
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.module import Computation, HloModule, Instruction, parse_hlo
from contract_lint.hlo_tools.participants import groups_text
from contract_lint.hlo_tools.replica_groups import parse_groups
from contract_lint.hlo_tools.transfers import KINDS

pytest.importorskip("jaxlib")

CORPUS = os.environ.get("CONTRACT_LINT_CORPUS")
needs_corpus = pytest.mark.skipif(not CORPUS, reason="CONTRACT_LINT_CORPUS is not set: no corpus to read")
CHILD = Path(__file__).with_name("xla_child.py")
SUGAR = re.compile(r"(.+)-(start|update|done)")
LARGE = 400_000

# XLA's parser computes these shapes from the operands and ignores what is printed; hand-written texts print others.
# A constant of packed 4-bit numbers loses its layout's element size there.
RECOMPUTED = frozenset(("get-tuple-element", "outfeed", "recv", "recv-done", "send", "send-done"))
# Opcodes whose shape we do not infer where the text leaves it out.
WITHOUT_SHAPE = ("reduce-window", "convolution")


class Xla:
    """XLA's parser in a process that may abort; it is then started again."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def parse(self, text: str) -> HloModule | None:
        """The module of XLA's proto; None where XLA rejects the text or dies of it."""
        if self.process is None:
            environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
            self.process = subprocess.Popen(
                [sys.executable, str(CHILD)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
            )
        assert self.process.stdin and self.process.stdout
        data = text.encode()
        try:
            self.process.stdin.write(struct.pack("<Q", len(data)) + data)
            self.process.stdin.flush()
            (size,) = struct.unpack("<Q", self.process.stdout.read(8))
            answer = self.process.stdout.read(size)
        except (BrokenPipeError, struct.error):
            self.close()
            return None
        return parse_hlo(answer[1:]) if answer[:1] == b"+" else None

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


@pytest.fixture(scope="module")
def xla() -> Iterator[Xla]:
    parser = Xla()
    yield parser
    parser.close()


def corpus_texts(large: bool) -> list[tuple[str, str]]:
    found = []
    root = Path(CORPUS or "", "corpus")
    for path in sorted([*root.glob("hlo/*.hlo"), *root.glob("compiled/*.gz")]):
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        if (len(text) > LARGE) == large:
            parts = re.split(r"^// -----.*$", text, flags=re.MULTILINE)
            found += [(f"{path.name}#{i}", part) for i, part in enumerate(parts)]
    return found


def strings() -> list[dict[str, str]]:
    with gzip.open(Path(CORPUS or "", "corpus", "xla_strings.jsonl.gz"), "rt") as rows:
        return [json.loads(row) for row in rows]


def differences(mine: HloModule, theirs: HloModule, by_hand: bool) -> list[str]:
    """What differs, walking both programs from their entries along operands and calls. Names are compared last: XLA
    makes them unique over the module by changing their number."""
    found: list[str] = []
    pairs = [(mine.entry, theirs.entry)]
    done: dict[str, str] = {}
    while pairs:
        ours, other = pairs.pop()
        if ours.name in done:
            if done[ours.name] != other.name:
                found.append(f"computation {ours.name} stands for {done[ours.name]} and {other.name}")
            continue
        done[ours.name] = other.name
        if stem(ours.name) != stem(other.name):
            found.append(f"computation {ours.name} is {other.name}")
        compare_computation(ours, other, found, pairs, by_hand)
    return found


def stem(name: str) -> str:
    return re.sub(r"(\.\d+)+$", "", name)


def compare_computation(
    ours: Computation,
    other: Computation,
    found: list[str],
    pairs: list[tuple[Computation, Computation]],
    by_hand: bool,
) -> None:
    left = {i.name: i for i in other.instructions}
    mapped: dict[int, str] = {}
    stack = [(ours.root, other.root)]
    stack += zip(ours.parameters, other.parameters, strict=False)
    remaining = list(ours.instructions)
    while stack or remaining:
        if not stack:
            instruction = remaining.pop()
            if id(instruction) not in mapped:
                twin = left.get(instruction.name) or next(
                    (
                        t
                        for n, t in left.items()
                        if stem(n) == stem(instruction.name) and t.opcode == instruction.opcode
                    ),
                    None,
                )
                if twin is None:
                    found.append(f"{instruction.name} ({instruction.opcode}) is unknown to XLA")
                else:
                    stack.append((instruction, twin))
            continue
        x, y = stack.pop()
        if id(x) in mapped:
            if mapped[id(x)] != y.name:
                found.append(f"{x.name} stands for {mapped[id(x)]} and {y.name}")
            continue
        mapped[id(x)] = y.name
        left.pop(y.name, None)
        compare_instruction(x, y, found, pairs, by_hand)
        stack += zip(x.operands, y.operands, strict=False)
    if left:
        found.append(f"{ours.name}: only XLA has {sorted(left)[:5]}")


def compare_instruction(
    x: Instruction, y: Instruction, found: list[str], pairs: list[tuple[Computation, Computation]], by_hand: bool
) -> None:
    inner = y
    sugar = SUGAR.fullmatch(x.opcode) if y.opcode.startswith("async-") and x.opcode != y.opcode else None
    if sugar:
        # `reduce-scatter-start` is XLA's short spelling of an async-start around a computation of its own.
        if sugar[2] == "start":
            inner = y.called[0].root
        if inner.opcode not in (sugar[1], y.opcode):
            found.append(f"{x.name}: {x.opcode} wraps {inner.opcode}")
    elif x.opcode != y.opcode:
        found.append(f"{x.name}: opcode {x.opcode}, XLA {y.opcode}")
    if "#" not in x.name and stem(x.name) != stem(y.name):
        found.append(f"{x.name} is {y.name}")
    if x.has_shape or x.opcode not in WITHOUT_SHAPE:
        same = x.shape == y.shape and (x.opcode == "constant" or x.shape.bytes == y.shape.bytes)
        if not same and not (x.opcode in RECOMPUTED and by_hand):
            found.append(f"{x.name}: shape {x.shape.text}, XLA {y.shape.text}")
    if len(x.operands) != len(y.operands):
        found.append(f"{x.name}: {len(x.operands)} operands, XLA {len(y.operands)}")
    callees = () if sugar and inner is y else inner.called
    if len(x.called) != len(callees):
        found.append(f"{x.name}: calls {x.called}, XLA {callees}")
    pairs += zip(x.called, callees, strict=False)
    if x.parameter_number != y.parameter_number:
        found.append(f"{x.name}: parameter {x.parameter_number}, XLA {y.parameter_number}")
    if x.opcode in KINDS:
        if (x.channel_id or None) != (inner.channel_id or None):
            found.append(f"{x.name}: channel {x.channel_id}, XLA {inner.channel_id}")
        if groups(x) != groups(inner):
            found.append(f"{x.name}: groups {groups_text(x)}, XLA {groups_text(inner)}")
    # An element `%while#1` comes from where the whole does; newer parsers make an instruction without metadata for it.
    if sugar is None and "#" not in x.name and x.metadata and (x.op_name != y.op_name or frames(x) != frames(y)):
        found.append(f"{x.name}: from {x.op_name} {frames(x)[:2]}, XLA {y.op_name} {frames(y)[:2]}")


def groups(instruction: Instruction) -> object:
    """XLA does not check an iota list: some of its tests name more devices than they place."""
    try:
        return parse_groups(groups_text(instruction))
    except ContractLintError:
        return "impossible"


def frames(instruction: Instruction) -> list[tuple[str, int, str]]:
    return [(frame.path, frame.line, frame.function) for frame in instruction.frames]


def judge(texts: list[tuple[str, str]], xla: Xla) -> tuple[dict[str, list[str]], int]:
    """The differences by text, and how many texts XLA accepted."""
    wrong, accepted = {}, 0
    for name, text in texts:
        theirs = xla.parse(text)
        if theirs is None:
            continue
        accepted += 1
        found = differences(parse_hlo(text), theirs, not name.endswith(".gz#0"))
        if found:
            wrong[name] = found[:5]
    return wrong, accepted


@needs_corpus
def test_small_programs_are_read_as_xla_reads_them(xla: Xla) -> None:
    wrong, accepted = judge(corpus_texts(large=False), xla)
    assert not wrong
    assert accepted > 150


@needs_corpus
@pytest.mark.slow
def test_large_programs_are_read_as_xla_reads_them(xla: Xla) -> None:
    wrong, accepted = judge(corpus_texts(large=True), xla)
    assert not wrong
    assert accepted > 12


@needs_corpus
@pytest.mark.parametrize("part", [pytest.param(0), *(pytest.param(i, marks=pytest.mark.slow) for i in range(1, 8))])
def test_programs_of_xlas_own_tests_are_read_as_xla_reads_them(xla: Xla, part: int) -> None:
    rows = [row for row in strings() if row["xla_parse"] == "ok"][part::8]
    wrong, accepted = judge([(f"{row['src']}:{row['line']}", row["text"]) for row in rows], xla)
    assert not wrong
    # The column says what the parser of jaxlib 0.10.2 takes; others take a few texts less.
    assert accepted == len(rows) if version("jaxlib") == "0.10.2" else accepted >= 0.99 * len(rows)


@needs_corpus
def test_texts_that_xla_rejects_raise_nothing_but_our_error() -> None:
    outcomes: Counter[str] = Counter()
    for row in strings():
        if row["xla_parse"] == "ok":
            continue
        try:
            module = parse_hlo(row["text"])
            for instruction in module.instructions():
                _ = (instruction.shape, instruction.operands, instruction.called, instruction.attributes)
            outcomes["read"] += 1
        except ContractLintError as error:
            assert error.location is not None and error.location.line, f"{row['src']}:{row['line']}: {error}"
            outcomes["refused"] += 1
    assert outcomes["read"] + outcomes["refused"] == 488
