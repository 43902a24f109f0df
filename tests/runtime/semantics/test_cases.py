"""The handed cases on training semantics, as steps: the bad twin is found for what it is, the good one is clean.

A case's own generator makes the numbers; the step around them is one that a project could have.
"""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from contract_lint.contracts.load import load_contract
from contract_lint.contracts.semantics import SemanticsFacts
from contract_lint.linters.registry import builtin_rules
from contract_lint.linters.semantics.diagnosis import Diagnosis
from contract_lint.linters.verdict.causes import fold

Probed = Callable[..., list[SemanticsFacts]]
CORPUS = Path(os.environ.get("CONTRACT_LINT_CORPUS", "/nonexistent")) / "cases" / "contracts"
FOLDERS = {
    "01": "01_ga_mean_of_means",
    "02": "02_aux_loss_divided_by_tokens",
    "03": "03_rng_same_key_per_microbatch",
    "08": "08_padding_in_denominator",
    "14": "14_bf16_accumulator",
    "15": "15_config_key_ignored",
}
TOKENS = "normaliser: global_valid_tokens, metric: token_mean"
CONTRACTS = {
    "01": f"objective: {{ terms: [{{ name: xent, weight: 1.0, {TOKENS} }}] }}",
    "02": "objective:\n  terms:\n"
    f"    - {{ name: xent, weight: 1.0, {TOKENS} }}\n"
    "    - { name: moe_lb, kind: router, weight: 0.01, normaliser: microbatches, metric: microbatch_mean }",
    "03": f"objective: {{ terms: [{{ name: square, weight: 1.0, {TOKENS} }}] }}\n"
    "rng: { root: { seed: 0 }, streams: { dropout: [step, microbatch] } }",
    "08": f"objective: {{ terms: [{{ name: xent, weight: 1.0, {TOKENS} }}] }}",
    "15": f"objective: {{ terms: [{{ name: square, weight: 1.0, {TOKENS} }}] }}",
    "14": "objective: { terms: [{ name: sum, weight: 1.0, normaliser: none, metric: sum }] }",
}
FOUND = {
    "01": ("microbatch-means", "objective.terms[0].normaliser", "each microbatch's own counted tokens"),
    "02": ("term-gradient-scale", "objective.terms[1]", "divided by the counted tokens of the step"),
    "03": ("random-granularity", "rng.streams.dropout", "all microbatches of a step"),
    "08": ("denominator-differs", "objective.terms[0].normaliser", "all positions of the batch, counted or not"),
    "14": ("accumulator-dtype", "accumulation.dtype", "in bfloat16, promised is float32"),
}


def numbers(case: str, variant: str) -> dict[str, Any]:
    """The arrays that a case's generator works on."""
    path = CORPUS / FOLDERS[case] / "gen.py"
    before, sys.argv = sys.argv, [str(path), "--variant", variant]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            made = runpy.run_path(str(path))
    finally:
        sys.argv = before
    if case == "01":
        return {"x": made["x"], "y": made["y"], "mask": made["m"], "w": made["W"]}
    if case == "02":
        return {"gx": made["gx"], "ga": made["ga"], "tokens": np.array(made["tokens"])}
    if case == "03":
        return {"x": np.asarray(made["xs"], np.float64)}
    if case == "08":
        return {"losses": made["ce"], "mask": made["m"]}
    if case == "15":
        return {"config": made["cfg"]}
    return {"g": np.asarray(made["gs"]).astype(np.float64)}


@pytest.fixture(scope="module")
def probes(tmp_path_factory: pytest.TempPathFactory, probed: Probed) -> dict[tuple[str, str], SemanticsFacts]:
    """What the probe finds of every case in both variants, all in one child process."""
    if not CORPUS.is_dir():
        pytest.skip("CONTRACT_LINT_CORPUS names no folder with cases/contracts")
    folder = tmp_path_factory.mktemp("cases")
    asked = []
    for case in FOLDERS:
        for variant in ("bad", "good"):
            data = folder / f"{case}-{variant}.npz"
            made = numbers(case, variant)
            more = {name: made.pop(name) for name in ("config",) if name in made}
            np.savez(data, **made)
            asked.append((case, variant == "bad", str(data), more))
    return {(case, "bad" if bad else "good"): each for (case, bad, *_), each in zip(asked, probed(asked), strict=True)}


def judged(folder: Path, case: str, facts: SemanticsFacts) -> list[Any]:
    path = folder / "case.contract.yaml"
    path.write_text(
        "contract: 1\nname: case\nstep: { train: { entry: 'm:build' } }\n"
        "accumulation: { microbatches: 4, arg: microbatches, dtype: float32, combine: sum_then_divide }\n"
        + CONTRACTS[case]
    )
    loaded = load_contract(path, root=folder)
    assert loaded.contract is not None and loaded.contract.objective is not None
    evidence = SimpleNamespace(
        name="train",
        step_key="step.train",
        target="cpu:1",
        contract=loaded.contract,
        place=loaded.place,
        semantics_requested=True,
        semantics=facts,
        diagnosis=Diagnosis(facts, loaded.contract.objective),
    )
    found = fold([finding for rule in builtin_rules("semantics") for finding in rule.check(evidence)])
    return [finding for finding in found if finding.is_root]


@pytest.mark.parametrize("case", FOUND)
def test_the_bad_twin_is_found(case: str, probes: dict[tuple[str, str], SemanticsFacts], tmp_path: Path) -> None:
    name, key, says = FOUND[case]
    found = judged(tmp_path, case, probes[case, "bad"])
    assert [finding.name for finding in found] == [name], [finding.message for finding in found]
    assert found[0].key == key and says in found[0].message


def test_every_key_that_nobody_reads_is_found(probes: dict[tuple[str, str], SemanticsFacts], tmp_path: Path) -> None:
    found = judged(tmp_path, "15", probes["15", "bad"])
    assert {finding.name for finding in found} == {"unread-build-argument"}
    keys = {str(finding.key).removeprefix("step.train.args."): finding.expected for finding in found}
    assert set(keys) == {
        "config.learning_rate",
        "config.training.num_epoch",
        "config.training.num-epochs",
        "config.moe.z_loss",
    }
    assert keys["config.training.num_epoch"] == keys["config.training.num-epochs"] == "num_epochs"


@pytest.mark.parametrize("case", FOLDERS)
def test_the_good_twin_is_clean(case: str, probes: dict[tuple[str, str], SemanticsFacts], tmp_path: Path) -> None:
    facts = probes[case, "good"]
    assert [each.microbatches for each in facts.accumulations][:3] == [1, 2, 4]
    assert [finding.message for finding in judged(tmp_path, case, facts)] == []
