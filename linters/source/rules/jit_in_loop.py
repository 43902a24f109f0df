"""A function is made and compiled anew in every round of a loop.

## What it does
Finds `jax.jit` (and its kin) of a lambda, a local function, a partial, a bound method or of what another transform
gives, where both are made in the loop in which the result is called; also where a function of the project makes the
compiled one.

## Why is this bad?
JAX keeps compiled programs by the identity of the function. What is made in the loop is a new function each time, so
every round traces and compiles, which takes a hundred to a million times longer than the call
(https://github.com/jax-ml/jax/issues/9288, https://github.com/patrick-kidger/equinox/issues/1141).

## Example
    while error(grid) > tolerance:
        grid = jax.jit(lambda g: relax(g, omega))(grid)

## Use instead
    step = jax.jit(lambda g: relax(g, omega))
    while error(grid) > tolerance:
        grid = step(grid)

What changes from round to round is better an argument than something the function closes over.

## What stays clean
`jax.jit` of a function that lives longer than the loop (one compile, whatever calls it again), compiled functions
that are kept in a container or on an object, loops over a few literal variants, a function that is compiled in an
outer loop and called in an inner one, code that is itself traced, and tests.

## References
- https://docs.jax.dev/en/latest/jit-compilation.html#jit-and-caching
- https://github.com/jax-ml/jax/issues/9288
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..keys import varies
from ..rebuilt import Rebuilt, comes_again, few_rounds, fills_a_cache, rebuilt
from ..records import Loop
from ..rule import SourceRule
from ..twins.jit_in_loop import BAD, GOOD


def check(facts: FileFacts) -> Iterable[Finding]:
    for each in rebuilt(facts):
        loop = comes_again(each.call.block)
        if loop is None or loop not in list(each.block.loops()) or few_rounds(facts, loop.iterable):
            continue
        if each.escapes or _kept(each, loop) or any(varies(value, loop) for value in each.options.values()):
            continue
        inside = [use for use in each.uses if loop in list(use.block.loops())]
        if not inside:
            continue
        depends = any(varies(value, loop) for value in each.captured)
        if depends and any(next(use.block.loops(), None) is not loop for use in inside):
            continue  # made for this round, and then called many times
        yield _finding(facts, each, loop, depends)


def _kept(each: Rebuilt, loop: Loop) -> bool:
    """Whether it is made only where a condition in the loop says that it is not there yet."""
    block = each.call.block
    return block.loop is loop and block.guard is not None and fills_a_cache(block)


def _finding(facts: FileFacts, each: Rebuilt, loop: Loop, depends: bool) -> Finding:
    if depends:
        help = "pass what changes as an argument, and compile one function before the loop"
    else:
        help = "compile it once, before the loop"
    return facts.finding(
        RULE,
        each.call.node,
        f"{each.what} is compiled again in every round of the loop on {facts.line(loop.node)}",
        subject=f"{each.function.name}: {facts.text(each.call.node)}",
        help=help,
        confidence="likely" if depends else "certain",
    )


RULE = SourceRule(
    code="JIT101",
    name="jit-in-loop",
    severity="warning",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
