"""Every rule on checkpoints: facts that break it, and twins that differ in the one thing and do not."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.data_manifest import DataFile, DataManifest
from contract_lint.contracts.finding import Finding
from contract_lint.contracts.load import load_contract
from contract_lint.contracts.record import section_digests
from contract_lint.linters.checkpoint.evidence import CheckpointEvidence, Digests
from contract_lint.linters.checkpoint.facts import Checkpoint, Fault, Hole, Item, Leaf, Placed, Step, Unlisted
from contract_lint.linters.checkpoint.judge import judge_checkpoint
from contract_lint.linters.checkpoint.observations import Line, Observations
from contract_lint.linters.registry import builtin_rules
from ruamel.yaml import YAML

HEAD = """\
contract: 1
name: small
step: { train: { entry: "m:build" } }
model: { kind: listed, parameters: { embed: [512, 64], norm/scale: [64] } }
dtypes: { master: float32, moments: float32 }
optimizer: { name: adamw }
"""
PARAMETERS = {"embed": (512, 64), "norm/scale": (64,)}
Change = Mapping[str, Any]


def tree(
    shapes: Mapping[str, tuple[int, ...] | None] | None = None, dtypes: Mapping[str, str] | None = None
) -> dict[str, Leaf]:
    """The leaves of a state with Adam's slots; `shapes` changes, adds or (None) takes away."""
    whole = {
        f"{start}/{path}": shape
        for start in ("params", "opt_state/0/mu", "opt_state/0/nu")
        for path, shape in PARAMETERS.items()
    }
    whole |= {"opt_state/0/count": (), "step": (), **(shapes or {})}
    return {
        path: Leaf(path, "array", shape, (dtypes or {}).get(path, "float32"))
        for path, shape in whole.items()
        if shape is not None
    }


def leaves(*shapes: Any, **dtypes: str) -> dict[str, Any]:
    return {"leaves": tree(*shapes, **({"dtypes": dtypes["dtypes"]} if dtypes else {}))}


EVERYWHERE = ("params", "opt_state/0/mu", "opt_state/0/nu")
HEAD_TOO = leaves({f"{at}/head": (4,) for at in EVERYWHERE})
NO_SCALE = leaves({f"{at}/norm/scale": None for at in EVERYWHERE})
NO_MOMENTS = leaves({f"{at}/norm/scale": None for at in EVERYWHERE[1:]})
FOUND = "{ state: { step: step, again: state/step, optimizer: opt_state, file: state/_METADATA, item: data } }"
WITH_DATA = {"files": {"state/_METADATA": 1, "data/metadata": 1}}
STEPS = tuple(Step(str(number), number, "committed", marked=True) for number in (100, 200))
LATER = Step("300.orbax-checkpoint-tmp", 300, "temporary", "its save has not ended")
EARLIER = Step("100.orbax-checkpoint-tmp-7", 100, "temporary", "its save has not ended")
LISTED = DataManifest((DataFile("a", "shard", 1, "sha256:" + hashlib.sha256(b"a").hexdigest(), None),), None)
OTHER = DataManifest((replace(LISTED.files[0], sha256="sha256:" + "0" * 64),), None)

TIMES = [
    DataManifest(
        tuple(DataFile(name, "shard", 1, f"sha256:{digit * 64}", None) for name in ("_CHECKPOINT_METADATA", "a")), None
    )
    for digit in "01"
]

MESH = {"data": 2, "fsdp": 4}
PLACED_AS = """{}
mesh: { axes: { data: 2, fsdp: 4 } }
targets: [cpu:8]
parameters: { logical_axes: { wide: [fsdp] }, rules: [{ match: embed, axes: [wide, null] }] }
"""


def lay(paths: str, *spec: tuple[str, ...], mesh: Mapping[str, int] | None = None) -> Change:
    """The state with the named arrays (a regular expression) in a placement."""
    placed = Placed(MESH if mesh is None else mesh, spec)
    return {
        "section": PLACED_AS,
        "leaves": {
            path: replace(leaf, placed=placed if re.fullmatch(paths, path) else None) for path, leaf in tree().items()
        },
    }


def lay_step(axes: tuple[str, ...], shape: tuple[int, ...]) -> dict[str, Leaf]:
    whole = tree({"step": shape})
    return {**whole, "step": replace(whole["step"], placed=Placed(MESH, (axes,)))}


