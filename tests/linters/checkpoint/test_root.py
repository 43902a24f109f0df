"""Where parameters lie, and names of a contract that carry the path or do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_lint.contracts.finding import Finding
from contract_lint.contracts.load import load_contract
from contract_lint.linters.checkpoint.evidence import CheckpointEvidence
from contract_lint.linters.checkpoint.facts import Checkpoint, Item, Leaf, Step
from contract_lint.linters.checkpoint.judge import judge_checkpoint
from contract_lint.linters.checkpoint.root import root_of

NAMES = ("up/kernel", "up/bias")
LINEN = [f"state/{at}/{name}" for at in ("params", "opt_state/1/0/mu", "opt_state/1/0/nu") for name in NAMES]
LINEN += ["state/opt_state/1/0/count", "state/step"]
MAXTEXT = [f"{at}/params/{name}" for at in ("params", "opt_state/0/mu", "opt_state/0/nu") for name in NAMES]
MAXTEXT += ["opt_state/0/count"]
NNX = [f"{path}/value" for path in LINEN]


def evidence(
    folder: Path, saved: list[str], names: list[str], section: str = "{}", item: str = ""
) -> CheckpointEvidence:
    path = folder / "c.contract.yaml"
    listed = ", ".join(f"{name}: [4]" for name in names)
    path.write_text(f"""\
contract: 1
name: small
step: {{ train: {{ entry: "m:build" }} }}
model: {{ kind: listed, parameters: {{ {listed} }} }}
optimizer: {{ name: adamw }}
checkpoint: {section}
""")
    shapes = {each: () if each.removesuffix("/value").endswith(("count", "step")) else (4,) for each in saved}
    leaves = {each.removeprefix(f"{item}/") if item else each: shape for each, shape in shapes.items()}
    kept = Item(item, "zarr", {each: Leaf(each, "array", shape, "float32") for each, shape in leaves.items()})
    return CheckpointEvidence(
        Checkpoint("run", Step("1", 1, "committed"), (kept,), (), {}), load_contract(path).readable()
    )


def judged(*args: object, **kwargs: str) -> list[Finding]:
    return judge_checkpoint(evidence(*args, **kwargs))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("item", ["", "state"])
@pytest.mark.parametrize("start", ["", "params/", "state/params/"])
@pytest.mark.parametrize("given", [None, "params", "state/params", "state/params/", "state", "state/", "."])
def test_names_may_carry_the_path_or_not(tmp_path: Path, item: str, start: str, given: str | None) -> None:
    section = "{}" if given is None else f"{{ parameters: {given} }}"
    for saved in (LINEN, NNX):
        made = evidence(tmp_path, saved, [start + name for name in NAMES], section, item)
        assert [each.message for each in judge_checkpoint(made)] == []
        assert made.root == "state/params" and [*made.parameters] == [*NAMES]
        assert {row.name: len(row.of("covered")) for row in made.coverage.slots} == {"mu": 2, "nu": 2}
        assert len(made.coverage.parameters.cells) == 2


@pytest.mark.parametrize("start", ["", "params/", "params/params/"])
def test_a_tree_of_variables(tmp_path: Path, start: str) -> None:
    """What Linen gives `init` has a `params` of its own; slots are called with it."""
    made = evidence(tmp_path, MAXTEXT, [start + name for name in NAMES])
    assert [each.message for each in judge_checkpoint(made)] == [] and made.root == "params"
    assert [row.of("covered") for row in made.coverage.slots] == [[f"params/{name}" for name in NAMES]] * 2


@pytest.mark.parametrize("start", ["", "params/"])
def test_what_differs_is_told_with_names_that_can_be_followed(tmp_path: Path, start: str) -> None:
    saved = [*LINEN, *(path.replace("up/bias", "down/bias") for path in LINEN if path.endswith("up/bias"))]
    missing, unexpected = judged(tmp_path, saved, [start + each for each in (*NAMES, "down/b")])
    assert (missing.code, missing.help) == ("CKP603", "is it down/bias?")
    assert (unexpected.code, unexpected.help) == ("CKP604", "is it down/b?")


def test_only_a_part_that_all_names_carry_is_no_part_of_them(tmp_path: Path) -> None:
    (missing,) = judged(tmp_path, LINEN, ["params/up/kernel", "up/bias", "up/kernel"])
    assert "the parameter params/up/kernel is not in the checkpoint (1 of 3 promised)" in missing.message


def test_a_path_that_holds_no_parameter(tmp_path: Path) -> None:
    found = judged(tmp_path, LINEN, [*NAMES], "{ parameters: weights }")
    assert [(each.code, each.help) for each in found] == [("CKP603", "is it state/params?")]


def test_a_file_of_parameters_alone() -> None:
    for start in ("", "params/"):
        root = root_of(NAMES, [start + name for name in NAMES])
        assert (root.path, [*root.names.values()]) == ("", [*NAMES])
    assert root_of(["a/b"], NAMES).path is None


@pytest.mark.parametrize("start", ["", "params/"])
def test_slots_of_parameters_that_were_not_saved(tmp_path: Path, start: str) -> None:
    made = evidence(tmp_path, [path for path in LINEN if "/params/" not in path], [start + name for name in NAMES])
    (found,) = judge_checkpoint(made)
    assert (
        found.code == "CKP603"
        and found.help is not None
        and found.help.startswith("save them: their slots are there (mu, nu)")
    )
    assert [len(row.of("covered")) for row in made.coverage.slots] == [2, 2]
    assert made.coverage.parameters.of("missing") == [*NAMES]
    # Without slots nothing says so.
    (found,) = judged(tmp_path, ["other/x"], [start + name for name in NAMES])
    assert found.help == "say where they lie: checkpoint: { parameters: PATH }"


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("stp", "is it state/step?"),
        ("state/stp", "is it state/step?"),
        ("optstate", "is it state/opt_state?"),
        ("states", "is it state/opt_state?"),
        ("kernels", None),
        ("parms", None),
    ],
)
def test_what_is_near_is_not_what_holds_the_parameters(tmp_path: Path, path: str, near: str | None) -> None:
    (found,) = judged(tmp_path, LINEN, [*NAMES], f"{{ state: {{ it: {path} }} }}")
    assert (found.code, found.help) == ("CKP608", near or "save it, or take it out of the contract")


@pytest.mark.parametrize(
    ("path", "held"), [("step", True), ("state/step", True), ("opt_state", True), ("state", False)]
)
@pytest.mark.parametrize("item", ["", "state"])
def test_the_first_part_of_all_paths_may_be_left_out(tmp_path: Path, path: str, held: bool, item: str) -> None:
    assert evidence(tmp_path, LINEN, [*NAMES], item=item).holds(path) == held
    # With another tree beside it, it is no name of an item.
    both = evidence(tmp_path, [*LINEN, "more/x"], [*NAMES])
    assert both.holds(path) == (path == "state/step")
