"""Every rule on the meaning of a step: a bad twin gives its finding and no other, the good one none."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from contract_lint.contracts.finding import Finding
from contract_lint.contracts.load import load_contract
from contract_lint.contracts.semantics import DrawsFact, SemanticsFacts, TermSum, UpdateFact
from contract_lint.linters.registry import builtin_rules
from contract_lint.linters.semantics.diagnosis import Diagnosis

sys.path.insert(0, str(Path(__file__).parent))

from measured import WHOLE, Toy, facts, groups, norms, update

CONTRACT = """\
contract: 1
name: toy
step: { train: { entry: "m:build", args: { dropout: 0.1 } } }
accumulation: { microbatches: 2, arg: n, dtype: float32, combine: sum_then_divide }
objective:
  terms:
    - { name: cross_entropy, weight: 1.0, normaliser: global_valid_tokens, metric: token_mean }
    - { name: balance, kind: router, weight: 0.01, normaliser: microbatches, metric: microbatch_mean }
optimizer:
  name: adamw
  chain:
    - { kind: reduce }
    - { kind: clip_by_global_norm, max_norm: 1.0 }
    - { kind: scale_by_adam }
    - { kind: add_decayed_weights, rate: 0.1, skip: ["scale"] }
    - { kind: scale_by_learning_rate, rate: 1.0e-3 }
rng: { streams: { dropout: [step, microbatch] } }
metrics:
  loss: { sum: objective, denominator: global_valid_tokens }
