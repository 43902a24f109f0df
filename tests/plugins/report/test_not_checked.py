"""Targets that could not be looked at: every format names them and why, and none says that the contract holds."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from contract_lint.plugins.pipeline.report import Report
from contract_lint.plugins.report.formats import render

FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit", "markdown")


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_names_the_target_the_reason_and_what_to_do(form: str, incomplete: Report, clean: Report) -> None:
    text = render(incomplete, form).replace("\\[", "[").replace("\\]", "]").replace("\\-", "-")
    for said in ("tpu:v5e:2x4", "cuda:h100:1x8", "libtpu is not installed", "pip install 'jax-contract-lint[tpu]'"):
        assert said in text
    assert "\x1b" not in text
    assert "not checked" not in render(clean, form) and '"not_checked": [\n' not in render(clean, form)


@pytest.mark.parametrize("width", [80, 120])
def test_the_reason_stands_under_the_first_line_within_the_width(width: int, incomplete: Report) -> None:
    first, *rest = render(incomplete, "text", width).split("\n\n")
    assert " ".join(first.split()) == (
        "INCOMPLETE dense-fsdp on cpu:8: every promise holds; not checked on tpu:v5e:2x4 and cuda:h100:1x8."
    )
    assert max(map(len, first.splitlines())) <= width
    assert rest[0].splitlines() == [
        "not checked on tpu:v5e:2x4",
        "  libtpu is not installed",
        "  help  pip install 'jax-contract-lint[tpu]'",
    ]


def test_the_exit_code_is_2_whatever_else_was_found(incomplete: Report, broken: Report, clean: Report) -> None:
    both = replace(broken, not_checked=incomplete.not_checked)
    assert (clean.exit_code, broken.exit_code, incomplete.exit_code, both.exit_code) == (0, 1, 2, 2)
    assert replace(incomplete, fail_on="never").exit_code == 2
    assert render(both, "text").startswith("FAIL ")


def test_as_data(incomplete: Report) -> None:
    data = json.loads(render(incomplete, "json"))
    assert data["verdict"] == "incomplete"
    assert [(each["target"], each["path"], each["line"]) for each in data["not_checked"]] == [
        ("tpu:v5e:2x4", None, None),
        ("cuda:h100:1x8", "train.contract.yaml", 7),
    ]
    (run,) = json.loads(render(incomplete, "sarif"))["runs"]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False and invocation["exitCode"] == 2
    suite = ElementTree.fromstring(render(incomplete, "junit"))
    assert (suite.get("tests"), suite.get("errors"), len(suite.findall("testcase/error"))) == ("2", "2", 2)
    issues = json.loads(render(incomplete, "gitlab"))
    assert len({issue["fingerprint"] for issue in issues}) == 2
    assert [line[:8] for line in render(incomplete, "github").splitlines()[1:]] == ["::error ", "::error "]
