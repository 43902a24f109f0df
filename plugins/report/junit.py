"""`--format junit`: a test case for each root finding, or one that passed; for servers that read test results."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from xml.etree import ElementTree

from ..pipeline.report import Report, Root
from .printable import in_cell, many_lines
from .verdict import consequences, headline, reason, subject, title

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report) -> str:
    """A JUnit XML file. New root findings at or above `fail_on` are failures, the others skipped with their message;
    targets that were not checked are errors."""
    failing = report.failing()
    others = [root for root in report.roots() if root not in failing]
    cases = len(failing) + len(others) + len(report.not_checked) or 1
    suite = ElementTree.Element(
        "testsuite",
        name=_xml(f"contract-lint {report.verb}: {subject(report)}"),
        tests=str(cases),
        failures=str(len(failing)),
        errors=str(len(report.not_checked)),
        skipped=str(len(others)),
    )
    if not failing and not others and not report.not_checked:
        ElementTree.SubElement(suite, "testcase", classname=_xml(report.verb), name=_xml(headline(report)))
    for roots, tag in ((failing, "failure"), (others, "skipped")):
        for root in roots:
            case = _case(suite, root)
            detail = ElementTree.SubElement(case, tag, message=_xml(root.finding.message))
            detail.text = _xml(_detail(root))
    for each in report.not_checked:
        case = ElementTree.SubElement(suite, "testcase", classname="contract", name=_xml(f"checked on {each.target}"))
        ElementTree.SubElement(case, "error", message=_xml(each.message)).text = _xml(reason(each))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _case(suite: ElementTree.Element, root: Root) -> ElementTree.Element:
    finding = root.finding
    attributes = {"classname": _xml(_class(root)), "name": _xml(f"{title(root)} {finding.subject}")}
    if finding.location is not None and finding.location.path:
        attributes["file"] = _xml(finding.location.path)
        if finding.location.line is not None and finding.location.cell is None:
            attributes["line"] = str(finding.location.line)
    return ElementTree.SubElement(suite, "testcase", attributes)


def _class(root: Root) -> str:
    """What servers group by, dots as they show folders: the step, else the file, else the contract."""
    finding = root.finding
    if finding.step is not None or finding.location is None or not finding.location.path:
        return finding.step or "contract"
    parts = [part for part in PurePosixPath(finding.location.path).with_suffix("").parts if part not in ("/", "..")]
    return ".".join(parts)


def _detail(root: Root) -> str:
    finding = root.finding
    parts = [in_cell(finding) + finding.message]
    parts += [f"expected: {finding.expected}"] if finding.expected is not None else []
    parts += [f"found: {finding.found}"] if finding.found is not None else []
    parts += [f"help: {finding.help}"] if finding.help else []
    parts += [f"status: {finding.status}"] if finding.status != "new" else []
    parts += [consequences(root)] if root.consequences else []
    return "\n".join(parts)


def _xml(text: str) -> str:
    return _NOT_XML.sub("?", many_lines(text))
