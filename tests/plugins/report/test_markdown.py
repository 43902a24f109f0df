"""`--format markdown`: fits a comment, says the verdict of every target, and its content cannot be markup."""

from __future__ import annotations

import re

from contract_lint.plugins.pipeline.report import Report
from contract_lint.plugins.report.markdown import MAX_CHARACTERS, code, escape, render


def test_fits_a_comment_and_says_what_is_left_out(huge: Report) -> None:
    text = render(huge)
    assert 20_000 < len(text) < MAX_CHARACTERS
    assert re.search(r"_\d+ parts left out to fit a comment", text)
    assert text.count("<details>") == text.count("</details>")


def test_verdict_for_each_target(broken: Report) -> None:
    text = render(broken)
    assert text.startswith("### FAIL dense-fsdp")
    assert re.search(r"^\| cpu:8 \| FAIL \| 1 error, 1 warning and 1 info", text, re.M)
    assert re.search(r"^\| tpu:v5e:2x4 \| FAIL \|", text, re.M)


def test_nothing_in_the_content_is_markup(broken: Report, hostile: str) -> None:
    text = render(broken)
    allowed = re.sub(r"</?(details|summary)>|<br>", "", text)
    assert not re.search(r"<(?!br>)\w", allowed), "HTML from a finding"
    assert not re.search(r"(?<!`)@\w", text), "a mention"
    assert "\x1b" not in text


def test_escape() -> None:
    assert escape("a|b <i> `c` *d* @me #12\nnext https://x.y") == (
        "a\\|b &lt;i&gt; \\`c\\` \\*d\\* @\u200bme \\#12 next https:\u200b//x.y"
    )
    assert escape("\\<b>") == "\\\\&lt;b&gt;"


def test_code_fence_is_longer_than_the_backticks_inside() -> None:
    assert code("a``b") == "```a``b```"
    assert code("`a`") == "`` `a` ``"
