"""Which functions are traced, by what, with which parameters: over one file and over several."""

from __future__ import annotations

from textwrap import dedent

import pytest
from contract_lint.linters.source.analyse import summarise
from contract_lint.linters.source.options import SourceOptions
from contract_lint.linters.source.packed import Packed
from contract_lint.linters.source.program import Program, link
from contract_lint.linters.source.summary import FileSummary
from contract_lint.linters.source.text import plain_source
from contract_lint.linters.source.traced import Traced
from contract_lint.linters.source.why import why


def program_of(files: dict[str, str], options: SourceOptions | None = None) -> Program:
    summaries: list[FileSummary] = []
    for path, code in files.items():
        summary = summarise(plain_source(path, dedent(code)))
        assert isinstance(summary, FileSummary)
        summaries.append(summary)
    return link(summaries, options)


def traced(code: str, name: str = "f", **files: str) -> Traced | None:
    program = program_of({"example.py": "import jax\nimport jax.numpy as jnp\n" + dedent(code), **files})
    found = [each for id, each in program.traced_functions.items() if id.rpartition(":")[2].rpartition(".")[2] == name]
    return found[0] if found else None


@pytest.mark.parametrize(
    "code",
    [
        "@jax.jit\ndef f(x): ...",
        "from jax import jit\n@jit\ndef f(x): ...",
        "from functools import partial\n@partial(jax.jit, donate_argnums=0)\ndef f(x): ...",
        "@jax.jit(donate_argnums=0)\ndef f(x): ...",
        "def f(x): ...\ng = jax.jit(jax.vmap(f))",
        "def f(x): ...\ng = jax.jit(fun=f)",
        "from functools import partial\ndef f(x, y): ...\ng = jax.jit(partial(f, y=1))",
        "def f(x): ...\njax.jit(lambda x: f(x))(1)",
        "def f(c, x): ...\njax.lax.scan(f, 0, None)",
        "def f(x): ...\ndef g(x): ...\njax.lax.cond(True, f, g, 1)",
        "def f(x): ...\njax.lax.switch(0, [f, lambda x: x], 1)",
        "def f(x): ...\njitted = jax.jit\nif 1:\n    jitted = jax.pmap\njitted(f)",
        "class A:\n    def f(self, x): ...\n    def run(self):\n        return jax.jit(self.f)(1)",
        "class A:\n    def __init__(self):\n        self.go = jax.jit(self.f)\n    def f(self, x): ...",
        "from flax import nnx\n@nnx.jit\ndef f(m, x): ...",
        "import equinox as eqx\n@eqx.filter_jit\ndef f(m, x): ...",
        "def compile(fn):\n    return jax.jit(fn)\ndef f(x): ...\ng = compile(f)",
        "def f(x): ...\n@jax.jit\ndef g(x):\n    return jax.tree.map(f, x)",
        "@jax.custom_vjp\ndef h(x): ...\ndef f(x): ...\ndef b(r, g): ...\nh.defvjp(f, b)",
        "import equinox as eqx\n@eqx.filter_jit\n@eqx.internal.doc_remove_args('old')\ndef f(m, x): ...",
        "import some\n@jax.jit\n@some.marked\n@some.checked(strict=True)\ndef f(x): ...",
        "import some\n@some.checked(strict=True)\n@jax.jit\ndef f(x): ...",
    ],
)
def test_roots(code: str) -> None:
    assert traced(code) is not None


@pytest.mark.parametrize(
    "code",
    [
        "import numba\n@numba.jit\ndef f(x): ...",
        "class Backend:\n    def jit(self, fn): return fn\ndef f(x): ...\nBackend().jit(f)",
        "def f(x): ...\n@jax.jit\ndef g(x):\n    jax.debug.callback(f, x)",
        "def f(x): ...\njax.tree.map(f, 1)",
        "def f(x): ...\nprint(f(1))",
    ],
)
def test_what_is_no_root(code: str) -> None:
    assert traced(code) is None


