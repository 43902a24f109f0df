"""Names of functions in the settings that are names of nothing."""

from __future__ import annotations

import pytest
from contract_lint.linters.source.analyse import modules_of
from contract_lint.linters.source.modules import module_names
from contract_lint.linters.source.named import unmatched
from contract_lint.linters.source.options import SourceOptions
from contract_lint.linters.source.program import link
from contract_lint.linters.source.summary import summarise
from contract_lint.linters.source.text import plain_source

LAYERS = """\
class Layer:
    def forward(self, x):
        def inner(y):
            return y
        return inner(x)
    if True:
        async def reset(self): ...
scale = lambda x: x
"""
SOURCES = [plain_source("pkg/layers.py", LAYERS), plain_source("pkg/broken.py", "def f(:\n"), plain_source("b.py", "")]
THERE = [
    "pkg.layers:Layer.forward",
    "pkg.*:Layer.forward",
    "*:*.forward",
    "*forward",
    "pkg.layers:Layer.forward.inner",
    "pkg.layers:Layer.reset",
    "pkg.layers:<lambda>",
    "pkg.layers:*",
]


@pytest.mark.parametrize("whole", [False, True])
def test_what_is_there_is_matched(whole: bool) -> None:
    assert unmatched(THERE, SOURCES, whole) == {}


@pytest.mark.parametrize("pattern", THERE)
def test_the_program_knows_it_by_that_name_too(pattern: str) -> None:
    name = module_names(SOURCES)[0]
    module = modules_of(SOURCES[0], *name)
    program = link([summarise(module)], SourceOptions(traced=(pattern,)))  # pyright: ignore[reportArgumentType]
    assert program.traced_functions


@pytest.mark.parametrize(
    ("pattern", "near"),
    [
        ("pkg.layers:Layer.foward", "pkg.layers:Layer.forward"),
        ("pkg.layers:Other.method", None),
        ("pkg.layers:reset", "pkg.layers:Layer.reset"),
    ],
)
def test_a_function_that_a_file_does_not_have(pattern: str, near: str | None) -> None:
    assert unmatched([pattern], SOURCES, whole=False) == {pattern: near}


def test_what_may_be_in_files_that_were_not_read_is_judged_in_the_whole_project_alone() -> None:
    patterns = ["pkg.layrs:Layer.forward", "pkg.*:gone", "elsewhere:f"]
    assert unmatched(patterns, SOURCES, whole=False) == {}
    assert unmatched(patterns, SOURCES, whole=True) == {
        "pkg.layrs:Layer.forward": "pkg.layers:Layer.forward",
        "pkg.*:gone": None,
        "elsewhere:f": None,
    }
