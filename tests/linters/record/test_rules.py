"""Every rule on records: a record that breaks it, and a twin that differs in the one thing and does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from contract_lint.contracts.finding import Finding
from contract_lint.contracts.record import (
    CheckpointState,
    FileDigest,
    Metric,
    ProgramState,
    SourceState,
    VerdictState,
    canonical,
    sha256,
)
from contract_lint.linters.record.evidence import Recomputed, RecordEvidence
from contract_lint.linters.record.judge import judge_record
from contract_lint.linters.registry import builtin_rules

from .small_record import CONFIG, small

Change = Mapping[str, Any]
WHOLE = {file.path: file for file in small().files}
CUT = FileDigest(path="run/1/d", sha256="0" * 64, bytes=0)
FLIPPED = FileDigest(path="run/1/d", sha256=sha256("e"), bytes=1)
SAME = sha256(canonical(CONFIG))
PROGRAM = ProgramState(target="cpu:8", step="train", sha256="1" * 64, contract_digest=SAME, capture="cap")
PASSED = VerdictState(verb="verify", verdict="pass", headline="PASS small: every promise holds.")
FAILED = VerdictState(verb="verify", verdict="fail", headline="FAIL small: 1 error.")
NO_SEED = CONFIG | {"step": {"train": {"entry": "m:build"}}}
SECTION = small().contract.model_copy(update={"sections": small().contract.sections | {"name": "0" * 64}})
ROOT = CheckpointState(folder="run/1", root="sha256:" + "0" * 64, files=1)

# Rule -> what is wrong, what is said, and the twin.
CASES: list[tuple[str, Change, str, Change]] = [
    ("EXP601", {"promised": "0" * 64}, "was changed after it was written", {}),
    ("EXP602", {"files_now": WHOLE | {"run/1/d": None}}, "a bound file is not there", {"files_now": WHOLE}),
    ("EXP602", {"files_now": WHOLE | {"run/1/d": CUT}}, "1 B then, 0 B now", {"files_now": WHOLE}),
    ("EXP602", {"files_now": WHOLE | {"run/1/d": FLIPPED}}, "a bound file has another content", {"files_now": WHOLE}),
    ("EXP603", {"contract": SECTION}, "the digest of the section name", {}),
    ("EXP603", {"checkpoints": [ROOT]}, "the digest of the checkpoint run/1", {}),
    ("EXP603", {"says": "0" * 64}, "the digest of what c.contract.yaml says", {"says": SAME}),
    (
        "EXP603",
        {"programs": [PROGRAM], "programs_now": {("cpu:8", "train"): "2" * 64}},
        "the digest of the program of train on cpu:8",
        {"programs": [PROGRAM], "programs_now": {("cpu:8", "train"): "1" * 64}},
    ),
    ("EXP604", {"metrics": {}}, "has no metric", {"metrics": {}, "kind": "verify"}),
    (
        "EXP605",
        {"source": SourceState(commit="1" * 40, dirty=True, undigested="x has 1 GiB")},
        "has no digest: x has 1 GiB",
        {"source": SourceState(commit="1" * 40, dirty=True, dirty_digest="1" * 64)},
    ),
    (
        "EXP606",
        {"metrics": {}, "kind": "verify", "conclusion": "faster"},
        "neither a metric nor a verdict",
        {"metrics": {}, "kind": "verify", "conclusion": "faster", "verdicts": [PASSED]},
    ),
    ("EXP607", {"config": NO_SEED}, "no seed is named", {"config": NO_SEED | {"rng": {"root": {"seed": 0}}}}),
    ("EXP608", {"source": SourceState()}, "names no commit", {}),
    (
        "EXP609",
        {"programs": [PROGRAM.model_copy(update={"contract_digest": "0" * 64})]},
        "compiled for another version of c.contract.yaml",
        {"programs": [PROGRAM]},
    ),
    (
        "EXP610",
        {"conclusion": "faster", "verdicts": [PASSED, FAILED]},
        "`verify` did not pass",
        {"verdicts": [PASSED, FAILED]},
    ),
    ("EXP611", {"metrics": {"loss": Metric(count=2, not_finite=1)}}, "loss is not finite in 1 of 2 values", {}),
]


def judged(change: Change) -> list[Finding]:
    change = dict(change)
    now, says, programs = (change.pop(name, None) for name in ("files_now", "says", "programs_now"))
    promised = change.pop("promised", None)
    record = small(**change)
    recomputed = Recomputed(WHOLE if now is None else now, says, programs or {})
    evidence = RecordEvidence(
        record.file_name,
        record.digest,
        promised or record.digest,
        None if promised else record,
        recomputed,
    )
    return judge_record(evidence)


@pytest.mark.parametrize(("code", "bad", "said", "good"), CASES)
def test_a_broken_promise_gives_its_finding_alone_and_its_twin_none(
    code: str, bad: Change, said: str, good: Change
) -> None:
    found = judged(bad)
    assert [each.code for each in found] == [code] and said in found[0].message, [each.message for each in found]
    assert [each.message for each in judged(good)] == []


def test_every_rule_has_a_case() -> None:
    assert {rule.code for rule in builtin_rules("record")} == {code for code, *_ in CASES}
