"""The page of a memory ledger: loads nothing, escapes everything, stays small, and its areas are bytes."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from contract_lint.hlo_tools.memory import Action, Buffer, MemoryLedger
from contract_lint.hlo_tools.postmortem import post_mortem
from contract_lint.plugins.pipeline.hlo import memory_of, open_program
from contract_lint.plugins.report.ledgers import render_ledger
from contract_lint.plugins.report.treemap import Box, squarified

HOSTILE = "</title><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\x1b[31m\u202e"


def buffer(name: str, size: int, source: str | None = "step.py:1") -> Buffer:
    return Buffer(name, size, size // 2, f"f32[{size}]", "activation_saved", "net/block", source, 1, 3)


def ledger(*buffers: Buffer, name: str = "jit_step") -> MemoryLedger:
    peak = sum(each.bytes for each in buffers)
    return MemoryLedger(
        module=name,
        method="heap-trace",
        peak_bytes=peak,
        argument_bytes=0,
        output_bytes=0,
        alias_bytes=0,
        temp_bytes=peak,
        code_bytes=0,
        peak_index=2,
        peak_instruction=name,
        buffers=list(buffers),
        timeline=[(0, 0), (1, peak // 2), (2, peak), (4, 0)],
        actions=(Action("recompute", name, f"recompute {name}", peak // 2, peak, tuple(b.name for b in buffers)),),
    )


class Tags(HTMLParser):
    """Collects tags and attributes; complains where tags do not nest."""

    VOID = frozenset(("meta", "br", "col", "line", "rect"))

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("meta", "br", "col"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    return tags


def is_offline(page: str) -> None:
    tags = parsed(page)
    assert not tags.tags & {"script", "img", "link", "iframe", "object", "a"}
    assert not {name for name in tags.attributes if name.startswith("on") or name in ("src", "href")}
    assert "default-src 'none'" in page
    assert not re.search(r"https?://|url\(|@import", page)


def test_strings_from_outside_are_escaped() -> None:
    page = render_ledger(ledger(buffer(HOSTILE, 8 << 20, HOSTILE), name=HOSTILE), "html")
    is_offline(page)
    assert "\x1b" not in page and "\u202e" not in page


def test_a_report_of_the_compiler_is_escaped_too() -> None:
    text = f'  1. Size: 32.00G\n     Operator: op_name="{HOSTILE.replace(chr(34), "")}"\n     Shape: f32[4,<b>]\n'
    found = post_mortem(text)
    assert found is not None
    is_offline(render_ledger(found, "html"))


def test_what_to_do_stands_first_and_beside_each_buffer() -> None:
    page = render_ledger(ledger(buffer("fusion.1", 8 << 20), buffer("fusion.2", 4 << 20)), "html")
    assert page.index("What would shrink it") < page.index("By class") < page.index("live at the peak</h2>")
    assert page.count("recompute jit_step (frees 6.00 MiB in all)") == 2


def test_the_page_stays_small_however_many_buffers_there_are() -> None:
    many = [
        replace(buffer(f"fusion.{number}", (1 << 20) - number), source=f"s.py:{number}") for number in range(20_000)
    ]
    page = render_ledger(ledger(*many), "html")
    assert len(page.encode()) < 3_000_000
    assert "more" in page or "smaller" in page


def test_the_largest_program_of_the_corpus() -> None:
    path = Path(os.environ.get("CONTRACT_LINT_CORPUS") or ".") / "corpus/compiled/unrolled.cpu.jax0.10.2.opt.hlo.txt.gz"
    if not path.is_file():
        pytest.skip("CONTRACT_LINT_CORPUS does not hold corpus/compiled/unrolled.cpu.jax0.10.2.opt.hlo.txt.gz")
    page = render_ledger(memory_of(open_program(str(path))), "html")
    assert len(page.encode()) < 3_000_000
    is_offline(page)


def test_areas_are_weights_and_fill_the_box() -> None:
    box = Box(10, 20, 300, 200)
    weights = [60, 30, 20, 10, 5, 5, 1]
    made = squarified(weights, box)
    areas = [each.width * each.height for each in made]
    assert areas == pytest.approx([weight * 300 * 200 / sum(weights) for weight in weights])
    for each in made:
        assert box.x - 1e-6 <= each.x and each.x + each.width <= box.x + box.width + 1e-6
        assert box.y - 1e-6 <= each.y and each.y + each.height <= box.y + box.height + 1e-6


def test_rectangles_do_not_overlap() -> None:
    made = squarified([9, 8, 7, 3, 2, 2, 1, 1], Box(0, 0, 100, 40))
    for at, one in enumerate(made):
        for other in made[at + 1 :]:
            wide = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
            high = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
            assert wide < 1e-6 or high < 1e-6


@pytest.mark.parametrize("weights", [[], [0.0], [1.0]])
def test_nothing_and_one(weights: list[float]) -> None:
    assert len(squarified(weights, Box(0, 0, 10, 10))) == len(weights)