def test_parameters() -> None:
    found = traced("@jax.jit(static_argnums=(1, -1), static_argnames=('b',))\ndef f(x, n, b, *, c=1, d, last=2): ...")
    assert found is not None
    assert found.parameters == {
        "x": "traced", "n": "static", "b": "static", "c": "unknown", "d": "traced", "last": "unknown",
    }  # fmt: skip
    assert found.staged and found.direct
    found = traced("def f(w, x): ...\ng = jax.grad(f)")
    assert found is not None and found.parameters == {"w": "traced"} and not found.staged
    found = traced("def f(a, b): ...\ng = jax.vmap(f, in_axes=(None, 0))")
    assert found is not None and found.parameters == {"b": "traced"}


def fixed(code: str, name: str = "f") -> dict[str, object]:
    found = traced(code, name)
    assert found is not None
    return found.fixed


def test_constants_that_every_traced_call_gives() -> None:
    f = "def f(x, n=2, *, mode='mean', flag=False): ...\n"
    defaults = {"n": 2, "mode": "mean", "flag": False}
    assert fixed(f + "g = jax.jit(f)\ng(1)") == defaults
    assert fixed(f + "g = jax.jit(f)\ng(1, flag=True)") == {"n": 2, "mode": "mean"}
    assert fixed("from functools import partial\n" + f + "g = jax.jit(partial(f, flag=True))") == {
        **defaults,
        "flag": True,
    }
    assert fixed(f + "@jax.jit\ndef g(x):\n    f(x, 3)\n    f(x, 3, mode='sum')") == {"n": 3, "flag": False}
    assert fixed(f + "@jax.jit\ndef g(x, *a):\n    f(x, *a)") == {}
    handed_on = "@jax.jit\ndef g(x):\n    return h(x{})\ndef h(x, on=False):\n    return f(x, flag=on)\n"
    assert fixed(f + handed_on.format("")) == defaults
    assert fixed(f + handed_on.format("") + "k = jax.jit(lambda x: h(x, True))") == {"n": 2, "mode": "mean"}
    assert fixed("import equinox as eqx\n" + f + "g = eqx.filter_jit(f)") == {}


@pytest.mark.parametrize(
    ("condition", "call", "is_traced"),
    [
        ("flag", "g(x)", False),
        ("not flag", "g(x)", True),
        ("flag and n", "g(x, 1)", False),
        ("flag or n", "g(x, 1)", True),
        ("flag or n", "g(x)", False),
        ("flag", "g(x, flag=x)", True),
        ("n is None", "g(x)", True),
        ("n is not None", "g(x)", False),
        ("n == 2", "g(x, 3)", False),
        ("n == 2", "(g(x, 3), g(x, 2))", True),
        ("n.ready", "g(x)", True),
    ],
)
def test_what_no_traced_call_comes_to_is_not_traced(condition: str, call: str, is_traced: bool) -> None:
    code = f"""
    def f(x): ...
    def g(x, n=None, flag=False):
        if {condition}:
            f(x)
    @jax.jit
    def step(x):
        {call}
    """
    assert (traced(code) is not None) is is_traced


def test_arguments_follow_calls_across_files() -> None:
    files = {
        "pkg/__init__.py": "from .train import step\n",
        "pkg/train.py": """
            import jax
            from pkg import loss as losses

            @jax.jit
            def step(params, batch):
                logits = params @ batch
                return losses.loss(logits, batch.shape[0], mode="mean")
            """,
        "pkg/loss.py": """
            import jax.numpy as jnp

            def loss(logits, count, mode, scale=1.0):
                return reduce(jnp.exp(logits), mode) / count

            def reduce(x, mode):
                return x.mean() if mode == "mean" else x.sum()
            """,
    }
    program = program_of(files)
    by_name = {id.rpartition(":")[2]: each for id, each in program.traced_functions.items()}
    assert by_name["loss"].parameters == {"logits": "traced", "count": "static", "mode": "static", "scale": "static"}
    assert by_name["reduce"].parameters == {"x": "traced", "mode": "static"}
    (line, states) = why(program, "pkg/loss.py", 8)
    assert line == (
        "traced: pkg/train.py:5 jax.jit(step) -> pkg/train.py:8 loss() -> pkg/loss.py:5 reduce() -> here (reduce)"
    )
    assert states == "parameters: x: traced, mode: static"
    assert why(program, "pkg/train.py", 2) == ["pkg/train.py:2 is not in a function"]


