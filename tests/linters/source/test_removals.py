"""The table of removed names is true of the JAX, Flax and Optax installed here; requirements are read as pip does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from contract_lint.linters.source.analyse import check_sources
from contract_lint.linters.source.fixes import mend
from contract_lint.linters.source.options import SourceOptions
from contract_lint.linters.source.removals import KEYWORDS, REMOVALS, allowed, numbers
from contract_lint.linters.source.renames import LOADED
from contract_lint.linters.source.rules.removed_jax_api import RULE
from contract_lint.linters.source.text import plain_source
from packaging.specifiers import SpecifierSet

CHILD = Path(__file__).with_name("removed_by_version.py")
PACKAGES = ("jax", "flax", "optax")


def looked_up(names: set[str], *options: str) -> dict[str, dict]:
    done = subprocess.run(
        [sys.executable, str(CHILD), *options],
        input=json.dumps(sorted(names)),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def installed() -> dict[str, dict]:
    names = set(REMOVALS) | {each.new for each in REMOVALS.values()}
    names |= {f"{each.function}:{name}" for each in KEYWORDS.values() for name in (each.name, each.new) if name}
    return looked_up({name for name in names if name.partition(".")[0] in PACKAGES})


@pytest.mark.slow
def test_removed_names_are_gone_and_others_still_there(installed: dict[str, dict]) -> None:
    wrong = []
    for name, removal in REMOVALS.items():
        version = numbers(installed["versions"][removal.package])
        gone = bool(removal.removed) and version >= numbers(removal.removed)
        if installed["there"][name] is gone:
            wrong.append(f"{name} is {'there' if gone else 'gone'}")
    assert wrong == []


@pytest.mark.slow
def test_successors_are_there(installed: dict[str, dict]) -> None:
    wrong = [
        f"{removal.name} -> {removal.new}"
        for removal in REMOVALS.values()
        if removal.new in installed["there"] and not installed["there"][removal.new]
    ]
    assert wrong == []


@pytest.mark.slow
def test_arguments_are_gone_and_their_new_names_there(installed: dict[str, dict]) -> None:
    there = installed["there"]
    # JAX 0.10 still lists `concrete` of checkpoint, only to say that it was removed.
    known = [each for each in KEYWORDS.values() if each.removed and each.name != "concrete"]
    assert len(known) > 10 and [each for each in known if there[f"{each.function}:{each.name}"]] == []
    assert [each for each in known if each.new and not there[f"{each.function}:{each.new}"]] == []


def test_attributes_that_fixes_write_need_no_import() -> None:
    written = {
        removal.new
        for removal in REMOVALS.values()
        if removal.same and removal.package == "jax" and not removal.is_module and not removal.new.startswith(LOADED)
    }
    told = looked_up(written, "alone")["there"]
    assert len(written) > 25 and [name for name in written if not told[name]] == []


SPECIFIERS = (
    "",
    ">=0.4.20",
    "<0.5",
    "==0.4.30",
    "~=0.4.30",
    "~=0.4",
    ">=0.4.1,<=0.6.0",
    "==0.4.*",
    ">0.5,!=0.5.3",
    "<0.6,<0.5",
)
VERSIONS = (
    "0.3.25",
    "0.4.1",
    "0.4.20",
    "0.4.25",
    "0.4.30",
    "0.4.38",
    "0.5.0",
    "0.5.3",
    "0.6.0",
    "0.6.1",
    "0.7.0",
    "0.10.0",
)


@pytest.mark.parametrize("specifier", SPECIFIERS)
def test_specifiers_allow_what_packaging_says(specifier: str) -> None:
    mine, theirs = allowed(specifier), SpecifierSet(specifier)
    fitting = [version for version in VERSIONS if version in theirs]
    for at, version in enumerate(VERSIONS):
        assert mine.reaches(version) is any(each in fitting for each in VERSIONS[at:]), version
        if mine.always(version):
            assert all(numbers(each) >= numbers(version) for each in fitting), version


def found(source: str, **requirements: str) -> list[tuple[str, str]]:
    options = SourceOptions(requirements=tuple(sorted(requirements.items())))
    findings = check_sources([plain_source("example.py", source)], options, [RULE])
    return [(finding.severity, finding.message) for finding in findings]


TREE = "import jax\nprint(jax.tree_map(str, {}))\n"
SHARD = "from jax.experimental.shard_map import shard_map\n"


def test_a_project_that_keeps_the_old_version_is_left_alone() -> None:
    gone = [("error", "JAX 0.6.0 and later have no jax.tree_map")]
    assert found(TREE) == found(TREE, jax=">=0.4") == found(TREE, numpy="<2") == gone
    assert found(TREE, jax="<0.6") == found(TREE, jax="==0.4.30") == found(TREE, jaxlib="~=0.4.30") == []


def test_what_is_deprecated_is_told_where_all_versions_have_the_successor() -> None:
    said = [("info", "jax.experimental.shard_map.shard_map is deprecated since JAX 0.8.0")]
    assert found(SHARD) == found(SHARD, jax=">=0.7") == said
    assert found(SHARD, jax=">=0.5") == found(SHARD, jax="<0.8") == []


def test_a_module_that_was_emptied_before_it_went() -> None:
    util = "from jax.util import safe_zip\n"
    assert found(util, jax=">=0.7,<0.8") == [("error", "JAX 0.7.0 and later have no jax.util.safe_zip")]
    assert found("import jax.util\nprint(jax.util.safe_zip)\n", jax="<0.8") == found(util, jax="<0.8")
    assert found(util, jax="<0.7") == found("import jax.util\n", jax="<0.8") == []
    assert found("import jax.util\n", jax=">=0.7") == [("error", "JAX 0.8.0 and later have no module jax.util")]


def mended(source: str, **requirements: str) -> str:
    options = SourceOptions(requirements=tuple(sorted(requirements.items())))
    findings = check_sources([plain_source("example.py", source)], options, [RULE])
    edits = [edit for finding in findings if finding.fix and finding.fix.safe for edit in finding.fix.edits]
    lines = source.splitlines()
    for edit in sorted(edits, key=lambda e: (e.location.line or 0, e.location.column or 0), reverse=True):
        place = edit.location
        assert place.line is not None and place.line == place.end_line and place.column and place.end_column
        line = lines[place.line - 1]
        lines[place.line - 1] = line[: place.column - 1] + edit.text + line[place.end_column - 1 :]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import jax as j\nj.tree_map", "import jax as j\nj.tree.map"),
        ("import jax.numpy as jnp\njnp.row_stack(jnp.in1d)", "import jax.numpy as jnp\njnp.vstack(jnp.in1d)"),
        ("from jax import tree_map", "from jax.tree import map as tree_map"),
        ("from jax.config import config", "from jax import config"),
        ("import jax.experimental.stax as s", "import jax.example_libraries.stax as s"),
        ("from jax.linear_util import a, b as c", "from jax.extend.linear_util import a, b as c"),
        ("import jax.numpy as np\nnp.clip(1, a_min=0, a_max=2)", "import jax.numpy as np\nnp.clip(1, min=0, max=2)"),
        ("import jax\njax.random.KeyArray", "import jax\njax.Array"),
        ("import jax\njax.core.Primitive", "import jax\njax.core.Primitive"),
        (
            "from jax.core import Primitive, Tracer as T",
            "from jax.extend.core import Primitive\nfrom jax.core import Tracer as T",
        ),
        (
            "def f():\n    from jax import jit, tree_map  # both",
            "def f():\n    from jax.tree import map as tree_map\n    from jax import jit  # both",
        ),
        (
            "def f():\n\tfrom jax import jit, tree_map\n\treturn jit",
            "def f():\n\tfrom jax.tree import map as tree_map\n\tfrom jax import jit\n\treturn jit",
        ),
        ("if x: from jax import jit, tree_map", "if x: from jax import jit, tree_map"),
        ("from jax import jit, tree_map; jit", "from jax import jit, tree_map; jit"),
    ],
)
def test_fixes(before: str, after: str) -> None:
    assert mended(before) == after


def test_no_fix_to_what_the_oldest_version_lacks() -> None:
    assert mended(TREE, jax=">=0.4.20") == TREE.rstrip("\n")
    assert "jax.tree.map" in mended(TREE, jax=">=0.4.25")


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ("import jax\n\ny = jax.tree_util.tree_map  # the map\n", None),
        ("import jax\n\ny = jax.tree_map  # the map\n", "import jax\n\ny = jax.tree.map  # the map\n"),
        ("import jax\n\ny = (jax  # the library\n     .tree_map)\n", ""),
        ("import jax\n\ny = (jax  # the library\n     ).tree_map\n", ""),
        ("import jax\n\ny = (jax).tree_map\n", "import jax\n\ny = (jax).tree.map\n"),
        ("import jax\n\ny = ((jax) )\\\n  .tree_map\n", "import jax\n\ny = ((jax) ).tree.map\n"),
        ("import jax\n\ny = (jax\n     ).tree_map\n", "import jax\n\ny = (jax\n     ).tree.map\n"),
        ("import jax\n\ny = (jax\n     .tree_map)\n", "import jax\n\ny = (jax.tree.map)\n"),
    ],
)
def test_a_fix_keeps_every_comment(text: str, fixed: str | None) -> None:
    """None: nothing is found. An empty text: no fix is offered; what is offered can be made."""
    source = plain_source("a.py", text)
    found = check_sources([source], selected=[RULE])
    assert (fixed is None) is (found == [])
    made = mend(source, found)
    assert (made.source.text if made is not None else "") == (fixed or "")
    assert any(each.fix is not None for each in found) is bool(fixed)