"""
RULES = builtin_rules("semantics")


def judged(folder: Path, found: SemanticsFacts | None, contract: str = CONTRACT) -> list[Finding]:
    path = folder / "train.contract.yaml"
    path.write_text(contract)
    loaded = load_contract(path, root=folder)
    assert loaded.contract is not None, [finding.message for finding in loaded.findings]
    objective = loaded.contract.objective
    evidence = SimpleNamespace(
        name="train",
        step_key="step.train",
        target="cpu:4",
        contract=loaded.contract,
        place=loaded.place,
        semantics_requested=True,
        semantics=found,
        diagnosis=Diagnosis(found, objective) if found is not None and objective is not None else None,
    )
    return [finding for rule in RULES for finding in rule.check(evidence)]


def mean_of_means(toy: Toy, count: int) -> np.ndarray:
    parts = groups(count)
    means = sum(toy.gradient("cross_entropy", part) / toy.tokens(part) for part in parts) / count
    return means + 0.01 * sum(toy.gradient("balance", part) for part in parts) / count


def scaled(**factors: Any) -> Any:
    """The promised gradient with one term times `factor(toy, count)`."""

    def gradient(toy: Toy, count: int) -> np.ndarray:
        parts = groups(count)
        terms = {
            "cross_entropy": toy.gradient("cross_entropy", WHOLE) / toy.tokens(WHOLE),
            "balance": 0.01 * sum(toy.gradient("balance", part) for part in parts) / count,
        }
        return sum(factors.get(name, lambda *_: 1.0)(toy, count) * vector for name, vector in terms.items())

    return gradient


def tokens(toy: Toy) -> float:
    return toy.tokens(WHOLE)


def only_if_split(factor: Any) -> Any:
    return lambda toy, count: factor(toy, count) if count > 1 else 1.0


def unpromised(toy: Toy, count: int) -> np.ndarray:
    return toy.promised(count) + 0.001 * np.ones_like(toy.promised(count))


NORM, WITH_COPIES = norms()
BAD = {
    "not-probed": (lambda: facts(accumulations=[]), "was not judged"),
    "unpromised-term": (
        lambda: facts(terms={**facts().terms, "z": TermSum(sum=1.0, denominator=1.0)}),
        "a term `z` that the contract does not promise",
    ),
    "denominator-differs": (
        lambda: facts(
            scaled(cross_entropy=lambda toy, _: tokens(toy) / toy.mask.size),
            divisor=128.0,
            terms={
                **facts().terms,
                "cross_entropy": facts().terms["cross_entropy"].model_copy(update={"denominator": 128.0}),
            },
        ),
        "divided by 128, all positions of the batch, counted or not",
    ),
    "objective-differs": (lambda: facts(divisor=128.0), "its gradient is as promised"),
    "microbatch-means": (lambda: facts(mean_of_means), "divided by each microbatch's own counted tokens"),
    "term-gradient-scale": (
        lambda: facts(scaled(balance=only_if_split(lambda toy, count: count / tokens(toy)))),
        "it is divided by the counted tokens of the step",
    ),
    "dead-term-gradient": (lambda: facts(scaled(balance=lambda *_: 0.0)), "term `balance` has no gradient"),
    "gradient-unexplained": (lambda: facts(unpromised), "belongs to no promised term"),
    "accumulator-dtype": (lambda: facts(accumulators=["bfloat16"]), "in bfloat16, promised is float32"),
    "clip-norm": (
        lambda: facts(update=update(clipped=1 / WITH_COPIES)),
        "every element is counted once for each device that holds it",
    ),
    "decay-mask": (
        lambda: facts(update=update(decays={"norm/scale": 0.1})),
        "`norm/scale` decays, promised without",
    ),
    "learning-rate-differs": (lambda: facts(update=update(rates={"w": 2e-3})), "moves `w` at 2 x the learning rate"),
    "random-granularity": (
        lambda: facts(draws=DrawsFact(random=True, microbatches=0.0, steps=0.5)),
        "all microbatches of a step",
    ),
    "unread-build-argument": (
        lambda: facts(unread=["config.training.num_epoch"], missed=["config.training.num_epochs"]),
        "never reads `config.training.num_epoch`",
    ),
    "metric-value": (
        lambda: facts(metrics={"loss": 2 * facts().metrics["loss"]}),
        "it is added up over microbatches without a division by their number",
    ),
}


def test_every_rule_has_a_bad_twin() -> None:
    assert {rule.name for rule in RULES} == set(BAD)


@pytest.mark.parametrize("name", BAD)
def test_the_bad_twin_gives_its_finding_alone(name: str, tmp_path: Path) -> None:
    make, says = BAD[name]
    found = judged(tmp_path, make())
    assert [finding.name for finding in found] == [name], [finding.message for finding in found]
    (finding,) = found
    assert says in finding.message
    assert finding.location is not None and finding.location.line is not None
    assert finding.message[-1] not in ".!" and "\n" not in finding.message


def test_the_good_twin_gives_none(tmp_path: Path) -> None:
    assert [finding.message for finding in judged(tmp_path, facts())] == []


NO_DECAY = CONTRACT.replace('    - { kind: add_decayed_weights, rate: 0.1, skip: ["scale"] }\n', "")


def test_what_rounding_leaves_is_no_decay(tmp_path: Path) -> None:
    """Every decay that is found is one of rounding, so none of them stands out."""
    without = update(decays={"w": 0.0})
    assert judged(tmp_path, facts(update=without), NO_DECAY) == []
    (found,) = judged(tmp_path, facts(update=update(decays={"w": 1e-6})), NO_DECAY)
    assert found.name == "decay-mask" and found.found == "1e-06"


def rounded() -> UpdateFact:
    """The toy's update with parameters in float32: what is small beside them is lost."""
    parameters = []
    for fact in update(decays={"w": 1e-6}, rates={"w": 1e-5, "norm/scale": 1e-5}).parameters:
        parameters.append(fact.model_copy(update={"dp": fact.dp * (1 + 1e-3)}))
    return UpdateFact(index=0, parameters=parameters)


def test_a_decay_that_float32_hides_is_not_told(tmp_path: Path) -> None:
    """At a rate of 1e-5 parameters of size 1 are rounded to 0.01 of a decay: no more than noise."""
    found = judged(tmp_path, facts(precision="float32", update=rounded()), CONTRACT)
    assert "decay-mask" not in {each.name for each in found}


def test_a_batch_that_does_not_tell_what_counts_is_said(tmp_path: Path) -> None:
    sizes = facts().sizes
    assert sizes is not None
    (found,) = judged(tmp_path, facts(mask=None, sizes=sizes.model_copy(update={"tokens": None})))
    assert found.name == "not-probed" and found.key == "objective.terms[0].normaliser"
    assert "nothing in its batch tells which targets count, and `cross_entropy` is divided" in found.message


def stopped(**changes: Any) -> SemanticsFacts:
    """The balance without a gradient, in the step and in its terms: what both are made of stops it."""
    found = facts(scaled(balance=lambda *_: 0.0))
    accumulations = []
    for fact in found.accumulations:
        gram = np.array(fact.gram)
        for at, name in enumerate(fact.vectors):
            if name.endswith(":balance"):
                gram[at], gram[:, at] = 0.0, 0.0
        accumulations.append(fact.model_copy(update={"gram": gram.tolist()}))
    value = found.terms["balance"].sum
    return found.model_copy(update={"accumulations": accumulations, "elsewhere": {"balance": 1.01 * value}} | changes)


