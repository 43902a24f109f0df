"""`--format json`: the published keys, valid JSON, deterministic bytes."""

from __future__ import annotations

import json

from contract_lint.contracts.finding import Finding
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


def test_a_root_comes_right_before_what_follows_from_it(broken: Report) -> None:
    codes = [finding["code"] for finding in json.loads(render(broken))["findings"]]
    assert codes.index("MEM202") == codes.index("SHD204") + 1
    late = Finding(code="ZZZ001", name="root", severity="info", message="cause", subject="s")
    early = Finding(
        code="AAA001", name="leaf", severity="error", message="effect", subject="s", caused_by=late.fingerprint
    )
    other = Finding(code="BBB001", name="other", severity="error", message="another", subject="s")
    listed = json.loads(render(report([early, other, late], verb="verify", subject="x")))["findings"]
    assert [finding["code"] for finding in listed] == ["BBB001", "ZZZ001", "AAA001"]
