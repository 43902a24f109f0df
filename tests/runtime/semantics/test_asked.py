"""What a contract has its steps probed for: arrays by the parts that it gives them."""

from __future__ import annotations

from contract_lint.contracts.model import Contract
from contract_lint.runtime.request import SemanticsRequest
from contract_lint.runtime.semantics.asked import asked_semantics

MASKS = ("loss_mask", "target_mask", "mask")
WEIGHTS = ("loss_weights", "weights", "decoder_loss_weights")


def asked(**fields: dict[str, object]) -> SemanticsRequest:
    section = {"contract": 1, "name": "n", "step": {"train": {"entry": "m:build"}}, "data": {"fields": fields}}
    return asked_semantics(Contract.model_validate(section))


def test_without_a_word_of_the_contract_the_usual_names_are_asked_for() -> None:
    assert asked().masks == (MASKS, WEIGHTS)
    assert list(asked().labels)[:2] == ["targets", "labels"] and set(asked().labels.values()) == {None}


def test_an_array_that_plays_another_part_is_not_taken_for_a_mask() -> None:
    assert asked(mask={"role": "attention_mask"}).masks == (MASKS[:2], WEIGHTS)


def test_a_named_role_comes_first() -> None:
    assert asked(counts={"role": "loss_weights"}).masks == (MASKS, ("counts", *WEIGHTS))


def test_labels_come_with_the_least_value_that_is_promised_of_them() -> None:
    found = asked(labels={"range": [-100, 49]}, ids={"role": "targets", "range": [0, 49]}).labels
    assert next(iter(found)) == "ids" and found["ids"] == 0 and found["labels"] == -100
    assert (
        SemanticsRequest.model_validate_json(asked(labels={"range": [-100, 49]}).model_dump_json()).labels
        == asked(labels={"range": [-100, 49]}).labels
    )
