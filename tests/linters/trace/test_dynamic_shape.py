"""Dynamic dimensions: one finding for each function, at its first line."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from contract_lint.contracts.manifest import Frame
from contract_lint.linters.registry import find_rule

RULE = find_rule("JIT205")


def test_what_is_computed_from_a_dynamic_value_in_its_function_is_listed_with_it() -> None:
    assert RULE is not None
    frames = [Frame(path="t.py", line=line, function=name) for line, name in ((7, "f"), (8, "f"), (3, "g"), (9, "f"))]
    evidence: Any = SimpleNamespace(
        contract=SimpleNamespace(graph=SimpleNamespace(dynamic_shapes="forbid")),
        facts=SimpleNamespace(jaxpr=SimpleNamespace(dynamic_shapes=frames)),
    )
    first, second = RULE.check(evidence)
    assert first.location is not None and first.location.line == 7
    assert first.evidence == ("and so are values at t.py:8", "and so are values at t.py:9")
    assert second.location is not None and second.location.line == 3 and second.evidence == ()