EMBED = "params/embed"
OBSERVED = "{ observations: { metrics: { every: 100, fields: [loss] } } }"
SEEN = Observations(
    "observations",
    "run/observations",
    {"schema": 1},
    tuple(Line(number, 100 * number, {"step": 100 * number, "loss": 0.5}) for number in (1, 2)),
)
CUT = Item("", "safetensors", {"params/w": Leaf("params/w")}, (Hole("cut", "params/w", "its bytes end at 8", "x"),))
WHOLE = replace(CUT, holes=())
STATISTICS = "{ observations: { metrics: { every: 200, fields: [loss] }, statistics: { every: 200, of: [params] } } }"


def under() -> dict[str, str]:
    return section_digests(YAML(typ="safe").load(HEAD))


UNDER = under()


def seen(**change: Any) -> Change:
    return {"section": change.pop("section", OBSERVED), "observations": replace(SEEN, **change)}


# Rule -> what is wrong, what is said, and the twin: facts of the step, its item, and the section `checkpoint`.
CASES: list[tuple[str, Change, str, Change]] = [
    (
        "CKP601",
        {"step": replace(STEPS[1], state="unfinished", why="it is empty")},
        "200 is not committed: it is empty",
        {"step": STEPS[1]},
    ),
    ("CKP601", {"steps": (*STEPS, LATER)}, "the latest committed step is 200", {"steps": STEPS}),
    (
        "CKP602",
        {"steps": (EARLIER, *STEPS), "leftovers": (EARLIER.folder,)},
        "1 temporary name of a save or a copy is left",
        {"steps": STEPS},
    ),
    ("CKP602", {"leftovers": ("state/x.__lock",)}, "(first: state/x.__lock)", {"leftovers": ()}),
    ("CKP603", NO_SCALE, "the parameter norm/scale is not in the checkpoint (1 of 2 promised)", leaves()),
    (
        "CKP603",
        {"section": "{ leaves: { ema: {} } }"},
        "the array ema is not in",
        {"section": "{ leaves: { step: {} } }"},
    ),
    (
        "CKP603",
        {"section": "{ parameters: weights }", "without": "optimizer"},
        "no parameter is saved below weights: 2 parameters",
        {"section": "{ parameters: params }"},
    ),
    (
        "CKP604",
        HEAD_TOO,
        "1 parameter is saved that the model does not have (first: head)",
        {**HEAD_TOO, "section": "{ level: contains }"},
    ),
    (
        "CKP604",
        {"unlisted": (Unlisted("its tree", ("old",)),)},
        "1 array of state is stored, and its tree does not name it",
        {"unlisted": ()},
    ),
    (
        "CKP605",
        leaves({"params/embed": (500, 64)}),
        "params/embed has the shape [500, 64], promised is [512, 64]",
        leaves(),
    ),
    (
        "CKP605",
        {"section": "{ leaves: { step: { shape: [1] } } }"},
        "state/step has the shape [], promised is [1]",
        {"section": "{ leaves: { step: { shape: [] } } }"},
    ),
    (
        "CKP606",
        leaves(dtypes={"params/embed": "bfloat16"}),
        "params/embed is bfloat16, promised is float32",
        {**leaves(dtypes={"params/embed": "bfloat16"}), "section": "{ level: up-to-dtype }"},
    ),
    ("CKP606", leaves(dtypes={"opt_state/0/nu/embed": "bfloat16"}), "opt_state/0/nu/embed is bfloat16", leaves()),
    (
        "CKP606",
        {"section": "{ leaves: { step: { dtype: int32 } } }"},
        "state/step is float32, promised is int32",
        {"section": "{ leaves: { step: { dtype: float32 } } }"},
    ),
    (
        "CKP607",
        leaves({"opt_state/0/nu/norm/scale": None}),
        "slot nu covers 1 of 2 parameters (first: norm/scale is missing)",
        {**NO_MOMENTS, "section": "{ frozen: [scale] }"},
    ),
    (
        "CKP607",
        leaves({"opt_state/0/mu/embed": (500, 64)}),
        "slot mu covers 1 of 2 parameters (first: embed: [500, 64], the parameter [512, 64])",
        {**leaves({"opt_state/0/mu/embed": (500, 64)}), "section": "{ slots: { mu: any, nu: parameters } }"},
    ),
    (
        "CKP607",
        leaves({"opt_state/0/mu/head": (4,)}),
        "1 entry of the optimizer slot mu has no parameter in the checkpoint (first: head)",
        leaves({"opt_state/0/mu/decay": (), "other/params/head": (4,)}),
    ),
    (
        "CKP607",
        leaves({"opt_state/0/mu/head": (4,)}),
        "(first: head)",
        leaves({"opt_state/0/mu/head": (4,), "more/params/head": (4,)}),
    ),
    (
        "CKP607",
        {"section": "{ slots: { trace: parameters } }"},
        "slot trace covers 0 of 2",
        {"section": "{ slots: {} }"},
    ),
    (
        "CKP608",
        {"section": "{ state: { random key: rng } }"},
        "random key is not in the checkpoint: nothing is saved at rng",
        {"section": FOUND, **WITH_DATA},
    ),
    (
        "CKP608",
        {"section": "{ state: { step: state } }"},
        "state holds the parameters too, which says nothing of step",
        {"section": "{ state: { step: state/step } }"},
    ),
    (
        "CKP609",
        {"holes": (Hole("absent", "step", "1 of 1 chunks are not stored", "state/step"),)},
        "state/step is not all there: 1 of 1 chunks",
        {"holes": ()},
    ),
    (
        "CKP609",
        {"holes": (Hole("outside", "step", "chunk 7.0 is stored and lies outside", "state"),)},
        "state/step is smaller than what is stored: chunk 7.0",
        {"holes": ()},
    ),
    (
        "CKP609",
        {"holes": (Hole("unstored", "step", "1 of 1 chunks are not stored", "state/step"),)},
        "state/step reads in part as the fill value",
        {"holes": ()},
    ),
    (
        "CKP613",
        {"digests": Digests("d.json", *TIMES)},
        "2 of 2 files are not as in d.json, _CHECKPOINT_METADATA with the time of the save among them",
        {"digests": Digests("d.json", TIMES[1], TIMES[1])},
    ),
    (
        "CKP617",
        lay(EMBED),
        "params/embed was saved as P(), promised is P('fsdp')",
        lay(EMBED, ("fsdp",)),
    ),
    ("CKP617", lay(EMBED, (), ("fsdp",)), "saved as P(None, 'fsdp'), promised is P('fsdp')", lay(".*scale", ("fsdp",))),
    (
        "CKP617",
        lay(".*/nu/embed"),
        "opt_state/0/nu/embed was saved as P()",
        {**lay(".*/nu/embed"), "section": PLACED_AS.replace("[wide, null]", "[null, null]")},
    ),
    (
        "CKP617",
        lay(EMBED, ("fsdp",), mesh={"data": 4, "fsdp": 2}),
        "it was saved on data 4 x fsdp 2, promised is data 2 x fsdp 4",
        lay(EMBED, ("fsdp",), mesh={"one": 1, **MESH}),
    ),
    (
        "CKP617",
        {**lay(EMBED, mesh={"data": 8}), "section": "{}\nmesh: { axes: { data: 2, fsdp: 4 } }\ntargets: [cpu:8]"},
        "it was saved on data 8, promised is data 2 x fsdp 4",
        {**lay(EMBED), "section": "{}\nmesh: { axes: { data: 2, fsdp: 4 } }\ntargets: [cpu:8]"},
    ),
    (
        "CKP617",
        {**lay("step"), "section": "{ leaves: { step: { axes: [fsdp] } } }", "leaves": lay_step((), (4,))},
        "state/step was saved as P(), promised is P('fsdp')",
        {"section": "{ leaves: { step: { axes: [fsdp] } } }", "leaves": lay_step(("fsdp",), (4,))},
    ),
    (
        "CKP616",
        {"faults": (Fault("state/_sharding", "is no JSON", "1:1", severity="warning"),)},
        "state/_sharding:1:1: is no JSON; a restore that names no placement of its own fails",
        {"faults": ()},
    ),
    ("CKP610", {"absent_items": ("data",)}, "the item data was saved with this step", {"absent_items": ()}),
    (
        "CKP611",
        {"section": "{ layout: zarr }"},
        "state is stored as ocdbt, promised is zarr",
        {"section": "{ layout: ocdbt }"},
    ),
    (
        "CKP612",
        {"section": "{ retention: { last: 1 } }"},
        "1 step should be gone (first: 100)",
        {"section": "{ retention: { last: 1, every: 100 } }"},
    ),
    (
        "CKP613",
        {"digests": Digests("d.json", LISTED, OTHER)},
        "a has another content",
        {"digests": Digests("d.json", LISTED, LISTED)},
    ),
    ("CKP614", seen(folder=None), "the run has no folder observations", seen()),
    ("CKP614", seen(config=None), "config.json is not there", seen()),
    ("CKP614", seen(lines=SEEN.lines[1:]), "1 step of 2 has no line in metrics.jsonl (first: step 100)", seen()),
    (
        "CKP614",
        seen(lines=(SEEN.lines[0], Line(2, 200, {"loss": None}))),
        "`loss` is no number in 1 line of metrics.jsonl (first: line 2, step 200)",
        seen(lines=(SEEN.lines[0], Line(2, 200, {"loss": "nan"}))),
    ),
    (
        "CKP614",
        seen(section=STATISTICS),
        "1 file of 1 is not there (first: statistics-00000200.safetensors)",
        seen(section=STATISTICS, files={("statistics", 200): WHOLE}),
    ),
    (
        "CKP614",
        seen(section=STATISTICS, files={("statistics", 200): CUT}),
        "statistics-00000200.safetensors is cut: params/w: its bytes end at 8",
        seen(section=STATISTICS, files={("statistics", 200): WHOLE}),
    ),
    (
        "CKP614",
        seen(section=STATISTICS.replace("[params]", "[grads]"), files={("statistics", 200): WHOLE}),
        "statistics-00000200.safetensors has no array of `grads`",
        seen(section=STATISTICS, files={("statistics", 200): WHOLE}),
    ),
    (
        "CKP615",
        seen(lines=(*SEEN.lines, Line(3, 200, {"step": 200, "loss": 0.25}))),
        "step 200 was done twice and gave another `loss`: 0.5 in line 2 of metrics.jsonl, 0.25 in line 3",
        seen(lines=(*SEEN.lines, Line(3, 200, {"step": 200, "loss": 0.5}))),
    ),
    ("CKP615", seen(config={"schema": 2}), "its schema is 2, known is 1", seen()),
    (
        "CKP615",
        seen(config={"schema": 1, "contract": {**UNDER, "dtypes": "sha256:0"}}),
        "the run was made under another contract: 1 section changed since (dtypes)",
        seen(config={"schema": 1, "contract": {**UNDER, "targets": "sha256:0"}}),
    ),
]


