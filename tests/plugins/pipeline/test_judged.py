"""What a clean verdict says that it does not rest on: sections that nothing measured."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_lint.contracts.load import load_contract
from contract_lint.plugins.pipeline.judged import _only_read as only_read
from contract_lint.plugins.pipeline.judged import reported
from contract_lint.plugins.report.text import render

HEAD = 'contract: 1\nname: n\nstep: { train: { entry: "m:build" }, eval: { entry: "m:build_eval" } }\n'
OBJECTIVE = "objective: { terms: [{ name: ce, weight: 1.0, normaliser: global_valid_tokens, metric: none }] }\n"
METRICS = "metrics: { loss: { sum: objective, denominator: global_valid_tokens } }\n"
EVAL = "eval: { step: eval, terms: [ce], every: 5 }\n"


def rng(*granularities: str) -> str:
    streams = ", ".join(f"s{number}: [{words}]" for number, words in enumerate(granularities))
    return f"rng: {{ root: {{ seed: 0 }}, streams: {{ {streams} }} }}\n"


@pytest.mark.parametrize(
    ("sections", "semantics", "said"),
    [
        ("", False, None),
        ("", True, None),
        (OBJECTIVE, False, "objective"),
        (OBJECTIVE, True, None),
        (OBJECTIVE + METRICS + rng("step"), False, "objective, rng and metrics"),
        (OBJECTIVE + METRICS + rng("step, microbatch"), True, None),
        (rng("step, layer"), True, "rng for each layer"),
        (rng("step, device"), True, "rng for each device"),
        (rng("step, layer", "step, device"), True, "rng for each layer and device"),
        (rng("step, layer"), False, "rng"),
        (OBJECTIVE + EVAL, True, "eval"),
        (OBJECTIVE + EVAL, False, "objective and eval"),
        (OBJECTIVE + EVAL + rng("step, layer"), True, "rng for each layer and eval"),
        ("data: { shift: batch }\n", True, "data"),
    ],
)
def test_sections_that_nothing_measured_are_named(
    tmp_path: Path, sections: str, semantics: bool, said: str | None
) -> None:
    (tmp_path / "n.contract.yaml").write_text(HEAD + sections)
    loaded = load_contract(tmp_path / "n.contract.yaml", root=tmp_path)
    assert loaded.contract is not None, [finding.message for finding in loaded.findings]
    expected = [] if said is None else [f"{said} judged as written, not measured"]
    assert list(only_read(loaded, semantics)) == expected


def test_the_headline_says_so(tmp_path: Path) -> None:
    (tmp_path / "n.contract.yaml").write_text(HEAD + OBJECTIVE + EVAL)
    loaded = load_contract(tmp_path / "n.contract.yaml", root=tmp_path)
    made = reported(loaded, [], verb="verify", probed=tuple(only_read(loaded, True)))
    first = " ".join(render(made, 80).split())
    assert first.startswith("PASS n") and "every promise holds; eval judged as written, not measured" in first
