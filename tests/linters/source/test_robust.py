"""Whatever a file holds, it ends as findings or a clear line: no traceback, no hang, no silence."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from contract_lint.contracts.finding import Finding
from contract_lint.linters.source.analyse import check_sources
from contract_lint.linters.source.files import find_sources
from contract_lint.linters.source.read import read_sources
from contract_lint.linters.source.text import plain_source
from hypothesis import example, given, settings
from hypothesis import strategies as st

LONG = 1 << 20
DEEP = 10_000

TEXTS = {
    "nothing": b"",
    "only a mark of byte order": b"\xef\xbb\xbf",
    "a null byte": b"x = 1\0\n",
    "null bytes only": b"\0" * 100,
    "utf-16": "x = 1\n".encode("utf-16"),
    "an encoding that is not": b"# coding: klingon\nx = 1\n",
    "a codec that is no text": b"# coding: hex\nx = 1\n",
    "another encoding than it says": b"# coding: ascii\nx = '\xff'\n",
    "half a character": "x = 'ü'\n".encode()[:-4],
    "latin": b"# coding: latin-1\nx = '\xfc'\n",
    "old line ends": b"import jax\r\rdef f(x):\r    return x\r",
    "unpacked options that have no names": b"import jax\nf = jax.jit(lambda x: x, **{1: 2, None: 3})\nf(1)\n",
    "unpacked options": b"import jax, functools\n@functools.partial(jax.jit, **{})\ndef f(x):\n    return x\n",
    "form feeds": b"import jax\n\f\ndef f(x):\n\f    return x\n",
    "a lone surrogate": rb"x = '\ud800'",
    "one long line": b"x = [" + b"1," * (LONG // 2) + b"]\n",
    "one long name": b"x" * LONG + b" = 1\n",
    "one long text": b"x = '" + b"a" * LONG + b"'\n",
    "one long sum": b"import jax\n@jax.jit\ndef f(x):\n    return x" + b" + x" * 20_000 + b"\n",
    "one long chain of attributes": b"import jax\nx = jax" + b".numpy" * DEEP + b"\n",
    "one long chain of calls": b"import jax\nx = jax" + b".f()" * DEEP + b"\n",
    "deep brackets": b"x = " + b"(" * DEEP + b")" * DEEP + b"\n",
    "deep lists": b"x = " + b"[" * DEEP + b"]" * DEEP + b"\n",
    "deep signs": b"x = " + b"-" * DEEP + b"1\n",
    "deep negations": b"x = " + b"not " * DEEP + b"1\n",
    "deep lambdas": b"f = " + b"lambda: " * DEEP + b"1\n",
    "deep conditions": b"f = " + b"1 if x else " * DEEP + b"1\n",
    "many branches": b"if x:\n    pass\n" + b"elif x:\n    pass\n" * DEEP,
    "deep blocks": b"".join(b" " * depth + b"if x:\n" for depth in range(99)) + b" " * 99 + b"pass\n",
    "deep functions": b"".join(b" " * depth + b"def f(x):\n" for depth in range(99)) + b" " * 99 + b"pass\n",
    "deep calls": b"import jax\nx = " + b"jax.jit(" * 150 + b"f" + b")" * 150 + b"\n",
    "many functions": b"import jax\n"
    + b"".join(b"@jax.jit\ndef f%d(x):\n    return f%d(x)\n" % (n, n + 1) for n in range(3000)),
    "many names": b"import jax\n@jax.jit\ndef f(x):\n"
    + b"".join(b"    x%d = x + %d\n" % (n, n) for n in range(20_000)),
    "loops in loops": b"import jax\n@jax.jit\ndef f(x):\n"
    + b"".join(b" " * d + b"for i in x:\n" for d in range(1, 20)) + b" " * 20 + b"x = x + 1\n",
    "a function that calls itself": b"import jax\nf = lambda x: f(x)\n@jax.jit\ndef g(x):\n    return g(f(g))\n",
    "classes in a circle": b"import jax\nclass A(B): pass\nclass B(A):\n    def __call__(self): return self()\n",
    "imports in a circle": b"from x import *\nfrom x import y as x\nimport x.y as y\nx = y\ny = x\nx.y(y.x)\n",
    "names of itself": b"import jax\njax = jax\njax.jit = jax.jit(jax)\n@jax.jit\n@jax\ndef jit(jit): return jit(jit)",
    "statements that end nothing": b"import jax\n@jax.jit\ndef f(x):\n    while True:\n        try:\n"
    b"            continue\n        finally:\n            break\n",
    "a star everywhere": b"import jax\n(*a, b), *c = d = [*e] = f(*g, **h)\nx[*a] = 1\n",
    "calls of nothing": b"import jax, functools\njax.jit()\njax.jit(*a)\nfunctools.partial()()\njax.lax.scan()\n",
    "odd numbers": b"import jax\njax.random.split()\n"
    b"jax.jit(f, static_argnums=(1, 'a', None, -9), static_argnames=3)()\n",
}  # fmt: skip


def found(data: bytes, folder: Path) -> list[Finding]:
    """The findings on a file with these bytes, its unreadability among them."""
    path = folder / "file.py"
    path.write_bytes(data)
    texts = read_sources([str(path)])
    assert texts.sources or texts.findings
    return [*texts.findings, *check_sources(texts.sources)]


def is_python(data: bytes) -> bool:
    """Whether Python can parse the bytes, or gives up only for how deep they nest."""
    try:
        ast.parse(data)
    except (SyntaxError, ValueError, LookupError):
        return False
    except (RecursionError, MemoryError):
        return True
    return True


@pytest.mark.parametrize("data", TEXTS.values(), ids=[name.replace(" ", "-") for name in TEXTS])
def test_any_file_ends_as_findings(data: bytes, tmp_path: Path) -> None:
    findings = found(data, tmp_path)
    assert [each for each in findings if each.location is None or each.location.line == 0] == []
    assert {each.code for each in findings} >= (set() if is_python(data) else {"JIT100"})


# Programs

NAMES = st.sampled_from(["x", "y", "key", "state", "batch", "f", "g", "self", "jax", "jnp", "np", "out"])
CALLEES = st.sampled_from(
    [
        "jax.jit",
        "jax.grad",
        "jax.lax.scan",
        "jax.lax.cond",
        "jax.random.split",
        "jax.random.normal",
        "jnp.where",
        "f",
        "jnp.sum",
        "np.asarray",
        "partial",
        "jax.vmap",
        "jax.tree.map",
        "x.at[0].set",
        "x.item",
        "len",
        "float",
        "self.g",
    ]
)
EXPRESSIONS = st.recursive(
    st.one_of(
        NAMES, st.sampled_from(["0", "1.0", "None", "'data'", "x.shape", "x.shape[0]", "self.x", "()", "[]", "{}"])
    ),
    lambda inner: st.one_of(
        st.builds("{}({}, {})".format, CALLEES, inner, inner),
        st.builds("{}({}, axis={})".format, CALLEES, inner, inner),
        st.builds("({} + {})".format, inner, inner),
        st.builds("({} > {})".format, inner, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("(lambda x, *a: {})".format, inner),
        st.builds("[{} for x in {} if {}]".format, inner, inner, inner),
        st.builds("({} := {})".format, NAMES, inner),
        st.builds("({})[{}]".format, inner, inner),
        st.builds("({}, *[{}])".format, inner, inner),
        st.builds("{{'a': {}, **{{}}}}".format, inner),
        st.builds("f'{{{}}}'".format, NAMES),
    ),
    max_leaves=8,
)
DECORATORS = st.sampled_from(
    ["", "@jax.jit\n", "@partial(jax.jit, static_argnums=(0,))\n", "@jax.custom_vjp\n", "@property\n"]
)


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


STATEMENTS = st.recursive(
    st.one_of(
        st.builds("{} = {}\n".format, NAMES, EXPRESSIONS),
        st.builds("{}, *{} = {}\n".format, NAMES, NAMES, EXPRESSIONS),
        st.builds("{} += {}\n".format, NAMES, EXPRESSIONS),
        st.builds("x[{}] = {}\n".format, EXPRESSIONS, EXPRESSIONS),
        st.builds("self.x = {}\n".format, EXPRESSIONS),
        st.builds("return {}\n".format, EXPRESSIONS),
        st.builds("assert {}\n".format, EXPRESSIONS),
        st.builds("del {}\n".format, NAMES),
        st.builds("global {}\n".format, st.just("out")),
        st.builds("{}\n".format, EXPRESSIONS),
        st.just("raise\n"),
    ),
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds(lambda test, a, b: f"if {test}:\n{indented(a)}else:\n{indented(b)}", EXPRESSIONS, inner, inner),
        st.builds(lambda it, a: f"for x in {it}:\n{indented(a)}    break\n", EXPRESSIONS, inner),
        st.builds(lambda test, a: f"while {test}:\n{indented(a)}    continue\n", EXPRESSIONS, inner),
        st.builds(lambda a, b: f"try:\n{indented(a)}except f as y:\n{indented(b)}finally:\n    pass\n", inner, inner),
        st.builds(lambda it, a: f"with {it} as x:\n{indented(a)}", EXPRESSIONS, inner),
        st.builds(
            lambda e, a: f"match {e}:\n    case [x, *y] if x:\n{indented(indented(a))}    case _: pass\n",
            EXPRESSIONS,
            inner,
        ),
        st.builds(lambda d, a: f"{d}def f(x, y=0, *a, key=None, **k):\n{indented(a)}", DECORATORS, inner),
        st.builds(
            lambda a: f"class f(nn.Module):\n    x: int = 0\n    def __call__(self, x):\n{indented(indented(a))}", inner
        ),
    ),
    max_leaves=12,
)
HEAD = (
    "import jax\nimport jax.numpy as jnp\nimport numpy as np\nfrom functools import partial\nimport flax.linen as nn\n"
)


@settings(max_examples=150)
@given(st.lists(STATEMENTS, min_size=1, max_size=4))
@example(["@jax.jit\ndef f(x, y=0, *a, key=None, **k):\n    global out\n    x[x > 0] = (x := jax.jit(f))\n"])
def test_any_program_is_followed(parts: list[str]) -> None:
    text = HEAD + "def g(key, x):\n" + indented("".join(parts)) + "".join(parts)
    findings = check_sources([plain_source("program.py", text)])
    last = text.count("\n") + 1
    assert [each for each in findings if each.location is None or not 0 < (each.location.line or 0) <= last] == []
    assert findings == check_sources([plain_source("program.py", text)])


@pytest.mark.slow
@settings(max_examples=60)
@given(st.data())
def test_any_text_of_the_grammar_is_followed(data: st.DataObject) -> None:
    hypothesmith = pytest.importorskip("hypothesmith", reason="hypothesmith is not installed")
    check_sources([plain_source("program.py", data.draw(hypothesmith.from_grammar()))])


# Files and folders, through the command line


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`contract-lint check`, killed after two minutes."""
    words = [sys.executable, "-m", "contract_lint", "check", *arguments]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr + done.stdout
    assert done.returncode in (0, 1, 2), done.stderr
    return done


