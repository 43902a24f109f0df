"""What XLA refuses is refused, once for all commands; each bad text has a good twin that differs in the one place."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.hlo_tools.module import parse_hlo
from contract_lint.hlo_tools.well_formed import require_well_formed, unbounded

CORPUS = os.environ.get("CONTRACT_LINT_CORPUS")
needs_corpus = pytest.mark.skipif(not CORPUS, reason="CONTRACT_LINT_CORPUS is not set: no corpus to read")
ADD = """
%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}
"""


class Case(NamedTuple):
    """`good` with its `fault` in place of `right`; what is said, and in which line. XLA's parser refuses it too, or
    only its verifier does (and aborts where a parameter's number leaves a gap)."""

    good: str
    right: str
    fault: str
    said: str
    line: int
    by: str = "parser"

    @property
    def bad(self) -> str:
        assert self.good.count(self.right) == 1
        return self.good.replace(self.right, self.fault)


def program(*lines: str, header: str = "") -> str:
    return f"HloModule m{header}\n{ADD}\nENTRY %main {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


P = "%p = f32[8,4]{1,0} parameter(0)"
ELEMENTWISE = program(P, "%x = f32[8,4]{1,0} add(%p, %p)", "ROOT %y = f32[8,4]{1,0} add(%x, %p)")
OLD = ELEMENTWISE.replace("add(%x, %p)", "add(f32[8,4]{1,0} %x, f32[8,4]{1,0} %p)")
SHORT = ELEMENTWISE.replace("%", "")
SUMMED = program(
    P,
    "ROOT %r = f32[8,4]{1,0} all-reduce(%p), channel_id=1, replica_groups={{0,1},{2,3}}, "
    "use_global_device_ids=true, to_apply=%add",
    header=", num_partitions=4",
)
OVER_REPLICAS = program(
    P,
    "ROOT %r = f32[8,4]{1,0} all-reduce(%p), replica_groups=[2,2]<=[4], to_apply=%add",
    header=", replica_count=4",
)
PERMUTED = program(
    P,
    "ROOT %r = f32[8,4]{1,0} collective-permute(%p), channel_id=1, source_target_pairs={{0,1},{1,0}}",
    header=", num_partitions=2",
)
DOT = program(P, "ROOT %r = f32[8,8]{1,0} dot(%p, %p), lhs_contracting_dims={1}, rhs_contracting_dims={1}")
REDUCED = program(P, "%z = f32[] constant(0)", "ROOT %r = f32[8]{0} reduce(%p, %z), dimensions={1}, to_apply=%add")
TURNED = program(P, "ROOT %r = f32[4,8]{1,0} transpose(%p), dimensions={1,0}")
SPREAD = program("%v = f32[4]{0} parameter(0)", "ROOT %r = f32[8,4]{1,0} broadcast(%v), dimensions={1}")
GATHERED = program(
    P, "ROOT %r = f32[8,8]{1,0} all-gather(%p), replica_groups={{0,1}}, dimensions={1}", header=", replica_count=2"
)
TAKEN = program(
    P,
    "%t = (f32[8,4]{1,0}, f32[8,4]{1,0}) tuple(%p, %p)",
    "ROOT %g = f32[8,4]{1,0} get-tuple-element(%t), index=1",
)
OF_PARAMETER = program(
    P, "%q = (f32[4]{0}) parameter(1)", "ROOT %g = f32[4]{0} get-tuple-element((f32[4]{0}) %q), index=0"
)
ALIASED = program(P, "ROOT %r = f32[8,4]{1,0} add(%p, %p)", header=", input_output_alias={ {}: (0, {}, may-alias) }")
DONATED = program(P, "ROOT %r = f32[8,4]{1,0} add(%p, %p)", header=", buffer_donor={ (0, {}) }")
FUSED = program(P, "ROOT %r = f32[8,4]{1,0} call(%p), to_apply=%twice").replace(
    "\nENTRY", "\n%twice (q: f32[8,4]) -> f32[8,4] {\n  %q = f32[8,4]{1,0} parameter(0)\n  ROOT %d = f32[8,4]{1,0} "
    "add(%q, %q)\n}\n\nENTRY"
)  # fmt: skip

CASES = {
    "an operand that nothing defines": Case(ELEMENTWISE, "add(%x, %p)", "add(%x, %w)", "reads 'w', which no line", 12),
    "with its shape before it": Case(OLD, "4]{1,0} %x", "4]{1,0} %w", "reads 'w', which no line", 12),
    "without %": Case(SHORT, "add(x, p)", "add(x, w)", "reads 'w', which no line", 12),
    "its own result": Case(ELEMENTWISE, "add(%p, %p)", "add(%x, %p)", "reads its own result", 11),
    "a result from below": Case(ELEMENTWISE, "add(%p, %p)", "add(%p, %y)", "'y', which is made below it", 11),
    "a name from another computation": Case(ELEMENTWISE, "add(%x, %p)", "add(%x, %sum)", "reads 'sum', which no", 12),
    "two lines of one name": Case(
        ELEMENTWISE, "ROOT %y", "ROOT %x", "defined twice in computation 'main', on line 11", 12
    ),
    "two computations of one name": Case(FUSED, "%twice (q", "%add (q", "computation 'add' is defined twice", 9),
    "a computation that is not there": Case(
        SUMMED, "to_apply=%add", "to_apply=%max", "calls 'max', and the program", 11
    ),
    "one that calls itself": Case(
        FUSED, "add(%q, %q)", "call(%q), to_apply=%twice", "calls the computation it stands in", 11
    ),
    "one from below": Case(FUSED, "add(%q, %q)", "call(%q), to_apply=%main", "calls 'main', which stands below it", 11),
    "a parameter given twice": Case(
        OF_PARAMETER, ") parameter(1)", ") parameter(0)", "is given twice: 'p' and 'q'", 11, "abort"
    ),
    "a parameter left out": Case(
        OF_PARAMETER, ") parameter(1)", ") parameter(5)", "has parameter 5, and only 2", 11, "abort"
    ),
    "a device in two groups": Case(SUMMED, "{2,3}", "{1,3}", "groups name device 1 twice", 11, "verifier"),
    "a device that leaves others out": Case(SUMMED, "{2,3}", "{2,77}", "device 77 and not device 3", 11, "verifier"),
    "more devices than replicas": Case(
        OVER_REPLICAS, "[2,2]<=[4]", "[2,4]<=[8]", "groups name 8 devices, the program has 4", 11, "verifier"
    ),
    "a pair beyond the program": Case(PERMUTED, "{1,0}}", "{1,2}}", "name device 2, the program has 2", 11, "verifier"),
    "a dimension that is not contracted": Case(
        DOT, "lhs_contracting_dims={1}", "lhs_contracting_dims={7}", "dimension 7 of 'p', which has 2", 11, "verifier"
    ),
    "one of the right side": Case(
        DOT, "rhs_contracting_dims={1}", "rhs_contracting_dims={2}", "dimension 2", 11, "verifier"
    ),
    "one that is summed away": Case(REDUCED, "dimensions={1}", "dimensions={2}", "dimension 2 of 'p'", 12, "verifier"),
    "one twice": Case(TURNED, "{1,0}\n", "{1,1}\n", "dimensions names a dimension of 'p' twice", 11, "verifier"),
    "one of the result": Case(SPREAD, "dimensions={1}", "dimensions={2}", "dimension 2 of its result", 11, "verifier"),
    "one that is gathered": Case(GATHERED, "dimensions={1}", "dimensions={2}", "dimension 2 of 'p'", 11, "verifier"),
    "an element that is not there": Case(TAKEN, "index=1", "index=2", "takes element 2 of 't', which has 2", 12),
    "an element of an array": Case(
        TAKEN, "element(%t)", "element(%p)", "element 1 of 'p', which is no tuple", 12, "verifier"
    ),
    "of a parameter with its shape": Case(OF_PARAMETER, "index=0", "index=1", "takes element 1 of 'q'", 12, "verifier"),
    "an alias of no argument": Case(ALIASED, "(0, {}", "(9, {}", "names parameter 9, the entry has 1", 1, "verifier"),
    "an alias of no result": Case(ALIASED, "{ {}", "{ {5}", "names result {5}, which is f32[8,4]", 1),
    "an alias of no part": Case(ALIASED, "(0, {}", "(0, {3}", "names {3} of parameter 0", 1, "verifier"),
    "a donor that is no argument": Case(DONATED, "(0, {}", "(2, {}", "buffer_donor names parameter 2", 1, "verifier"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_fault_is_refused_with_its_place_and_its_twin_is_not(name: str) -> None:
    case = CASES[name]
    require_well_formed(parse_hlo(case.good))
    with pytest.raises(ContractLintError) as caught:
        require_well_formed(parse_hlo(case.bad, "m.txt"))
    assert case.said in caught.value.message
    place = caught.value.location
    assert place is not None and (place.path, place.line) == ("m.txt", case.line) and place.column


@pytest.fixture(scope="module")
def xla_takes() -> Iterator[Callable[[str], bool]]:
    pytest.importorskip("jaxlib")
    from ..test_against_xla import Xla

    xla = Xla()
    yield lambda text: xla.parse(text) is not None
    xla.close()


def test_xlas_parser_refuses_what_is_said_of_it_and_takes_the_twins(xla_takes: Callable[[str], bool]) -> None:
    """Its verifier is not to be had from Python: what only that refuses, the parser takes."""
    wrong = [name for name, case in CASES.items() if not xla_takes(case.good)]
    # A gap in the numbers ends the process; once is enough.
    wrong += [
        name
        for name, case in CASES.items()
        if case.by != "abort" and xla_takes(case.bad) is not (case.by == "verifier")
    ]
    assert not wrong


def test_a_part_of_a_program_may_name_what_stands_elsewhere() -> None:
    part = FUSED[FUSED.index("ENTRY") :]
    require_well_formed(parse_hlo(part))
    require_well_formed(parse_hlo("%y = f32[4]{0} add(f32[4]{0} %a, f32[4]{0} %b)"))
    with pytest.raises(ContractLintError, match="calls 'twice', and the program holds no such computation"):
        require_well_formed(parse_hlo("HloModule m\n" + part))


def test_a_size_without_a_bound_is_told() -> None:
    text = program("%p = f32[?,8] parameter(0)", "ROOT %y = f32[?,8] add(%p, %p)")
    assert unbounded(parse_hlo(text)) == ["f32[?,8]"]
    assert unbounded(parse_hlo(text.replace("?", "<=4"))) == []
    assert (
        unbounded(
            parse_hlo(text.replace("[?,8]", "[4]").replace("add(%p, %p)", 'add(%p, %p), metadata={op_name="a?,"}'))
        )
        == []
    )


# What XLA's parser takes and its verifier or its shape rules do not: a negative dimension, dimension 2 of an array that
# has two, and 4 places for 16 devices.
REFUSED = {"hlo_verifier_test.cc:2304", "dynamic_padder_test.cc:2416", "hlo_parser_test.cc:3542"}


@needs_corpus
def test_programs_that_xla_takes_are_taken() -> None:
    refused = set()
    with gzip.open(Path(CORPUS or "", "corpus", "xla_strings.jsonl.gz"), "rt") as rows:
        for row in map(json.loads, rows):
            if row["xla_parse"] == "ok":
                try:
                    require_well_formed(parse_hlo(row["text"]))
                except ContractLintError:
                    refused.add(f"{Path(row['src']).name}:{row['line']}")
    assert refused == REFUSED


@needs_corpus
@pytest.mark.slow
def test_programs_of_the_corpus_are_taken() -> None:
    root, taken = Path(CORPUS or "", "corpus"), 0
    for path in sorted([*root.glob("hlo/*.hlo"), *root.glob("compiled/*.gz")]):
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        for part in re.split(r"^// -----.*$", text, flags=re.MULTILINE):
            try:
                module = parse_hlo(part)
            except ContractLintError:
                continue  # comments of a test between two programs
            require_well_formed(module)
            taken += 1
    assert taken > 150
