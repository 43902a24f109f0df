"""Every rule on records: a record that breaks it, and a twin that differs in the one thing and does not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from contract_lint.contracts.finding import Finding
from contract_lint.contracts.record import (
    CheckpointState,
    DataState,
    DeviceState,
    FileDigest,
    ProgramState,
    SourceState,
    StepRange,
    VerdictState,
    canonical,
    sha256,
    summarised,
)
from contract_lint.linters.record.evidence import Captured, Recomputed, RecordEvidence, Stated
from contract_lint.linters.record.files import NoFile, tree_digest
from contract_lint.linters.record.judge import judge_record
from contract_lint.linters.record.rules import not_of_contract
from contract_lint.linters.registry import builtin_rules
from contract_lint.linters.trace.rules import mesh_mismatch

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
LINK = NoFile("is a symbolic link", "a symbolic link", "put the file there")
LOSS = summarised([1.5], "m.jsonl")
SAYS = {"m.jsonl": {"loss": LOSS}}
MEASURED = summarised([1.5])
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
COUNTS = {"error": 0, "warning": 0, "info": 0}
OWN = VerdictState(
    verb="verify",
    verdict="pass",
    headline="PASS small on cpu:8: every promise holds.",
    targets=["cpu:8"],
    summary=COUNTS,
)
VERIFIED = COMPILED | {
    "metrics": {},
    "checkpoints": [],
    "files": small().files[:-1],
    "kind": "verify",
    "verdicts": [OWN],
}
LOWERED = {"programs": [PROGRAM.model_copy(update={"capture": None, "level": "lowered"})], "devices": [DEVICE]}
TRAINER = DEVICE.model_copy(update={"effort": None})
TRAINED = LOWERED | {"devices": [TRAINER], "kind": "train", "metrics": {"loss": MEASURED}}


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
    (
        "EXP602",
        {"files_now": WHOLE | {"run/1/d": None}, "gone": {"run/1": LINK}},
        "a bound checkpoint is a symbolic",
        {},
    ),
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
        "EXP606",
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
    ("EXP613", VERIFIED | {"verdicts": []}, "has other verdicts", VERIFIED),
    ("EXP613", {"verdicts": [OWN]}, "has other verdicts", {"verdicts": [PASSED]}),
    ("EXP613", {"metrics": {"loss": MEASURED}}, "has other metrics: loss", {}),
    ("EXP613", TRAINED | {"metrics": {"loss": LOSS}}, "has other metrics: loss", TRAINED),
    ("EXP613", VERIFIED | {"conclusion": "faster"}, "has a conclusion or a report", VERIFIED),
    ("EXP613", {"metrics": {"loss": LOSS.model_copy(update={"source": "n"})}}, "rests on n, and does not bind it", {}),
    ("EXP613", {"verdicts": [PASSED] * 2}, "twice in the record: the verdict of report.json", {"verdicts": [PASSED]}),
    ("EXP613", {"checkpoints": small().checkpoints * 2}, "twice in the record: the checkpoint run/1", {}),
    (
        "EXP613",
        CAPTURE | {"programs": [PROGRAM] * 2},
        "twice in the record: the program of train on cpu:8 in cap",
        CAPTURE,
    ),
    ("EXP613", MARKED, "none of those listed", MARKED | {"checkpoints": [*small().checkpoints, SECOND]}),
    (
        "EXP613",
        VERIFIED | {"programs": LOWERED["programs"]},
        "has another program: train on cpu:8",
        VERIFIED | COMPILED,
    ),
    ("EXP613", TRAINED | {"programs": COMPILED["programs"]}, "has another program: train on cpu:8", TRAINED),
    ("EXP613 EXP614", COMPILED, "has another program: train on cpu:8", CAPTURE),
    (
        "EXP613",
        CAPTURE | {"files": small().files},
        "rests on cap/manifest.json, and does not bind it",
        CAPTURE | {"captures_now": _holds()},
    ),
    ("EXP613 EXP616", TRAINED | {"devices": []}, "compiled for cpu:8, and no devices of it are named", TRAINED),
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
        CAPTURE
        | {"devices": [DEVICE] * 2, "captures_now": _holds() | {"b": Captured(DEVICE, _holds()["cap"].programs)}},
        "is in the capture, and the record leaves it out: b",
        CAPTURE | {"captures_now": _holds()},
    ),
    *(
        (
            "EXP614",
            CAPTURE | {"devices": [DEVICE.model_copy(update=changed)], "captures_now": _holds()},
            "the devices of cpu:8 are not those of the capture",
            CAPTURE | {"captures_now": {"other": Captured(OTHER, {})} | _holds(), "devices": [OTHER, DEVICE]},
        )
        for changed in ({"xla_flags": []}, {"devices": 4}, {"mesh": {"data": 8}}, {"kind": "tpu"}, {"effort": "fast"})
    ),
    (
        "EXP614",
        CAPTURE | {"devices": [DEVICE] * 2, "captures_now": _holds()},
        "not as many devices as captures",
        CAPTURE | {"captures_now": _holds()},
    ),
    ("EXP614", {"devices": [DEVICE]}, "the devices of cpu:8 are those of no capture", {}),
    (
        "EXP611",
        {"metrics": {"loss": summarised([1.5, math.nan], "m.jsonl")}},
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


def _measured(**changed: Any) -> Change:
    """A training run with these figures of ten losses, which end with the least."""
    return TRAINED | {
        "metrics": {"loss": summarised([float(11 - each) for each in range(1, 11)]).model_copy(update=changed)}
    }


CASES += [
    ("EXP617", _measured(**changed), f"these figures of loss: {said}", _measured())
    for changed, said in (
        ({"last": 0.5}, "least 1.0, last 0.5"),
        ({"last": 10.5}, "last 10.5, most 10.0"),
        ({"mean": 0.9}, "least 1.0, mean 0.9"),
        ({"mean": 11.0}, "mean 11.0, most 10.0"),
        ({"p50": 9.5}, "p50 9.5, p90 9.0"),
        ({"p99": 9.5}, "p99 9.5 of 10 values, and most 10.0"),
        ({"count": 0}, "0 of 0 values are not finite"),
        ({"least": None}, "there is no least"),
        ({"last": None}, "there is no last"),
    )
]
CASES += [
    ("EXP617 EXP611", _measured(not_finite=11), "11 of 10 values are not finite", _measured()),
    ("EXP617 EXP611", _measured(not_finite=10), "no value is finite, and there is least 1.0", _measured()),
    ("EXP617", {"metrics": {"loss": LOSS.model_copy(update={"p50": 1.0})}}, "least 1.5, p50 1.0", {}),
    ("EXP617", {"metrics": {"loss": LOSS.model_copy(update={"most": 2.0})}}, "p50 1.5 of 1 value, and most 2.0", {}),
]


def _said(**changed: Any) -> Change:
    """What `verify` said when it had found an error and a warning."""
    failed = {
        "verdict": "fail",
        "headline": "FAIL small on cpu:8: 1 error and 1 warning, 2 consequences. First: 3 errors and 7 infos.",
        "summary": COUNTS | {"error": 1, "warning": 1},
        "findings": ["SHD204 0123456789abcdef", "MEM202 0123456789abcdee"],
    }
    return VERIFIED | {"verdicts": [OWN.model_copy(update=failed | changed)]}


NEVER = "PASS small on cpu:8: 1 error and 1 warning, none of which fails: --fail-on never. First: x."
CASES += [
    (" ".join(["EXP618"] * count), _said(**changed), said, _said())
    for changed, said, count in (
        ({"verdict": "pass"}, "the verdict is pass, and its first line says FAIL", 2),
        ({"summary": COUNTS | {"error": 1}}, "counts other warning findings", 2),
        ({"summary": COUNTS | {"error": 2}}, "counts other error findings", 2),
        ({"summary": {"error": 1}}, "findings are counted by other severities", 1),
        ({"findings": ["SHD204 0123456789abcdef"]}, "not as many findings as are counted", 1),
        ({"findings": ["SHD204 0123456789abcdef", "x"]}, "a finding is no code with its fingerprint", 1),
        ({"headline": "FAIL small on cpu:8: no finding.", "summary": COUNTS, "findings": []}, "nothing was found", 1),
        ({"headline": NEVER.replace(" --fail-on never", ""), "verdict": "pass"}, "the verdict is not fail", 1),
    )
]
CASES += [("EXP618", _said(headline=NEVER), "its first line says PASS", _said(headline=NEVER, verdict="pass"))]


def _device(of: Change, **changed: Any) -> Change:
    """A record whose one device is another."""
    (device,) = of["devices"]
    return of | {"devices": [device.model_copy(update=changed)]}


def _meshed(of: Change, size: int) -> Change:
    """A record whose contract says how many devices the mesh has."""
    config = CONFIG | {"mesh": {"axes": {"data": size, "fsdp": 1}}}
    (program,) = of["programs"]
    made = program.model_copy(update={"contract_digest": sha256(canonical(config))})
    return of | {"config": config, "programs": [made]}


MISMATCH = ["SHD214 0123456789abcdef", "MEM202 0123456789abcdee"]
OTHER_STEP = {"programs": [COMPILED["programs"][0].model_copy(update={"step": "other"})]}
CASES += [
    ("EXP616", bad, said, good)
    for bad, said, good in (
        (_device(VERIFIED, devices=4), "cpu:8 has another number of devices", VERIFIED),
        (_device(VERIFIED, kind="TPU v5"), "the devices of cpu:8 are of another kind", VERIFIED),
        (_device(VERIFIED, effort="fast"), "with another effort", VERIFIED),
        (_device(TRAINED, effort="full"), "with another effort", TRAINED),
        (_device(TRAINED, kind="TPU v5"), "of another kind", TRAINED),
        (
            TRAINED | {"flags": {"cpu:8": []}},
            "the flags on cpu:8 are not",
            TRAINED | {"flags": {"cpu:8": ["--xla_x=1"]}},
        ),
        *(
            (
                TRAINED | {"steps": StepRange(first=bad[0], last=bad[1])},
                said,
                TRAINED | {"steps": StepRange(first=7, last=7)},
            )
            for bad, said in (((7, 8), "not as many as its losses"), ((7, 6), "not as many as its losses"))
        ),
        (VERIFIED | {"steps": StepRange(first=1, last=1)}, "a record of kind `verify` went over steps", VERIFIED),
        (TRAINED | {"programs": []}, "a training run has another number of programs", TRAINED),
        (VERIFIED | {"programs": []}, "the step train was verified on cpu:8, and has no program", VERIFIED),
        (VERIFIED | {"verdicts": [OWN.model_copy(update={"targets": ["cpu:4"]})]}, "the verdict is on other", VERIFIED),
        (
            VERIFIED | {"checkpoints": small().checkpoints, "files": small().files},
            "`verify` has a checkpoint",
            VERIFIED,
        ),
        (_meshed(VERIFIED, 8), "the mesh on cpu:8 is not the contract's", _meshed(VERIFIED, 4)),
        (_meshed(TRAINED, 8), "the mesh on cpu:8 is not the contract's", _meshed(TRAINED, 4)),
        (_meshed(_said(), 8), "the mesh on cpu:8 is not the contract's", _meshed(_said(findings=MISMATCH), 8)),
        (
            VERIFIED | {"metrics": {"loss[cpu:4 train]": MEASURED}},
            "the metric loss[cpu:4 train] is of no program",
            VERIFIED | {"metrics": {"loss[cpu:8 train]": MEASURED}},
        ),
    )
]
CASES += [
    ("EXP616 EXP616", VERIFIED | OTHER_STEP, "the program of other on cpu:8 is of no step of the contract", VERIFIED),
    ("EXP616 EXP616", VERIFIED | {"programs": [], "devices": []}, "a record of kind `verify` has no devices", VERIFIED),
    (
        "EXP613",
        VERIFIED | {"programs": COMPILED["programs"] * 2},
        "twice in the record: the program of train on cpu:8",
        VERIFIED,
    ),
    ("EXP613 EXP616", VERIFIED | {"devices": [DEVICE] * 2}, "twice in the record: the devices of cpu:8", VERIFIED),
]


def judged(change: Change) -> list[Finding]:
    change = dict(change)
    now, says = (change.pop(name, None) for name in ("files_now", "says"))
    results = {name: change.pop(f"{name}_now", {}) for name in ("metrics", "verdicts", "captures", "data")}
    results |= {name: change.pop(name, {}) for name in ("added", "gone", "stated", "flags")}
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
    messages = [each.message for each in found]
    assert [each.code for each in found] == code.split() and any(said in each for each in messages), messages
    assert [each.message for each in judged(good)] == []


def test_the_rule_on_meshes_is_called_by_its_code() -> None:
    assert mesh_mismatch.RULE.code == not_of_contract.MESH


def test_every_rule_has_a_case() -> None:
    assert {rule.code for rule in builtin_rules("record")} == {each for code, *_ in CASES for each in code.split()}