def test_modules_by_convention_and_by_name() -> None:
    code = """
    from flax import linen as nn
    from base import Layer

    class Block(Layer):
        def __call__(self, x):
            return self.inner(x)

        def inner(self, x):
            return x

        def forward(self, x):
            return x
    """
    base = "from flax import linen as nn\nclass Layer(nn.Module):\n    pass\n"
    program = program_of({"example.py": code, "base.py": base})
    assert {id.rpartition(".")[2] for id in program.traced_functions} == {"__call__", "inner"}
    program = program_of({"example.py": code, "base.py": base}, SourceOptions(module_methods=("forward",)))
    assert "example:Block.forward" in program.traced_functions
    program = program_of({"example.py": "def f(x): ..."}, SourceOptions(traced=("exam*:f",)))
    assert program.traced_functions["example:f"].parameters == {"x": "traced"}


MODULE = """
from flax import linen as nn
class Block(nn.Module):
    @nn.compact
    def __call__(self, x, train: bool, scale=1.0):
        return self.f(x * 2, train)
    def f(self, h, train):
        return h
"""


def test_what_modules_are_given_until_a_transform_is_seen() -> None:
    program = program_of({"example.py": MODULE})
    call, method = (program.traced_functions[f"example:Block.{name}"] for name in ("__call__", "f"))
    assert call.parameters == {"x": "input"} and method.parameters["h"] == "input"
    assert why(program, "example.py", 5)[1] == "parameters: x: input, train: unknown, scale: unknown"
    step = "import jax\nmodel = Block()\n@jax.jit\ndef step(v, x):\n    return model.apply(v, x, True, rngs=None)\n"
    program = program_of({"example.py": MODULE + step})
    call, method = (program.traced_functions[f"example:Block.{name}"] for name in ("__call__", "f"))
    assert call.parameters == {"x": "traced", "train": "static", "scale": "static", "self": "unknown"}
    assert method.parameters["h"] == "traced"
    assert [each.text for each in method.chain] == ["jax.jit(step)", "__call__()", "f()"]
    jitted = program_of({"example.py": MODULE + "import jax\nmodel = Block()\nrun = jax.jit(model.apply)\n"})
    call, method = (jitted.traced_functions[f"example:Block.{name}"] for name in ("__call__", "f"))
    assert call.parameters == {"x": "traced"} and method.parameters["h"] == "traced"
    assert [each.text for each in method.chain] == ["jax.jit(apply)", "f()"]
    static = "import jax\nmodel = Block()\nrun = jax.jit(model.apply, static_argnums=2)\n"
    assert program_of({"example.py": MODULE + static}).traced_functions["example:Block.f"].parameters["h"] == "input"
    other = program_of({"example.py": MODULE + step.replace("rngs=None", "method='f'")})
    assert other.traced_functions["example:Block.__call__"].parameters == {"x": "input"}


def test_what_returns_itself_ends() -> None:
    code = (
        "@jax.jit\ndef f(x):\n    return g(x)\ndef g(x):\n    return f(x) + g(g(x)) + h(x)\ndef h(x):\n    return g(h)"
    )
    assert traced(code, "h") is not None


def test_summaries_are_plain_json_and_need_no_tree() -> None:
    import json

    source = plain_source("example.py", "import jax\n@jax.jit\ndef f(x, y=(1, {'a': 2})):\n    return x, y[0]\n")
    summary = summarise(source)
    assert isinstance(summary, FileSummary)
    again = Packed(json.loads(json.dumps(summary.data)), summary.data.packed)
    assert again.whole() == summary.data.whole() == json.loads(json.dumps(summary.data.whole()))
    moved = summarise(plain_source("example.py", "\n\n" + source.text))
    assert (
        isinstance(moved, FileSummary)
        and moved.outward == summary.outward
        and moved.data.whole() != summary.data.whole()
    )


