"""`--format json`: the published keys, valid JSON, deterministic bytes."""

from __future__ import annotations

import json

from contract_lint.plugins.pipeline.report import Report, report
from contract_lint.plugins.report.json import dumps, render

FINDING_KEYS = {
    *("code", "name", "step", "targets", "severity", "confidence", "message", "path", "line", "column"),
    *("end_line", "end_column", "key", "instruction", "expected", "found", "evidence", "help", "fix"),
    *("fingerprint", "status", "caused_by"),
}


def test_shape_is_the_published_one(broken: Report) -> None:
    data = json.loads(render(broken))
    assert {"schema_version", "tool", "provenance", "summary", "findings"} <= set(data)
    assert data["summary"] == {"error": 1, "warning": 1, "info": 1}
    assert isinstance(data["provenance"]["captures"], list)
    assert data["verdict"] == "fail"
    for finding in data["findings"]:
        assert set(finding) >= FINDING_KEYS
    by_code = {finding["code"]: finding for finding in data["findings"]}
    assert by_code["MEM202"]["caused_by"] == by_code["SHD204"]["fingerprint"]
    assert by_code["EXP999"]["path"] is None and by_code["EXP999"]["line"] is None
    assert by_code["SHD204"]["targets"] == ["cpu:8", "tpu:v5e:2x4"]
    assert by_code["SHD209"]["status"] == "accepted"


def test_bytes_do_not_depend_on_the_order_of_findings(broken: Report) -> None:
    turned = report(
        reversed(broken.findings),
        verb=broken.verb,
        subject=broken.subject,
        targets=broken.targets,
        contracts=broken.contracts,
        captures=broken.captures,
        tables=broken.tables,
    )
    assert render(turned) == render(broken)
    assert render(broken) == render(broken)


def test_numbers_json_cannot_say_become_null() -> None:
    assert (
        dumps({"a": float("nan"), "b": [float("inf"), 1.5]})
        == '{\n  "a": null,\n  "b": [\n    null,\n    1.5\n  ]\n}\n'
    )