def test_a_gradient_that_step_and_terms_stop_is_found(tmp_path: Path) -> None:
    (found,) = judged(tmp_path, stopped())
    assert (found.name, found.key) == ("dead-term-gradient", "objective.terms[1]")
    assert "no gradient at all, neither in step `train` nor in its `loss_terms`" in found.message


def test_a_term_of_no_parameter_is_not_said_to_be_dead(tmp_path: Path) -> None:
    same = {"balance": facts().terms["balance"].sum}
    assert [finding.message for finding in judged(tmp_path, stopped(elsewhere=same))] == []
    weightless = CONTRACT.replace("weight: 0.01", "weight: 0")
    assert "dead-term-gradient" not in {each.name for each in judged(tmp_path, stopped(), weightless)}


def test_a_stopped_term_is_named_where_the_gradient_is_another_one(tmp_path: Path) -> None:
    """The step's own gradient is whole, the terms' is not: what is left over is the term."""
    whole = {fact.microbatches: fact.gram[0][0] for fact in facts(scaled(balance=lambda *_: 30.0)).accumulations}
    kept = [
        fact.model_copy(update={"gram": [[whole[fact.microbatches], *fact.gram[0][1:]], *fact.gram[1:]]})
        for fact in stopped().accumulations
    ]
    (found,) = judged(tmp_path, stopped(accumulations=kept))
    assert found.name == "gradient-unexplained"
    assert found.evidence[-1] == "`balance` has no gradient in `loss_terms`, though its sum depends on the parameters"


def test_a_term_that_is_no_number_is_not_judged(tmp_path: Path) -> None:
    terms = {**facts().terms, "balance": TermSum(sum=float("nan"), denominator=1.0)}
    (found,) = judged(tmp_path, facts(terms=terms))
    assert (found.name, found.key) == ("not-probed", "objective.terms[1]")
    assert "the sum of `balance` is nan on the probed batch" in found.message


def test_a_promise_that_is_no_number_is_no_finding(tmp_path: Path) -> None:
    """Nothing tells which targets count, and only a metric is divided by their number."""
    sizes = facts().sizes
    assert sizes is not None
    contract = CONTRACT.replace("weight: 1.0, normaliser: global_valid_tokens", "weight: 1.0, normaliser: none")
    contract = contract.replace("sum: objective", "sum: balance")
    unknown = facts(scaled(cross_entropy=lambda toy, _: tokens(toy)), divisor=1.0).model_copy(
        update={"sizes": sizes.model_copy(update={"tokens": None}), "metrics": {"loss": 4.2}}
    )
    terms = {**unknown.terms, "cross_entropy": unknown.terms["cross_entropy"].model_copy(update={"denominator": 1.0})}
    unknown = unknown.model_copy(update={"terms": terms})
    assert [finding.message for finding in judged(tmp_path, unknown, contract)] == []
    (found,) = judged(tmp_path, facts(metrics={"loss": float("nan")}))
    assert found.name == "metric-value" and " is nan, promised is " in found.message and "nan x" not in found.message


def with_factors(*factors: float) -> Any:
    """The promised gradient, each of two microbatches times a factor."""
    return lambda toy, count: (
        toy.promised(count) if count != 2 else sum(f * g for f, g in zip(factors, toy.pieces(count), strict=True))
    )


def clipped(share: float) -> tuple[float, ...]:
    """Factors of a clip of each microbatch, at this share of the shorter one."""
    lengths = [float(np.linalg.norm(piece)) for piece in Toy().pieces(2)]
    return tuple(min(1.0, share * min(lengths) / length) for length in lengths)


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_a_clip_of_each_microbatch_is_named(share: float, tmp_path: Path) -> None:
    """Of both, and of the longer one alone."""
    (found,) = judged(tmp_path, facts(with_factors(*clipped(share))))
    assert found.name == "gradient-unexplained" and found.help is not None
    assert ": each microbatch is clipped by itself before they are added up (x " in found.message
    assert "before any clip" in found.help


def test_factors_of_microbatches_that_are_no_clip(tmp_path: Path) -> None:
    (found,) = judged(tmp_path, facts(with_factors(1.0, 0.0)))
    assert found.name == "gradient-unexplained" and "each microbatch has a factor of its own (1, 0)" in found.message
    (found,) = judged(tmp_path, facts(unpromised))
    assert "microbatch " not in found.message and "clipped" not in found.message


