"""What does not fit, in words of our own: no sentence is pydantic's."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from contract_lint.contracts.unfit import unfit
from pydantic import BaseModel, ConfigDict, Field, ValidationError


class Inner(BaseModel):
    count: Annotated[int, Field(ge=0, lt=8)] = 0


class Whole(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(max_length=3)] = ""
    code: Annotated[str, Field(pattern="^[A-Z]$")] = "A"
    kind: Literal["a", "b"] = "a"
    share: Annotated[float, Field(allow_inf_nan=False)] = 0.0
    on: bool = True
    each: list[Inner] = []
    by: dict[str, str] = {}


WRONG: list[tuple[Any, str]] = [
    ({"name": "abcd"}, "`top.name` must be text of at most 3 characters, found 4"),
    ({"name": 1}, "`top.name` must be text, found 1"),
    ({"code": "a"}, "`top.code` must be a capital letter, found a"),
    ({"kind": "c"}, "`top.kind` must be 'a' or 'b', found c"),
    ({"share": float("nan")}, "`top.share` must be a finite number, found nan"),
    ({"share": "x"}, "`top.share` must be a number, found x"),
    ({"on": "x"}, "`top.on` must be true or false, found x"),
    ({"each": {}}, "`top.each` must be a list, found an empty mapping"),
    ({"each": [{"count": -1}]}, "`top.each[0].count` must be at least 0, found -1"),
    ({"each": [{"count": 8}]}, "`top.each[0].count` must be below 8, found 8"),
    ({"each": [{"count": 1.5}]}, "`top.each[0].count` must be a whole number, found 1.5"),
    ({"each": [{"count": "x"}]}, "`top.each[0].count` must be a whole number, found x"),
    ({"each": [3]}, "`top.each[0]` must be a mapping, found 3"),
    ({"by": [1, "2", None]}, '`top.by` must be a mapping, found the list [1, the text "2", null]'),
    ({"by": [[1]]}, "`top.by` must be a mapping, found a list"),
    ({"by": [100] * 30}, "`top.by` must be a mapping, found a list of 30"),
    ({"by": []}, "`top.by` must be a mapping, found an empty list"),
    ({"more": 1}, "the key `top.more` is not known"),
    ([], "`top` must be a mapping, found an empty list"),
]


@pytest.mark.parametrize(("data", "said"), WRONG)
def test_each_kind_of_misfit_has_its_words(data: Any, said: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Whole.model_validate(data)
    assert unfit(refused.value, ("top",), {"^[A-Z]$": "a capital letter"}) == said


def test_without_a_word_for_it_a_pattern_is_shown_as_it_is() -> None:
    with pytest.raises(ValidationError) as refused:
        Whole.model_validate({"code": "a"})
    assert unfit(refused.value) == "`code` must be text of the form ^[A-Z]$, found a"
    with pytest.raises(ValidationError) as refused:
        Whole.model_validate_json("{")
    assert unfit(refused.value).startswith("is no JSON: ")