def test_links_that_lead_in_circles_end(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "a.py").write_text("x = 1\n")
    (tmp_path / "pkg" / "again").symlink_to(tmp_path / "pkg")
    (tmp_path / "pkg" / "self.py").symlink_to(tmp_path / "pkg" / "self.py")
    (tmp_path / "up").symlink_to(tmp_path)
    assert command(tmp_path, ".").returncode in (0, 1)


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "a.py").write_text("x = 1\n")
    os.mkfifo(tmp_path / "pipe.py")
    assert command(tmp_path, ".").returncode in (0, 1)
    done = command(tmp_path, "pipe.py")
    assert "pipe.py" in done.stdout + done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("x = 1\n")
    (tmp_path / "secret.py").chmod(0)
    done = command(tmp_path, "secret.py")
    assert done.returncode != 0 and "secret.py" in done.stdout + done.stderr


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    done = command(tmp_path, "nowhere.py")
    assert done.returncode == 2 and "nowhere.py" in done.stderr


# Everything that is installed


@pytest.mark.slow
@pytest.mark.parametrize("part", ["stdlib", "purelib"])
def test_no_installed_file_is_too_much(part: str) -> None:
    """The standard library and site-packages, each folder a program of its own."""
    root = Path(sysconfig.get_path(part))
    programs = sorted(path for path in root.iterdir() if path.name not in ("site-packages", "__pycache__"))
    count = 0
    for program in programs:
        if program.is_dir() or program.suffix == ".py":
            texts = read_sources(find_sources([str(program)]).files)
            count += len(texts.sources)
            findings = [*texts.findings, *check_sources(texts.sources)]
            assert [each for each in findings if each.location is None] == []
            assert [each.message for each in findings if "too deep" in each.message] == []
    print(f"{part}: {count} files")
    assert count > 500
