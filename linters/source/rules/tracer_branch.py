"""Python asks for the truth of a value that is known only when the program runs.

## What it does
Reports `if`, `while`, `assert`, `and`, `or`, `not`, `match` on a value, a conditional expression, the filter of a
comprehension, a chain of comparisons, `bool()`, `any()`, `all()`, `filter()`, `min()`, `max()` or `sorted()` of several
values, and `in` a tuple, list, set or array, where what is asked comes out of an array operation in a traced function.
The function is followed through calls, transforms and files; `contract-lint check --why FILE:LINE` shows the way.

## Why is this bad?
Tracing runs the Python code once, with stand-ins for the arrays. A stand-in has no truth value, so the first trace ends
with TracerBoolConversionError (https://github.com/apple/axlearn/issues/815,
https://github.com/google-research/scenic/issues/709). Often it shows only when a rarely used flag is first turned on.

## Example
    @jax.jit
    def clip(x, limit):
        if jnp.abs(x).max() > limit:
            x = x * 0.5
        return x

## Use instead
    @jax.jit
    def clip(x, limit):
        return jnp.where(jnp.abs(x).max() > limit, x * 0.5, x)

`jax.lax.cond` runs one branch only; `checkify` and `jax.debug` can check values while the program runs. Mark a flag
that should pick the program with `static_argnames`.

## What stays clean
Questions that tracing can answer: shapes, dtypes, `len`, `isinstance`, `is None`, keys of a dictionary, static
arguments, values bound by partial, configuration, fields of modules. Arms that a traced call may never come to: behind
`isinstance`, `x.ndim == 0`, `p is None` of a function round the traced one, or a flag that no traced call sets so. A
bare parameter in a condition is reported only where its annotation says that it is an array or a number, or every
traced call of a helper gives it one: else it may be a dictionary or None. Functions under `grad`, `vjp`, `jvp` or
`linearize` alone, neither compiled nor mapped: these run on the numbers themselves. A `try` that catches the error, a
test that expects it (`pytest.raises`, `self.assertRaises`), round the condition or round every call of the function.

## References
- https://docs.jax.dev/en/latest/errors.html#jax.errors.TracerBoolConversionError
- https://github.com/Physical-Intelligence/openpi/pull/550
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ..arrays import is_given_arrays
from ..concrete import asks_type, depends_on_call, is_sure, may_be_concrete
from ..facts import FileFacts
from ..questions import questions
from ..records import Branch
from ..rule import SourceRule
from ..twins import reached_branch
from ..twins.tracer_branch import BAD, GOOD
from ..values.value import Value, dotted

_NUMBERS = frozenset(
    {"builtins.int", "builtins.float", "builtins.bool", "jax.Array", "jax.numpy.ndarray", "chex.Array"}
)

_OWN_RULES = "jax.custom_"
"""Derivatives that a project writes itself: they run on numbers, but for where a compiled function calls them."""


def check(facts: FileFacts) -> Iterable[Finding]:
    for function, traced in facts.traced_functions():
        if not traced.hides and not traced.transform.startswith(_OWN_RULES):
            continue
        sure = is_sure(traced)
        told: set[int] = set()
        for each in questions(facts, function):
            record, written = each.record, each.written
            asked, before = each.left()
            if id(asked.node) in told:
                continue  # the comparisons before the last one have asked already
            if not _is_tracer(facts, asked) or may_be_concrete(facts, record):
                continue
            if any(asks_type(facts, operand) for operand in before):
                continue
            if isinstance(record, Branch) and record.kind == "chain":
                told.add(id(asked.node))
            certain = sure and each.sure and not depends_on_call(facts, record.block)
            yield facts.finding(
                RULE,
                record.node if each.how == "assert" else written,
                f"{each.how} needs a value that is only known when the program runs: `{facts.text(written)}`",
                subject=f"{function.name}: {facts.text(written)}",
                because=[*facts.why(function), *_origin(facts, asked, written)],
                help="use jnp.where or jax.lax.cond, or make the argument static",
                confidence="certain" if certain else "likely",
            )


def _origin(facts: FileFacts, asked: Value, written: ast.AST) -> Iterator[str]:
    """Where a value was computed that is asked for by its name."""
    if isinstance(written, ast.Name) and isinstance(asked.node, ast.expr) and asked.op not in ("phi", "loop"):
        yield f"`{written.id}` is `{facts.text(asked.node)}` of {facts.line(asked.node)}"


def _is_tracer(facts: FileFacts, value: Value) -> bool:
    kind = facts.kind(value)
    if kind == "array":
        return True
    if kind != "traced" or value.op != "param":
        return False
    declared = dotted(value.data.annotation) in _NUMBERS or facts.type_of(value) in _NUMBERS
    return declared or is_given_arrays(facts, value)


RULE = SourceRule(
    code="JIT103",
    name="tracer-branch",
    severity="error",
    doc=__doc__ or "",
    check=check,
    bad=(*BAD, *reached_branch.BAD),
    good=(*GOOD, *reached_branch.GOOD),
)
