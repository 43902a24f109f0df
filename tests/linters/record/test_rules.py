"""Every rule on records: a record that breaks it, and a twin that differs in the one thing and does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from contract_lint.contracts.finding import Finding
from contract_lint.contracts.record import (
    CheckpointState,
    DataState,
    DeviceState,
    FileDigest,
    Metric,
    ProgramState,
    SourceState,
    VerdictState,
    canonical,
    sha256,
)
from contract_lint.linters.record.evidence import Captured, Recomputed, RecordEvidence, Stated
from contract_lint.linters.record.files import NoFile, tree_digest
from contract_lint.linters.record.judge import judge_record
from contract_lint.linters.registry import builtin_rules

from .small_record import CONFIG, small

Change = Mapping[str, Any]
WHOLE = {file.path: file for file in small().files}
CUT = FileDigest(path="run/1/d", sha256="0" * 64, bytes=0)
FLIPPED = FileDigest(path="run/1/d", sha256=sha256("e"), bytes=1)
SAME = sha256(canonical(CONFIG))
PROGRAM = ProgramState(target="cpu:8", step="train", sha256="1" * 64, contract_digest=SAME, capture="cap")
PASSED = VerdictState(verb="verify", verdict="pass", headline="PASS small: every promise holds.", source="report.json")
FAILED = VerdictState(verb="verify", verdict="fail", headline="FAIL small: 1 error.", source="report.json")
FELL = FAILED.model_copy(update={"source": "m.jsonl"})
OWN = PASSED.model_copy(update={"source": None})
VERIFIED = {"metrics": {}, "kind": "verify", "verdicts": [OWN]}
LINK = NoFile("is a symbolic link", "a symbolic link", "put the file there")
LOSS = Metric(count=1, last=1.5, source="m.jsonl")
SAYS = {"m.jsonl": {"loss": LOSS}}
MEASURED = Metric(count=1, last=1.5)
CLEAN = SourceState(commit="1" * 40, dirty=False)
MARKER = FileDigest(path="run/2/_CHECKPOINT_METADATA", sha256=sha256("c"), bytes=1)
MARKED = {"files": [*small().files, MARKER], "files_now": WHOLE | {MARKER.path: MARKER}}
SECOND = CheckpointState(folder="run/2", root=tree_digest({"_CHECKPOINT_METADATA": MARKER}), files=1)
NO_SEED = CONFIG | {"step": {"train": {"entry": "m:build"}}}
SECTION = small().contract.model_copy(update={"sections": small().contract.sections | {"name": "0" * 64}})
ROOT = CheckpointState(folder="run/1", root="sha256:" + "0" * 64, files=1)
DEVICE = DeviceState(target="cpu:8", devices=8, kind="cpu", mesh={"data": 4}, effort="full", xla_flags=["--xla_x=1"])
OTHER = DEVICE.model_copy(update={"effort": "fast"})
LISTED = FileDigest(path="d.json", sha256=sha256("d"), bytes=1)
DATA = {
    "data": [DataState(manifest="d.json", root="sha256:" + "1" * 64)],
    "files": [*small().files, LISTED],
    "files_now": WHOLE | {LISTED.path: LISTED},
}


MADE = "cap/manifest.json"
CAPTURE = {
    "programs": [PROGRAM],
    "devices": [DEVICE],
    "files": [*small().files, FileDigest(path=MADE, sha256=sha256("m"), bytes=1)],
    "files_now": WHOLE | {MADE: FileDigest(path=MADE, sha256=sha256("m"), bytes=1)},
}
"""A record with a capture."""
COMPILED = {"programs": [PROGRAM.model_copy(update={"capture": None})], "devices": [DEVICE]}
LOWERED = {"programs": [PROGRAM.model_copy(update={"capture": None, "level": "lowered"})], "devices": [DEVICE]}
TRAINED = LOWERED | {"kind": "train", "metrics": {"loss": MEASURED}}


def _holds(device: DeviceState = DEVICE, *, others: Sequence[str] = (), **changes: Any) -> dict[str, Captured]:
    """What the capture holds: PROGRAM but for the changes."""
    program = PROGRAM.model_copy(update=changes)
    return {"cap": Captured(device, {(program.target, program.step): program}, (MADE, *others))}


# Rule -> what is wrong, what is said, and the twin.
CASES: list[tuple[str, Change, str, Change]] = [
    ("EXP601", {"promised": "0" * 64}, "was changed after it was written", {}),
    ("EXP602", {"files_now": WHOLE | {"run/1/d": None}}, "a bound file is not there", {"files_now": WHOLE}),
    ("EXP602", {"files_now": WHOLE | {"run/1/d": CUT}}, "1 B then, 0 B now", {"files_now": WHOLE}),
    ("EXP602", {"files_now": WHOLE | {"run/1/d": FLIPPED}}, "a bound file has another content", {"files_now": WHOLE}),
    ("EXP602", {"files_now": WHOLE | {"run/1/d": LINK}}, "a bound file is a symbolic link", {"files_now": WHOLE}),
    ("EXP602", {"added": {"run/1": ["run/1/e"]}}, "the checkpoint run/1 has a file that was not in it", {"added": {}}),
    ("EXP603", {"contract": SECTION}, "the digest of the section name", {}),
    ("EXP603", {"checkpoints": [ROOT]}, "the digest of the checkpoint run/1", {}),
    ("EXP603", {"says": "0" * 64}, "the digest of what c.contract.yaml says", {"says": SAME}),
    (
        "EXP603",
        DATA | {"data_now": {"d.json": "sha256:" + "2" * 64}},
        "the digest of the data that d.json lists",
        DATA | {"data_now": {"d.json": "sha256:" + "1" * 64}},
    ),
    ("EXP604", {"metrics": {}}, "has no metric", VERIFIED),
    (
        "EXP605",
        {"source": SourceState(commit="1" * 40, dirty=True, undigested="x has 1 GiB")},
        "has no digest: x has 1 GiB",
        {"source": SourceState(commit="1" * 40, dirty=True, dirty_digest="1" * 64)},
    ),
    (
        "EXP606 EXP604",
        {"metrics": {}, "conclusion": "faster"},
        "neither a metric nor a verdict",
        {"conclusion": "faster", "verdicts": [PASSED]},
    ),
    ("EXP607", {"config": NO_SEED}, "no seed is named", {"config": NO_SEED | {"rng": {"root": {"seed": 0}}}}),
    ("EXP608", {"source": SourceState()}, "names no commit", {}),
    ("EXP608", {"source": SourceState(undigested="there is no `git` on PATH")}, "no commit: there is no `git`", {}),
    (
        "EXP605",
        {"source": SourceState(commit="1" * 40, undigested="git says: bad object")},
        "nothing says whether the source differed from commit",
        {"source": CLEAN},
    ),
    (
        "EXP609",
        CAPTURE | {"programs": [PROGRAM.model_copy(update={"contract_digest": "0" * 64})]},
        "compiled for another version of c.contract.yaml",
        CAPTURE,
    ),
    (
        "EXP610",
        {"conclusion": "faster", "verdicts": [PASSED, FELL]},
        "`verify` did not pass",
        {"verdicts": [PASSED, FELL]},
    ),
    *(
        ("EXP612", {"metrics_now": {"m.jsonl": now}}, "loss is not what m.jsonl says", {"metrics_now": SAYS})
        for now in (
            None,
            {"loss": LOSS.model_copy(update={"last": 2.5})},
            {"loss": LOSS.model_copy(update={"count": 2})},
        )
    ),
    ("EXP612", {"metrics_now": {"m.jsonl": {**SAYS["m.jsonl"], "acc": LOSS}}}, "acc is not what m.jsonl says", {}),
    *(
        (
            "EXP612",
            {"verdicts": [PASSED], "verdicts_now": {"report.json": now}},
            "the verdict is not what report.json says",
            {"verdicts": [PASSED], "verdicts_now": {"report.json": PASSED}},
        )
        for now in (None, FAILED, PASSED.model_copy(update={"findings": ["SHD204 1"]}))
    ),
    ("EXP613", {"called": "other"}, "another name than its file", {}),
    ("EXP613", {"name": "other"}, "another name than its contract", {}),
    *(
        ("EXP613", {"source": SourceState(**source)}, said, {"source": CLEAN})
        for source, said in (
            ({"commit": "1" * 40, "dirty": False, "dirty_digest": "1" * 64}, "called clean"),
            (
                {"commit": "1" * 40, "dirty": True, "dirty_digest": "1" * 64, "undigested": "x"},
                "a digest, and a reason why it has none",
            ),
            ({"commit": "1" * 40}, "does not say whether it was dirty"),
        )
    ),
    ("EXP613", {"kind": "verify", "metrics": {}}, "has other verdicts", VERIFIED),
    ("EXP613", {"verdicts": [OWN]}, "has other verdicts", {"verdicts": [PASSED]}),
    ("EXP613", {"metrics": {"loss": Metric(count=1, last=1.5)}}, "has other metrics: loss", {}),
    ("EXP613", {"kind": "train"}, "has other metrics: loss", {"kind": "train", "metrics": {"loss": MEASURED}}),
    ("EXP613", VERIFIED | {"conclusion": "faster"}, "has a conclusion or a report", VERIFIED),
    ("EXP613", {"metrics": {"loss": LOSS.model_copy(update={"source": "n"})}}, "rests on n, and does not bind it", {}),
    ("EXP613", {"verdicts": [PASSED] * 2}, "the verdict of report.json stands twice", {"verdicts": [PASSED]}),
    ("EXP613", {"checkpoints": small().checkpoints * 2}, "the checkpoint run/1 stands twice", {}),
    ("EXP613", CAPTURE | {"programs": [PROGRAM] * 2}, "on cpu:8 in cap stands twice", CAPTURE),
    ("EXP613", MARKED, "none of those listed", MARKED | {"checkpoints": [*small().checkpoints, SECOND]}),
    ("EXP613", VERIFIED | LOWERED, "has another program: train on cpu:8", VERIFIED | COMPILED),
    ("EXP613", TRAINED | COMPILED, "has another program: train on cpu:8", TRAINED),
    ("EXP613 EXP614", COMPILED, "has another program: train on cpu:8", CAPTURE),
    (
        "EXP613",
        CAPTURE | {"files": small().files},
        "rests on cap/manifest.json, and does not bind it",
        CAPTURE | {"captures_now": _holds()},
    ),
    ("EXP613", TRAINED | {"devices": []}, "a program was compiled for cpu:8, and no devices of it are named", TRAINED),
    *(
        ("EXP614", CAPTURE | {"captures_now": now}, said, CAPTURE | {"captures_now": _holds()})
        for now, said in (
            ({"cap": None}, "the files of cap are no capture that can be read"),
            (_holds(sha256="2" * 64), "the program of train on cpu:8 is another than the one in cap"),
            (_holds(contract_digest="2" * 64), "in cap was compiled for another contract"),
            (_holds(others=["cap/train/facts.json"]), "cap/train/facts.json is of the capture cap"),
            ({"cap": Captured(DEVICE, {}, (MADE,))}, "the program of train on cpu:8 is in no such capture: cap"),
        )
    ),
    (
        "EXP614",
        CAPTURE | {"programs": [PROGRAM], "captures_now": _holds() | {"b": Captured(DEVICE, _holds()["cap"].programs)}},
        "is in the capture, and the record leaves it out: b",
        CAPTURE | {"captures_now": _holds()},
    ),
    *(
        (
            "EXP614",
            CAPTURE | {"devices": [DEVICE.model_copy(update=changed)], "captures_now": _holds()},
            "the devices of cpu:8 are not those of the capture",
            CAPTURE | {"captures_now": {"other": Captured(OTHER, {})} | _holds()} | {"programs": [PROGRAM]},
        )
        for changed in ({"xla_flags": []}, {"devices": 4}, {"mesh": {"data": 8}}, {"kind": "tpu"}, {"effort": "fast"})
    ),
    ("EXP614", {"devices": [DEVICE]}, "the devices of cpu:8 are those of no capture", {}),
    (
        "EXP611",
        {"metrics": {"loss": Metric(count=2, not_finite=1, source="m.jsonl")}},
        "loss is not finite in 1 of 2 values",
        {},
    ),
]


def _states(**said: Any) -> Change:
    """What a bound report says of its contract."""
    return {"stated": {"report.json": Stated("the report report.json", **said)}}


SECTIONS = small().contract.sections
CASES += [
    ("EXP615", _states(**bad), f"report.json is of another contract than c.contract.yaml{more}", _states(**good))
    for bad, more, good in (
        ({"digests": [SAME, "2" * 64]}, "", {"digests": [SAME], "files": ["o.contract.yaml"]}),
        ({"files": ["o.contract.yaml"]}, "", {"files": ["a/o.contract.yaml", "../c.contract.yaml"]}),
        ({"sections": SECTIONS | {"step": "2" * 64}}, ": step differs", {"sections": SECTIONS | {"mesh": "2" * 64}}),
        ({"sections": SECTIONS | {"name": "2" * 64, "rng": "2" * 64}}, ": name, rng differ", {"sections": SECTIONS}),
        ({"sections": {"name": SECTIONS["name"]}}, ": step differs", {}),
    )
]


def judged(change: Change) -> list[Finding]:
    change = dict(change)
    now, says = (change.pop(name, None) for name in ("files_now", "says"))
    results = {name: change.pop(f"{name}_now", {}) for name in ("metrics", "verdicts", "captures", "data")}
    results |= {name: change.pop(name, {}) for name in ("added", "stated")}
    promised, called = (change.pop(name, None) for name in ("promised", "called"))
    record = small(**change)
    recomputed = Recomputed(WHOLE if now is None else now, says, **results)
    evidence = RecordEvidence(
        f"{called}.{record.digest}.record.json" if called else record.file_name,
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
    assert [each.code for each in found] == code.split() and said in found[0].message, [each.message for each in found]
    assert [each.message for each in judged(good)] == []


def test_every_rule_has_a_case() -> None:
    assert {rule.code for rule in builtin_rules("record")} == {each for code, *_ in CASES for each in code.split()}