def given(*factors: float) -> UpdateFact:
    """What an optimizer is given that gets each of two microbatches times a factor."""
    toy = Toy()
    vector = sum(factor * piece for factor, piece in zip(factors, toy.pieces(2), strict=True))
    along = {
        f"piece:{index}:{term}": float(vector @ toy.gradient(term, part))
        for index, part in enumerate(groups(2))
        for term in ("cross_entropy", "balance")
    }
    whole = update(clipped=0.5)
    first, *others = whole.parameters
    parameters = [first.model_copy(update={"aa": float(vector @ vector)})]
    parameters += [each.model_copy(update={"aa": 0.0}) for each in others]
    return whole.model_copy(update={"parameters": parameters, "given": along})


def test_what_the_optimizer_is_given_of_each_microbatch(tmp_path: Path) -> None:
    (found,) = judged(tmp_path, facts(update=given(*clipped(0.5))))
    assert (
        found.name == "clip-norm" and "each microbatch is clipped by itself before they are added up" in found.message
    )
    assert found.help == "add the microbatches up first, then clip their sum once"
    (found,) = judged(tmp_path, facts(update=given(0.5, 0.5)))
    assert found.name == "clip-norm" and "each microbatch" not in found.message


def test_a_declared_divisor_is_no_fault(tmp_path: Path) -> None:
    """The check is against the declaration: padding in the denominator is fine where it is promised."""
    promised = CONTRACT.replace(
        "weight: 1.0, normaliser: global_valid_tokens", "weight: 1.0, normaliser: batch_positions"
    )
    promised = promised.partition("metrics:")[0]
    assert [finding.message for finding in judged(tmp_path, BAD["denominator-differs"][0](), promised)] == []


@pytest.mark.parametrize(
    ("factor", "says"),
    [
        (lambda toy, count: 1 / count, "divided by the number of microbatches once more"),
        (
            lambda toy, count: float(count),
            "divided by nothing; promised is a division by the number of microbatches (8)",
        ),
        (lambda toy, count: 4.0, "counted once for every device"),
        (lambda toy, count: -1.0, "its sign is turned"),
        (lambda toy, count: 100.0, "its weight is not applied"),
        (lambda toy, count: 1 / tokens(toy), "divided by the counted tokens once more"),
    ],
)
def test_a_factor_is_named(factor: Any, says: str, tmp_path: Path) -> None:
    (found,) = judged(tmp_path, facts(scaled(balance=only_if_split(factor))))
    assert found.name == "term-gradient-scale"
    assert says in found.message


def test_several_faults_are_told_apart(tmp_path: Path) -> None:
    found = judged(
        tmp_path,
        facts(
            scaled(balance=lambda *_: 0.0),
            update=update(clipped=1 / WITH_COPIES, decays={"norm/scale": 0.1}),
            accumulators=["bfloat16"],
        ),
    )
    assert {finding.name for finding in found} == {
        "dead-term-gradient",
        "clip-norm",
        "decay-mask",
        "accumulator-dtype",
    }


def test_a_step_that_makes_no_finite_number_is_not_judged(tmp_path: Path) -> None:
    """Ratios of such numbers are none, and none of them is out of bounds."""
    whole = facts()
    first = whole.accumulations[0]
    nan = float("nan")
    cases = {
        "its loss with 1 microbatch is nan": {"loss": nan},
        "a gradient with 1 microbatch is no finite number": {"gram": [[nan for _ in row] for row in first.gram]},
    }
    for said, change in cases.items():
        broken = [first.model_copy(update=change), *whole.accumulations[1:]]
        (found,) = judged(tmp_path, whole.model_copy(update={"accumulations": broken}))
        assert found.name == "not-probed" and f"was not judged: {said} on the probed batch" in found.message


def test_an_update_that_is_no_finite_number_is_not_judged(tmp_path: Path) -> None:
    whole = facts()
    assert whole.update is not None and not judged(tmp_path, whole)
    parameters = [each.model_copy(update={"dd": float("inf")}) for each in whole.update.parameters]
    broken = whole.model_copy(update={"update": whole.update.model_copy(update={"parameters": parameters})})
    (found,) = judged(tmp_path, broken)
    assert found.name == "not-probed" and f"one update makes of `{parameters[0].path}`" in found.message
