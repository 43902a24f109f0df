"""`--format sarif`: valid against the official schema of SARIF 2.1.0, byte for byte as OASIS published it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import jsonschema
import pytest
from contract_lint.plugins.pipeline.report import Report
from contract_lint.plugins.report.sarif import render

SCHEMA = Path(__file__).with_name("sarif-schema-2.1.0.json")
SHA256 = "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e"


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft4Validator:
    return jsonschema.Draft4Validator(json.loads(SCHEMA.read_bytes()), format_checker=jsonschema.FormatChecker())


def test_the_schema_is_unmodified() -> None:
    assert hashlib.sha256(SCHEMA.read_bytes()).hexdigest() == SHA256


@pytest.mark.parametrize("name", ["clean", "broken", "huge", "incomplete"])
def test_valid(name: str, request: pytest.FixtureRequest, validator: jsonschema.Draft4Validator) -> None:
    log = json.loads(render(request.getfixturevalue(name)))
    assert [error.message for error in validator.iter_errors(log)] == []


def test_the_validator_refuses_what_is_wrong(broken: Report, validator: jsonschema.Draft4Validator) -> None:
    log = json.loads(render(broken))
    log["runs"][0]["results"][0]["level"] = "fatal"
    assert list(validator.iter_errors(log))


def test_accepted_results_are_marked_and_kept(broken: Report) -> None:
    results = {result["ruleId"]: result for result in json.loads(render(broken))["runs"][0]["results"]}
    assert set(results) == {"SHD204", "MEM202", "SHD209", "JIT203", "EXP999"}
    assert results["SHD209"]["suppressions"][0]["kind"] == "external"
    assert "suppressions" not in results["SHD204"]


def test_places(broken: Report) -> None:
    results = {result["ruleId"]: result for result in json.loads(render(broken))["runs"][0]["results"]}
    place = results["SHD204"]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "src/my%20model/train.py", "uriBaseId": "SRCROOT"}
    assert place["region"] == {"startLine": 41, "startColumn": 9, "endLine": 41, "endColumn": 30}
    # A service refuses a result without a place: it stands at the contract.
    assert results["EXP999"]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "train.contract.yaml"
    assert results["MEM202"]["relatedLocations"][0]["physicalLocation"] == place
    assert results["MEM202"]["properties"]["causedBy"] == results["SHD204"]["partialFingerprints"]["contractLint/v1"]


def test_rules_are_listed_once_and_indexed(broken: Report) -> None:
    run = json.loads(render(broken))["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == sorted(set(rules))
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