def judged(folder: Path, change: Change) -> list[Finding]:
    change = dict(change)
    text = HEAD.replace("optimizer: { name: adamw }\n", "") if change.pop("without", "") else HEAD
    path = folder / "small.contract.yaml"
    path.write_text(f"{text}checkpoint: {change.pop('section', '{}')}\n")
    loaded = load_contract(path)
    assert loaded.contract is not None, loaded.findings
    item = Item("state", "ocdbt", tree())
    item = replace(
        item, **{name: change.pop(name) for name in ("leaves", "holes", "unlisted", "faults") if name in change}
    )
    digests, observations = change.pop("digests", None), change.pop("observations", None)
    checkpoint = Checkpoint("run", STEPS[1], (item,), (), {"state/_METADATA": 1}, STEPS)
    return judge_checkpoint(CheckpointEvidence(replace(checkpoint, **change), loaded, digests, observations))


@pytest.mark.parametrize(("code", "bad", "said", "good"), CASES)
def test_a_broken_promise_gives_its_finding_alone_and_its_twin_none(
    tmp_path: Path, code: str, bad: Change, said: str, good: Change
) -> None:
    found = judged(tmp_path, bad)
    assert [each.code for each in found] == [code] and said in found[0].message, [each.message for each in found]
    assert [each.message for each in judged(tmp_path, good)] == []


def test_what_the_contract_accepts_is_marked(tmp_path: Path) -> None:
    section = "{ layout: zarr }\ndeviations: [{ rule: checkpoint-layout, reason: moved next month }]"
    assert [each.status for each in judged(tmp_path, {"section": section})] == ["accepted"]


def test_every_rule_has_a_case() -> None:
    assert {rule.code for rule in builtin_rules("checkpoint")} == {code for code, *_ in CASES}
