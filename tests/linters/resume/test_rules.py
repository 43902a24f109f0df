"""Every rule on a resume: facts that break it, and the twin that differs in the one thing and does not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.finding import Finding
from contract_lint.contracts.load import LoadedContract, load_contract
from contract_lint.contracts.manifest import Comparison
from contract_lint.contracts.resume import Failed, LegSeen, ResumeFacts, StepSeen
from contract_lint.linters.registry import builtin_rules
from contract_lint.linters.resume.evidence import ResumeEvidence
from contract_lint.linters.resume.judge import judge_resume

MESH = {"data": 8, "fsdp": 1}


def seen(step: int, **values: str) -> StepSeen:
    """What a step gives that is done right; `w` and `mu` are arrays of the state."""
    state = {"params/w": values.pop("w", f"w{step}"), "opt_state/mu": values.pop("mu", f"mu{step}")}
    right = {"loss": f"{1 / max(step, 1)!r}", "batch": f"b{step}", "rng": f"r{step}", "learning_rate": f"{step / 8!r}"}
    return StepSeen(step=step, values=right | values, state=state)


def leg(restored: int, *steps: StepSeen, **fields: Any) -> LegSeen:
    state = fields.pop("state", seen(restored).state if restored else {})
    return LegSeen(**({"mesh": MESH, "restored": restored, "state": state, "seen": list(steps)} | fields))


def compared(ratio: float | None) -> Comparison:
    return Comparison(
        role="loss", path="loss", ratio=ratio, error=0.1, bound=1.0, floor=None, method="m", sharded=2.0, reference=1.0
    )


BEGUN = leg(0, seen(1), seen(2), saved=[1], begun=2, killed="before the commit", committed=1)
TORN = BEGUN.model_copy(update={"killed": "at its first write", "killed_at": "2/w.npy", "committed": None})
FAILED = leg(0, failed=Failed(method="restore", error="EOFError: no data", frames=("run.py:4 in restore",)))
SECOND = leg(1, seen(2), seen(3), saved=[2], begun=3, killed="between items", committed=2)
LAST = leg(2, seen(3), seen(4))
CAST = leg(3, seen(4), state=seen(3, w="cast").state)
OTHER_MESH = {"mesh": {"data": 4, "fsdp": 2}}
ON_ANOTHER = leg(1, seen(2), **OTHER_MESH)


ANEW = seen(1, mu="mu0").state
"""What a restore of the weights of step 1 alone gives."""


def facts(legs: Sequence[LegSeen] = (BEGUN, SECOND, LAST), **fields: Any) -> ResumeFacts:
    unbroken = leg(0, *(seen(step) for step in (1, 2, 3, 4)), saved=[1], state=seen(0).state)
    return ResumeFacts(step="train", target="cpu:8", own=True, unbroken=unbroken, legs=list(legs), **fields)


def held(state: dict[str, str] | None, lacking: Sequence[str] = ()) -> ResumeFacts:
    """What a run that never stops tells of its state: always the same."""
    right = facts()
    told = [right.unbroken, *right.legs]
    if state is not None:
        told = [
            each.model_copy(
                update={"state": state, "seen": [one.model_copy(update={"state": state}) for one in each.seen]}
            )
            for each in told
        ]
    unbroken = told[0].model_copy(update={"lacking": list(lacking)})
    return right.model_copy(update={"unbroken": unbroken, "legs": told[1:]})


# Rule -> what is wrong, and what is said.
CASES: list[tuple[str, ResumeFacts, str]] = [
    (
        "CKP701",
        facts([BEGUN, leg(1, seen(2, loss="0.75"), saved=[2]), LAST]),
        "behind the first resume, step 2 gives the loss 0.75, and 0.5 in the run that never stopped",
    ),
    (
        "CKP701",
        facts([BEGUN, SECOND, leg(2, seen(3, mu="other"))]),
        "behind the second resume, opt_state/mu of the state after step 3 is not that of the run that never stopped (1",
    ),
    (
        "CKP702",
        facts([BEGUN, SECOND, leg(2, seen(3, batch="b2"))]),
        "behind the second resume, step 3 is given the batch of step 2",
    ),
    (
        "CKP702",
        facts([BEGUN, leg(1, seen(2, batch="b9"), saved=[2]), LAST]),
        "step 2 is given a batch that the run that never stopped has not seen",
    ),
    (
        "CKP703",
        facts([BEGUN, leg(1, seen(2, rng="r1"), saved=[2]), LAST]),
        "behind the first resume, step 2 draws from the keys of step 1",
    ),
    (
        "CKP704",
        facts([BEGUN, leg(1, seen(2, learning_rate="0.125"), saved=[2]), LAST]),
        "step 2 has the learning rate 0.125, and 0.25 in the run that never stopped",
    ),
    (
        "CKP705",
        facts([BEGUN, leg(0, seen(1), saved=[1], committed=1), leg(1, seen(2))]),
        "the run was killed before the commit of the save of step 2, and begins anew; step 1 was committed",
    ),
    (
        "CKP705",
        facts([BEGUN, leg(2, seen(3), saved=[3], committed=3), leg(3, seen(4))]),
        "and goes on from step 2; step 1 was committed",
    ),
    (
        "CKP705",
        facts([TORN, leg(2, seen(3), state=seen(2, w="half").state), leg(2, state=seen(2, w="half").state)]),
        "killed at the first write of the save of step 2 (2/w.npy), and goes on from that torn step: params/w is",
    ),
    (
        "CKP705",
        facts([TORN, FAILED]),
        "and then its `restore()` fails: EOFError: no data; step 1 was committed",
    ),
    (
        "CKP705",
        facts([leg(0, seen(1), saved=[1]), leg(0, seen(1))]),
        "the run ended behind the save of step 1, and begins anew; step 1 was committed",
    ),
    (
        "CKP706",
        facts([BEGUN, leg(1, seen(2), state=seen(1, w="cast").state, saved=[2]), LAST]),
        "behind the first resume, params/w of step 1 is not what it was (1 of 2 arrays)",
    ),
    (
        "CKP706",
        facts(meshes=[leg(1, seen(2), state={"params/w": "w1"}, **OTHER_MESH)]),
        "restored from data 8 x fsdp 1 onto data 4 x fsdp 2, opt_state/mu of step 1 is gone (1 of 2 arrays)",
    ),
    (
        "CKP707",
        facts(meshes=[leg(1, seen(2), compared=compared(2.0), **OTHER_MESH)]),
        "behind step 1 the loss is 2.0 on data 4 x fsdp 2 and 1.0 on data 8 x fsdp 1: 2 times what rounding explains",
    ),
    ("CKP707", facts(meshes=[leg(1, seen(2), compared=compared(None), **OTHER_MESH)]), "not finite"),
    (
        "CKP706",
        facts([BEGUN, leg(1, seen(2), state=seen(1, w="w0").state, saved=[2]), LAST]),
        "behind the first resume, params/w of step 1 is not what it was (1 of 2 arrays)",
    ),
    (
        "CKP706",
        facts([BEGUN, leg(1, seen(2), state=seen(1, w="w0", mu="mu0").state, saved=[2]), LAST]),
        "behind the first resume, params/w of step 1 is not what it was (2 of 2 arrays)",
    ),
    (
        "CKP706",
        facts([BEGUN, leg(1, seen(2), state=seen(1, mu="cast").state, saved=[2]), LAST]),
        "opt_state/mu of step 1 is not what it was (1 of 2 arrays)",
    ),
    (
        "CKP708",
        facts([BEGUN, leg(1, seen(2), state=ANEW, saved=[2]), LAST]),
        "WARM START: behind the first resume, the parameters are those that were saved, but the optimizer state "
        "(1 array) begins anew",
    ),
    (
        "CKP708",
        facts(missing=["step", "optimizer slot nu"]),
        "WARM START: what is saved has no step, no optimizer slot",
    ),
    ("CKP709", held({}), "`state()` of the step's `resumable` holds no array: nothing shows that what was saved"),
    ("CKP709", held(seen(0).state), "`state()` of the step's `resumable` holds 2 arrays, and none moved in 4 steps"),
    (
        "CKP709",
        held(None, ["state/nu"]),
        "`state()` of the step's `resumable` lacks 1 array that the step carries over",
    ),
]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LoadedContract:
    path = tmp_path_factory.mktemp("resume") / "small.contract.yaml"
    path.write_text("contract: 1\nname: small\nstep: { train: { entry: 'm:build' } }\n")
    return load_contract(path)


def judged(loaded: LoadedContract, given: ResumeFacts, strict: bool = False) -> list[Finding]:
    return judge_resume(ResumeEvidence(given, loaded, strict))


@pytest.mark.parametrize(("code", "bad", "said"), CASES)
def test_a_broken_promise_gives_its_finding_alone(
    loaded: LoadedContract, code: str, bad: ResumeFacts, said: str
) -> None:
    found = judged(loaded, bad)
    roots = [each for each in found if each.is_root]
    assert [each.code for each in roots] == [code] and said in roots[0].message, [each.message for each in found]
    assert {each.code for each in found if not each.is_root} <= ({"CKP706"} if code in ("CKP705", "CKP708") else set())


def test_the_twin_of_all_is_clean(loaded: LoadedContract) -> None:
    within = facts(meshes=[leg(1, seen(2), compared=compared(0.5), **OTHER_MESH)])
    assert judged(loaded, facts(meshes=[ON_ANOTHER])) == [] and judged(loaded, within) == []
    assert judged(loaded, held(None)) == []


def test_a_save_that_was_committed_before_the_kill_is_taken_up(loaded: LoadedContract) -> None:
    committed = BEGUN.model_copy(update={"committed": 2})
    assert judged(loaded, facts([committed, leg(2, seen(3)), leg(2, seen(3))])) == []
    unknown = BEGUN.model_copy(update={"committed": None})
    for restored in (1, 2):
        assert judged(loaded, facts([unknown, leg(restored, seen(restored + 1))])) == []


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("loss", None, "step 2 gives no loss, and 0.5 in the run that never stopped"),
        ("logits", "sha256:1", "step 2 gives another value of logits than the run that never stopped"),
        ("batch", None, "step 2 tells of no batch"),
        ("rng", None, "step 2 tells of no keys"),
        ("learning_rate", None, "step 2 tells of no learning rate, and 0.25 in the run that never stopped"),
    ],
)
def test_what_a_resumed_run_does_not_tell_is_a_sentence_too(
    loaded: LoadedContract, name: str, value: str | None, said: str
) -> None:
    other = seen(2)
    values = {each: text for each, text in (other.values | {name: value}).items() if text is not None}
    given = facts([BEGUN, leg(1, other.model_copy(update={"values": values}), saved=[2]), LAST])
    if name not in seen(2).values:
        unbroken = given.unbroken
        steps = [each.model_copy(update={"values": each.values | {name: "sha256:0"}}) for each in unbroken.seen]
        given = given.model_copy(update={"unbroken": unbroken.model_copy(update={"seen": steps})})
    (found,) = judged(loaded, given)
    assert said in found.message and found.found == (value or "nothing"), found.message


def test_a_torn_step_that_is_not_taken_up_and_one_that_is_whole_are_clean(loaded: LoadedContract) -> None:
    """Whatever is written first: a marker file may be all that lacks."""
    assert judged(loaded, facts([TORN, SECOND, LAST])) == []
    assert judged(loaded, facts([TORN, leg(2, seen(3)), leg(2, seen(3))])) == []


def test_a_restore_that_never_gives_what_was_saved_is_no_torn_step(loaded: LoadedContract) -> None:
    cast = leg(2, seen(3), state=seen(2, w="cast").state)
    on_mesh = leg(1, seen(2), state=seen(1, w="cast").state, **OTHER_MESH)
    for bad in (facts([TORN, cast], meshes=[on_mesh]), facts([TORN, cast.model_copy(update={"saved": [3]}), CAST])):
        assert {each.code for each in judged(loaded, bad)} == {"CKP706"}


def test_other_numbers_follow_from_another_batch(loaded: LoadedContract) -> None:
    found = judged(loaded, facts([BEGUN, leg(1, seen(2, batch="b1", loss="1.0"), saved=[2]), LAST]))
    cause, effect = sorted(found, key=lambda each: each.code, reverse=True)
    assert (cause.code, effect.code, effect.caused_by) == ("CKP702", "CKP701", cause.fingerprint)


def test_a_warm_start_fails_where_it_is_asked_to(loaded: LoadedContract) -> None:
    missing = facts(missing=["step"])
    assert [judged(loaded, missing, strict)[0].severity for strict in (False, True)] == ["warning", "error"]


def warm(first: LegSeen, **fields: Any) -> ResumeFacts:
    return facts([BEGUN, first, LAST], **fields)


def test_what_follows_from_a_warm_start_is_folded_and_no_worse(loaded: LoadedContract) -> None:
    """Data, keys and schedule from the start, other numbers, the same on other meshes."""
    from_the_start = seen(2, batch="b1", rng="r1", learning_rate="0.125", loss="0.75")
    meshes = [leg(1, seen(2), state=ANEW, compared=compared(2.0), **OTHER_MESH)]
    bad = warm(leg(1, from_the_start, state=ANEW, saved=[2]), meshes=meshes)
    for strict in (False, True):
        found = judged(loaded, bad, strict)
        (root,) = [each for each in found if each.is_root]
        assert root.code == "CKP708" and {each.caused_by for each in found if each is not root} == {root.fingerprint}
        codes = sorted(each.code for each in found)
        assert codes == ["CKP701", "CKP702", "CKP703", "CKP704", "CKP706", "CKP706", "CKP707", "CKP708"]
        assert {each.severity for each in found} == {"error" if strict else "warning"}


def test_steps_that_are_counted_anew_are_part_of_a_warm_start(loaded: LoadedContract) -> None:
    found = judged(loaded, warm(leg(0, seen(1), state=ANEW, saved=[2])))
    assert {each.code: each.is_root for each in found}["CKP708"] and "behind a restart" in found[-1].message
    lost = [each for each in found if each.code == "CKP705"]
    assert [each.severity for each in lost] == ["warning"] and not lost[0].is_root
    whole = judged(loaded, warm(leg(0, seen(1), state=seen(0).state, saved=[2])))
    assert {(each.code, each.severity) for each in whole if each.is_root} == {("CKP705", "error")}


def test_a_fault_of_its_own_stays_beside_a_warm_start(loaded: LoadedContract) -> None:
    """A cursor that stands still, an array that was cast on another mesh, a torn step that was taken up."""
    frozen = facts([BEGUN, leg(1, seen(2), state=ANEW, saved=[2]), leg(2, seen(3, batch="b2"))])
    cast = seen(1, w="cast", mu="mu0").state
    mesh = warm(leg(1, seen(2), state=ANEW, saved=[2]), meshes=[leg(1, seen(2), state=cast, **OTHER_MESH)])
    torn = facts([BEGUN, leg(1, seen(2), state=ANEW, saved=[2], committed=2), leg(1, seen(2))])
    for bad, code in ((frozen, "CKP702"), (mesh, "CKP706"), (torn, "CKP705")):
        roots = {each.code: each.severity for each in judged(loaded, bad) if each.is_root}
        assert roots == {"CKP708": "warning", code: "error"}


def test_what_is_not_saved_explains_what_begins_anew(loaded: LoadedContract) -> None:
    found = judged(loaded, warm(leg(1, seen(2, loss="0.75"), state=ANEW, saved=[2]), missing=["optimizer slot mu"]))
    (root,) = [each for each in found if each.is_root]
    assert root.message.startswith("WARM START: what is saved has no optimizer slot mu; behind the first resume, ")
    assert {each.code for each in found} == {"CKP701", "CKP706", "CKP708"}
    cast = judged(loaded, warm(leg(1, seen(2), state=seen(1, w="cast").state, saved=[2]), missing=["step"]))
    assert {each.code for each in cast if each.is_root} == {"CKP706", "CKP708"}


def test_what_is_found_on_meshes_follows_from_a_fault_of_the_resume(loaded: LoadedContract) -> None:
    lost = [leg(1, seen(2), state={"params/w": "cast"}, compared=compared(2.0), **OTHER_MESH)]
    for values, state, on_mesh in (
        ({"batch": "b1"}, None, {"CKP706": True, "CKP707": False}),
        ({}, seen(1, w="cast").state, {"CKP706": False, "CKP707": False}),
    ):
        fields = {} if state is None else {"state": state}
        found = judged(loaded, facts([BEGUN, leg(1, seen(2, **values), saved=[2], **fields), LAST], meshes=lost))
        assert {each.code: each.is_root for each in found if "mesh" in each.details} == on_mesh
    alone = judged(loaded, facts(meshes=lost))
    assert {each.code: each.is_root for each in alone} == {"CKP706": True, "CKP707": False}


def test_what_the_contract_accepts_is_marked(loaded: LoadedContract, tmp_path: Path) -> None:
    path = tmp_path / "accepting.contract.yaml"
    deviation = "deviations: [{ rule: CKP703, match: { subject: rng }, reason: no dropout }]\n"
    path.write_text(f"{Path(loaded.path).read_text()}{deviation}")
    bad = facts([BEGUN, leg(1, seen(2, rng="r1"), saved=[2]), LAST])
    assert [judged(each, bad)[0].status for each in (loaded, load_contract(path))] == ["new", "accepted"]


def test_every_rule_has_a_case() -> None:
    assert {rule.code for rule in builtin_rules("resume")} == {code for code, *_ in CASES}
