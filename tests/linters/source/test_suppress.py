"""`# contract-lint: ignore[...]` on statements and files."""

from __future__ import annotations

import pytest
from contract_lint.contracts.finding import Finding, Location
from contract_lint.linters.source.comments import layout
from contract_lint.linters.source.fixes import fixable, mend
from contract_lint.linters.source.suppress import suppress_source
from contract_lint.linters.source.text import SourceText, plain_source

KNOWN = {"JIT103", "tracer-branch", "JIT104", "leaked-tracer", "SHD001"}
JUDGED = {"JIT103", "tracer-branch", "JIT104", "leaked-tracer"}
NAMES = {"JIT103": "tracer-branch", "JIT104": "leaked-tracer"}

CODE = """\
import jax

@jax.jit  # LINE 3
@other
def f(
    x,
):  # LINE 7
    y = g(
        x,  # LINE 9
    )
    # LINE 11
    if y > 0: return 1
    s = '''
    text
    '''  # LINE 15
    return (
        s
        # LINE 18
    )

# LINE 21

z = 1; w = 2  # LINE 23
"""


def finding(code: str, line: int) -> Finding:
    return Finding(
        code=code,
        name=NAMES[code],
        severity="error",
        message="m",
        subject=f"{line}",
        location=Location("a.py", line, 1),
    )


def with_comment(line: int, comment: str) -> SourceText:
    return plain_source("a.py", CODE.replace(f"# LINE {line}\n", f"{comment}\n"))


def status(source: SourceText, *findings: Finding) -> list[str]:
    return [each.status for each in suppress_source(findings, source, JUDGED, KNOWN)][: len(findings)]


@pytest.mark.parametrize(
    ("line", "covered", "other"),
    [
        (3, (3, 4, 5, 7), (8, 12)),
        (7, (3, 5, 6, 7), (8,)),
        (9, (8, 9, 10), (7, 12)),
        (11, (12,), (10, 13)),
        (15, (13, 14, 15), (12, 16)),
        (18, (16, 17, 19), (13, 23)),
        (21, (23,), (19,)),
        (23, (23,), (19,)),
    ],
)
def test_a_comment_is_about_its_whole_statement(line: int, covered: tuple[int, ...], other: tuple[int, ...]) -> None:
    source = with_comment(line, "# contract-lint: ignore[JIT103] measured")
    found = status(source, *(finding("JIT103", each) for each in (*covered, *other)))
    assert found == ["suppressed"] * len(covered) + ["new"] * len(other)


def test_by_name_by_list_and_only_what_is_named() -> None:
    source = with_comment(9, "# contract-lint: ignore[tracer-branch, SHD001, JIT104] both are meant")
    assert status(source, finding("JIT103", 8), finding("JIT104", 10)) == ["suppressed", "suppressed"]
    source = with_comment(9, "# contract-lint: ignore[JIT104] one")
    assert status(source, finding("JIT103", 8)) == ["new"]


def test_a_whole_file() -> None:
    source = plain_source("a.py", "# contract-lint: ignore-file[JIT103] a port, kept as it is\n" + CODE)
    assert status(source, finding("JIT103", 4), finding("JIT103", 24), finding("JIT104", 4)) == [
        "suppressed",
        "suppressed",
        "new",
    ]
    unused = suppress_source([], source, JUDGED, KNOWN)
    assert [f.message for f in unused] == ["no finding of `JIT103` is in this file"]


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("# contract-lint: ignore because", "the comment suppresses nothing: no rule is named"),
        ("# contract-lint: ignore[JIT999] because", "there is no rule `JIT999`"),
        (
            "# contract-lint: disable[JIT103] because",
            "the comment suppresses nothing: `disable` is not a directive, there are `ignore` and `ignore-file`",
        ),
    ],
)
def test_comments_that_say_too_little(comment: str, message: str) -> None:
    found = suppress_source([finding("JIT103", 8)], with_comment(9, comment), JUDGED, KNOWN)
    assert [(f.code, f.status) for f in found[:1]] == [("JIT103", "new")]
    assert [(f.name, f.message) for f in found[1:]] == [("invalid-suppression", message)]


@pytest.mark.parametrize(
    ("comment", "here", "said"),
    [
        ("ignore[JIT103]", ["suppressed"], ["invalid-suppression"]),
        ("ignore-file[JIT103]", ["suppressed"], ["invalid-suppression"]),
        ("ignore[JIT103, JIT104]", ["suppressed"], ["invalid-suppression", "unused-suppression"]),
        ("ignore[JIT104]", ["new"], ["unused-suppression"]),
        ("ignore[JIT999]", ["new"], ["invalid-suppression"]),
        ("ignore[SHD001]", ["new"], ["invalid-suppression"]),  # did not run
    ],
)
def test_without_a_reason_there_is_one_finding_not_two(comment: str, here: list[str], said: list[str]) -> None:
    found = suppress_source([finding("JIT103", 8)], with_comment(9, f"# contract-lint: {comment}"), JUDGED, KNOWN)
    assert [f.status for f in found[:1]] == here and [f.name for f in found[1:]] == said


def test_text_that_looks_like_a_comment_is_none() -> None:
    source = plain_source("a.py", "x = '# contract-lint: ignore[JIT103] no'\n")
    assert status(source, finding("JIT103", 1)) == ["new"]


def test_a_rule_that_did_not_run_is_not_called_unused() -> None:
    assert suppress_source([], with_comment(9, "# contract-lint: ignore[SHD001] a contract's"), JUDGED, KNOWN) == []


@pytest.mark.parametrize(
    ("line", "comment", "left"),
    [
        (9, "# contract-lint: ignore[JIT103] gone", "        x,\n"),
        (9, "# contract-lint: ignore[JIT103, JIT104] one", "        x,  # contract-lint: ignore[JIT104] one\n"),
        (9, "# other  # contract-lint: ignore[JIT103] x", "        x,  # other  # contract-lint: ignore[JIT103] x\n"),
        (21, "# contract-lint: ignore[JIT103] gone", None),
    ],
)
def test_an_unused_comment_is_removed_by_its_fix(line: int, comment: str, left: str | None) -> None:
    source = with_comment(line, comment)
    found = suppress_source([finding("JIT104", line)], source, JUDGED, KNOWN)
    made = mend(source, fixable(found, unsafe=False))
    text = source.text if made is None else made.source.text
    lines = CODE.splitlines(keepends=True)
    if left is None:
        assert text == "".join(lines[: line - 1] + lines[line:])
    else:
        assert text == "".join([*lines[: line - 1], left, *lines[line:]])


def test_layout_ends_where_python_does() -> None:
    assert layout(plain_source("a.py", "x = 1  # one\ny = (  # two\n")).comments == (
        (1, 8, "# one"),
        (2, 8, "# two"),
    )
    assert layout(plain_source("a.py", "")).statements == ()
    assert layout(plain_source("a.py", "x = 1\r# c\ry = 2\r")).statements == ((1, 1), (3, 3))
