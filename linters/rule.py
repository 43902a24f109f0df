"""What a rule is: one module that carries its code, name, severity, documentation and a pure check."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from ..contracts.finding import Confidence, Finding, Severity

Evidence = Literal[
    "contract",
    "source",
    "trace",
    "program",
    "run",
    "semantics",
    "lock",
    "batch",
    "data",
    "checkpoint",
    "resume",
    "record",
    "verdict",
    "dump",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One promise that can be broken.

    `doc` is the module docstring of the rule, with the headings *What it does*, *Why is this bad?*, *Example*,
    *Use instead* and *References*; `explain`, the docs and the registry's test read it. `check` is pure: the
    same facts give the same findings. `compiled` says of a rule on a program that it needs the one that runs; without,
    it judges one that was partitioned and then refused for its size too.
    """

    code: str
    name: str
    severity: Severity
    evidence: Evidence
    doc: str
    check: Callable[[Any], Iterable[Finding]]
    confidence: Confidence = "certain"
    compiled: bool = True

    @property
    def summary(self) -> str:
        """The first sentence of the documentation."""
        return self.doc.strip().splitlines()[0]

    def finding(self, message: str, *, subject: str, **fields: Any) -> Finding:
        """A finding of this rule; `fields` are those of Finding."""
        fields = {"severity": self.severity, "confidence": self.confidence} | fields
        return Finding(code=self.code, name=self.name, message=message, subject=subject, **fields)
