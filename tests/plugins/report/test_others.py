"""GitLab and JUnit: parse as what they claim to be, one entry for each root."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from contract_lint.plugins.pipeline.report import Report
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