def test_why_lists_the_shortest_chain_from_each_transform_and_the_callers_of_what_is_not_traced() -> None:
    program = program_of(
        {
            "a.py": "import jax\n\ndef helper(x):\n    return x\n\ndef middle(x):\n    return helper(x)\n",
            "b.py": "import jax\nimport a\n\n@jax.jit\ndef first(x):\n    return a.middle(x) + a.helper(x)\n",
            "c.py": "import jax\nimport a\n\n@jax.vmap\ndef second(x):\n    return a.middle(x)\n",
            "d.py": "import b\n\ndef main(x):\n    for i in range(3):\n        b.first(x)\n\nmain(1)\n",
        }
    )
    told = why(program, "a.py", 4)
    assert told[0].startswith("traced: b.py:4 jax.jit(first) -> b.py:6 ")
    assert told[2:] == ["also traced: c.py:4 jax.vmap(second) -> c.py:6 middle() -> a.py:7 helper() -> here"]
    assert why(program, "d.py", 4) == ["main is not traced by anything known here", "called: d.py:7 in <module>"]


def test_stars_of_modules_that_cannot_be_seen_end() -> None:
    """As scipy.linalg has it, round its compiled modules."""
    stars = "from .low import *\nfrom .high import *\nfrom ._update import *\nfrom ._util import *\n"
    files = {"pkg/__init__.py": stars}
    for name in ("low", "high"):
        files[f"pkg/{name}.py"] = f"from pkg import _{name}\nfrom pkg._{name} import *\n"
    files["use.py"] = "import pkg\n\ndef f(x):\n    return pkg.lost(x) + pkg._util.g.h(x)\n"
    program = program_of(files)
    assert program.resolve("pkg.lost") is not None
    assert len(program._resolved) <= 3_000


REFUSED = """
import jax
import pytest
from code import f, g

def test_refused():
    with pytest.raises({error}):
        jax.jit(f)(1.0)
    {more}
"""


@pytest.mark.parametrize(
    ("error", "more", "expected"),
    [
        ("TypeError", "pass", ("TypeError",)),
        ("(IndexError, TypeError)", "pass", ("IndexError", "TypeError")),
        ("RuntimeError", "pass", ()),
        ("TypeError", "jax.jit(f)(2.0)", ()),
        ("TypeError", "pytest.raises(TypeError, jax.jit(f), 2.0)", ("TypeError",)),
        ("TypeError", "pytest.raises(NameError, jax.jit(f), 2.0)", ()),
        ("TypeError", "jax.jit(g)(2.0)", ()),
        ("TypeError", "g(2.0), f(2.0)", ("TypeError",)),
    ],
)
def test_a_failure_is_expected_where_every_call_expects_it(error: str, more: str, expected: tuple[str, ...]) -> None:
    code = "def f(x):\n    return x\n\ndef g(x):\n    return f(x)\n"
    program = program_of({"code.py": code, "test_refused.py": REFUSED.format(error=error, more=more)})
    assert program.traced_functions["code:f"].expected == expected


@pytest.mark.parametrize(
    ("code", "staged", "hides"),
    [
        ("def f(x): ...\ng = jax.grad(f)(1.0)", False, False),
        ("def f(x): ...\ng = jax.vjp(f, 1.0)", False, False),
        ("def f(x): ...\ng = jax.vmap(jax.grad(f))", False, True),
        ("def f(x): ...\ng = jax.grad(f)\nh = jax.vmap(f)", False, True),
        ("def f(x): ...\ng = jax.linear_transpose(f, 1.0)", False, True),
        ("def f(x): ...\ng = jax.jit(lambda x: jax.grad(f)(x))", True, True),
        ("def f(x): ...\ng = jax.grad(lambda x: f(x))", False, False),
        ("def f(x): ...\ng = jax.vmap(lambda x: jax.grad(f)(x))", False, True),
    ],
)
def test_derivatives_alone_keep_the_numbers(code: str, staged: bool, hides: bool) -> None:
    found = traced(code)
    assert found is not None
    assert (found.staged, found.hides) == (staged, hides)
