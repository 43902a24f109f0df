"""Suppression comments: on the line, with a reason, and only while they suppress something."""

from __future__ import annotations

from contract_lint.contracts.finding import Finding, Location
from contract_lint.linters.verdict.suppressions import suppress

PATH = "t.contract.yaml"


def finding(line: int, code: str = "SHD001", name: str = "axis-not-in-mesh", path: str = PATH) -> Finding:
    return Finding(
        code=code, name=name, severity="error", message="m", subject=f"{line}", location=Location(path, line, 1)
    )


def statuses(text: str, *found: Finding, **options) -> list[tuple[str, str, int | None]]:
    return [
        (each.code, each.status, each.location.line if each.location else None)
        for each in suppress(found, PATH, text, **options)
    ]


def test_by_code_or_name_on_the_same_line() -> None:
    text = "a: 1  # contract-lint: ignore[SHD001] padded\nb: 2  #contract-lint:ignore[axis-not-in-mesh, DAT001] y\n"
    text += "c: 3\n"
    found = statuses(text, finding(1), finding(2), finding(2, "DAT001", "x"), finding(3), finding(1, path="other.yaml"))
    assert found == [
        ("SHD001", "suppressed", 1),
        ("SHD001", "suppressed", 2),
        ("DAT001", "suppressed", 2),
        ("SHD001", "new", 3),
        ("SHD001", "new", 1),
    ]


def test_without_a_comment_nothing_changes() -> None:
    assert statuses("a: 1\n", finding(1)) == [("SHD001", "new", 1)]


def test_unused() -> None:
    text = "a: 1  # contract-lint: ignore[SHD001, DAT001] padded\n"
    assert statuses(text, finding(1)) == [("SHD001", "suppressed", 1), ("JIT402", "new", 1)]
    assert statuses(text, finding(1), judged={"SHD001"}) == [("SHD001", "suppressed", 1)]


def test_comments_that_suppress_nothing() -> None:
    for comment in ("ignore[] why", "ignore why", "disable[SHD001] why"):
        assert statuses(f"a: 1  # contract-lint: {comment}\n", finding(1)) == [
            ("SHD001", "new", 1),
            ("JIT018", "new", 1),
        ]


def test_capitals_are_told_and_prose_is_not() -> None:
    for comment in (
        "Contract-Lint: ignore[SHD001] why",
        "contract-lint: Ignore[SHD001] why",
        "CONTRACT-LINT: IGNORE[]",
    ):
        (_, told) = suppress([finding(1)], PATH, f"a: 1  # {comment}\n")
        assert (told.code, "small letters" in told.message) == ("JIT018", True)
    assert statuses("a: 1  # Contract-Lint: our linter\n", finding(1)) == [("SHD001", "new", 1)]
    (_, told) = suppress([finding(1)], PATH, "a: 1  # contract-lint: ignore[shd001] why\n", known=["SHD001", "MEM001"])
    assert told.help == "did you mean `SHD001`?"


def test_without_a_reason() -> None:
    text = "a: 1  # contract-lint: ignore[SHD001]\n"
    assert statuses(text, finding(1)) == [("SHD001", "suppressed", 1), ("JIT018", "new", 1)]
    assert statuses(text) == [("JIT402", "new", 1)]


def test_unknown_rules() -> None:
    (_, mistake) = suppress(
        [finding(1)], PATH, "a: 1  # contract-lint: ignore[SHD01] why\n", known=["SHD001", "MEM001"]
    )
    assert (mistake.code, mistake.help) == ("JIT018", "did you mean `SHD001`?")
    assert mistake.location is not None and (mistake.location.line, mistake.location.column) == (1, 7)


def test_text_in_a_scalar_is_no_comment() -> None:
    assert statuses('a: "x # contract-lint: ignore[SHD001] why"\n', finding(1)) == [("SHD001", "new", 1)]
