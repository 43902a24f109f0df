"""pytest plugin: hold a step to its contract from a test.

    def test_step_keeps_its_contract(contract_verify):
        contract_verify("train.contract.yaml", target="cpu:8")

or, without the fixture, `from contract_lint.plugins.pytest_plugin import assert_contract`. The plugin is loaded in
every pytest run of an environment that has contract-lint, so it imports nothing of it until it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .pipeline.report import Report


def assert_contract(path: str | PathLike[str], target: str | None = None, **options: Any) -> Report:
    """Verify the contract at `path`; where `contract-lint verify` would not exit with 0, fail the test with its report.

    `target` picks one of the contract's targets; `options` are those of `plugins.pipeline.verify.verify` (`run=True`,
    `capture_dir=...`, `fail_on="warning"`). The steps run in a child process, so the test's own jax is left alone.
    Raises ContractLintError for a contract or capture that cannot be read.
    """
    __tracebackhide__ = True
    from .pipeline.verify import verify
    from .report.text import render

    report = verify(path, targets=() if target is None else (target,), **options)
    if report.exit_code:
        pytest.fail(render(report), pytrace=False)
    return report


@pytest.fixture
def contract_verify(request: pytest.FixtureRequest) -> Callable[..., Report]:
    """`contract_verify(path, target=None, **options)`: `assert_contract`, with `path` relative to the test's file."""

    def check(path: str | PathLike[str], target: str | None = None, **options: Any) -> Report:
        __tracebackhide__ = True
        return assert_contract(request.path.parent / path, target, **options)

    return check
