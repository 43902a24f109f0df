"""The first line of every report: the verdict, what was judged, and the largest thing to do."""

from __future__ import annotations

from collections import Counter

from ...contracts.errors import ContractLintError
from ..pipeline.not_checked import NotChecked
from ..pipeline.report import Report, Root
from .printable import cut, joined, one_line, place, plural, sentence

FIRST_CHARACTERS = 400


def verdict(report: Report) -> str:
    """`PASS`, or `FAIL` where a new finding reaches `fail_on`; `INCOMPLETE` where a target could not be checked,
    `NOTHING CHECKED` where there was no contract."""
    if report.nothing_checked:
        return "NOTHING CHECKED"
    return "FAIL" if report.failing() else "INCOMPLETE" if report.not_checked else "PASS"


def headline(report: Report) -> str:
    """One line: `FAIL dense-fsdp on cpu:8: 2 errors and 1 warning. First: ...`."""
    if report.nothing_checked:
        return f"{verdict(report)}: {counts(report)}."
    open_promises = f"; not checked on {joined(one_line(each.target) for each in report.not_checked)}"
    found = counts(report) + (open_promises if report.not_checked else "")
    return f"{verdict(report)} {subject(report)}: {found}.{_first(report)}"


def subject(report: Report) -> str:
    """What was judged: `dense-fsdp on cpu:8 and tpu:v5e:4x4`."""
    on = f" on {joined(map(one_line, report.targets))}" if report.targets else ""
    return f"{one_line(report.subject)}{on}"


def counts(report: Report) -> str:
    """`2 errors and 1 warning, 3 consequences, 1 accepted`; where nothing is worse than info, what that rests on."""
    summary = report.summary()
    found = [plural(count, severity) for severity, count in summary.items() if count]
    harmless = not (summary["error"] or summary["warning"])
    parts = [one_line(report.proven)] if report.proven else []
    if found:
        parts.append(joined(found))
        folded = sum(len(root.consequences) for root in report.new_roots())
        parts += [plural(folded, "consequence")] if folded else []
        parts += [f"{report.fixable:,} fixable with --fix"] if report.fixable and report.verb == "check" else []
        parts += ["none of which fails: --fail-on never"] if report.fail_on == "never" and not harmless else []
    parts = parts or ["no finding"]
    return ", ".join([*parts, *(f"{count:,} {status}" for status, count in report.set_aside().items())])


def title(root: Root) -> str:
    """`SHD204 unplanned-collective`."""
    return one_line(f"{root.finding.code} {root.finding.name}")


def consequences(root: Root) -> str:
    """The findings folded under a root, on one line: `4 consequences: SHD206 ... x 3, MEM202 ...`; empty for none."""
    if not root.consequences:
        return ""
    counts = Counter(one_line(f"{finding.code} {finding.name}") for finding in root.consequences)
    names = [f"{name} x {count:,}" if count > 1 else name for name, count in counts.items()]
    return f"{plural(len(root.consequences), 'consequence')}: {', '.join(names)}"


def reason(each: NotChecked) -> str:
    """Why a target was not checked and what to do about it, with the place where there is one."""
    return str(ContractLintError(each.message, each.location, each.help))


def _first(report: Report) -> str:
    root = report.largest()
    if root is None:
        return ""
    where = place(root.finding)
    where = "" if where in (one_line(report.subject), one_line(report.file)) else where  # it is named already
    return f" First: {where + ': ' if where else ''}{sentence(cut(root.finding.message, FIRST_CHARACTERS))}"
