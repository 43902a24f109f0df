"""Inputs that lie elsewhere than promised: one sentence, of one or of several."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from contract_lint.contracts.finding import Location
from contract_lint.linters.registry import find_rule

RULE = find_rule("SHD212")


def tensor(path: str, *axes: str) -> Any:
    return SimpleNamespace(path=path, class_="batch", global_shape=(16, 4), parameter=0, spec=(axes, ()))


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        (["x"], "batch input x is split over "),
        (["x", "y"], "batch inputs x and 1 more are split over "),
        (["x", "y", "z"], "batch inputs x and 2 more are split over "),
    ],
)
def test_one_is_and_several_are(paths: list[str], said: str) -> None:
    assert RULE is not None
    evidence: Any = SimpleNamespace(
        contract=SimpleNamespace(batch=SimpleNamespace(axes=["data"])),
        mesh=SimpleNamespace(axes={"data": 2, "fsdp": 4}),
        tensors=SimpleNamespace(rows=[tensor("right", "data"), *(tensor(path, "fsdp") for path in paths)]),
        place=lambda key: Location("c.contract.yaml", 1, 1),
    )
    (finding,) = RULE.check(evidence)
    assert finding.message.startswith(said)
    assert len(finding.evidence) == len(paths)
