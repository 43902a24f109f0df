"""Random keys used twice, and means that are taken of means."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from ..operator import Edits, Site, operator
from ..source import Function
from ..traced import of_data, reads, statements, targets

SAMPLERS = [
    "normal", "uniform", "bernoulli", "categorical", "randint", "permutation", "choice", "gumbel", "exponential",
    "truncated_normal", "dirichlet", "gamma", "beta", "laplace", "rademacher",
]  # fmt: skip
CONSUMERS = {f"jax.random.{name}" for name in [*SAMPLERS, "split"]}


def splits(site: Site) -> Iterator[tuple[Function, ast.Assign, list[str], str]]:
    """Statements `a, b = jax.random.split(k)`: the function, the statement, the new names and the parent's."""
    for function in site.source.functions:
        for stmt in statements(site.source, function):
            if (
                isinstance(stmt, ast.Assign)
                and isinstance(stmt.value, ast.Call)
                and isinstance(stmt.targets[0], ast.Tuple)
            ):
                call = stmt.value
                if (
                    site.source.dotted(call.func) == "jax.random.split"
                    and call.args
                    and isinstance(call.args[0], ast.Name)
                ):
                    names = [each.id for each in targets(stmt)]
                    if len(names) == len(stmt.targets[0].elts):
                        yield function, stmt, names, call.args[0].id


def uses(site: Site, stmt: ast.stmt, name: str) -> list[ast.Name]:
    """Where statements after this one, in its own block, hand the key to a sampler of jax.random."""
    block = site.source.block(stmt)
    found = []
    for later in block[block.index(stmt) + 1 :]:
        if isinstance(later, (ast.Assign, ast.Return, ast.Expr)):
            for call in [n for n in ast.walk(later) if isinstance(n, ast.Call)]:
                if site.source.dotted(call.func) in CONSUMERS and call.args:
                    first = call.args[0]
                    if isinstance(first, ast.Name) and first.id == name and not _conditional(site, call, later):
                        found.append(first)
        if any(target.id == name for target in targets(later)):
            break
    return found


def _conditional(site: Site, node: ast.AST, stmt: ast.stmt) -> bool:
    """Whether the node may not run each time that its statement does, or in a scope of its own."""
    kinds = (ast.Lambda, ast.IfExp, ast.BoolOp, ast.comprehension, ast.ListComp, ast.GeneratorExp)
    for above in site.source.above(node):
        if above is stmt:
            return False
        if isinstance(above, kinds):
            return True
    return True


@operator("SEM101")
def second_key_of_a_split_becomes_the_first(site: Site) -> Iterator[Edits]:
    for _, stmt, names, parent in splits(site):
        fresh = [each for each in names if each != parent]
        for first, second in itertools.pairwise(fresh):
            one, other = uses(site, stmt, first), uses(site, stmt, second)
            if one and other and site.source.span(one[0]) < site.source.span(other[0]):
                yield (site.source.replace(other[0], first),)


@operator("SEM101")
def parent_is_used_after_its_split(site: Site) -> Iterator[Edits]:
    for _, stmt, names, parent in splits(site):
        if parent not in names:
            for each in names:
                for use in uses(site, stmt, each)[:1]:
                    yield (site.source.replace(use, parent),)


@operator("SEM101")
def noise_is_drawn_again(site: Site) -> Iterator[Edits]:
    """After `x = jax.random.normal(key, ...)` the same key draws once more."""
    for call, name in site.source.calls:
        stmt = site.source.statement(call)
        if not (name.removeprefix("jax.random.") in SAMPLERS and isinstance(stmt, ast.Assign) and stmt.value is call):
            continue
        if call.args and isinstance(call.args[0], ast.Name) and site.source.alone(stmt):
            random = site.source.text(call.func).rpartition(".")[0]
            if random:
                yield (site.source.after(stmt, f"_jitter = {random}.uniform({call.args[0].id})"),)


@operator("SEM101")
def loop_draws_with_one_key(site: Site) -> Iterator[Edits]:
    for call, name in site.source.calls:
        stmt = site.source.statement(call)
        if name.removeprefix("jax.random.") in SAMPLERS and isinstance(stmt, ast.Assign) and stmt.value is call:
            alone = site.source.alone(stmt) and stmt.lineno == stmt.end_lineno
            if call.args and isinstance(call.args[0], ast.Name) and alone and isinstance(stmt.targets[0], ast.Name):
                loop = f"for _round in range(3):\n{site.source.indent(stmt)}    {site.source.text(stmt)}"
                yield (site.source.replace(stmt, loop),)


@operator("SEM101")
def key_is_used_after_it_was_given_away(site: Site) -> Iterator[Edits]:
    """A parameter named as a key, split in the function, is drawn from at its end as well."""
    for function, stmt, names, parent in splits(site):
        parameters = {each.arg for each in function.args.args}
        random = site.source.text(stmt.value.func).rpartition(".")[0] if isinstance(stmt.value, ast.Call) else ""
        if parent in parameters and parent not in names and random and site.source.alone(stmt):
            yield (site.source.after(stmt, f"_noise = {random}.normal({parent}, (2,))"),)


MEANS = {"jax.numpy.sum", "jax.numpy.maximum", "jax.numpy.clip"}


def masked_means(site: Site) -> Iterator[tuple[ast.BinOp, str]]:
    """Divisions by the sum of something with the name of a mask or of weights, with that sum's text."""
    for node in site.source.nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            for call in [n for n in ast.walk(node.right) if isinstance(n, ast.Call)]:
                summed = site.source.dotted(call.func) == "jax.numpy.sum" or (
                    isinstance(call.func, ast.Attribute) and call.func.attr == "sum"
                )
                text = site.source.text(call)
                averaged = "sum(" in site.source.text(node.left) and "np.sum" not in site.source.text(node).replace(
                    "jnp.sum", ""
                )
                if summed and averaged and ("mask" in text or "weight" in text) and "ones" not in text:
                    yield node, text
                    break


@operator("SEM102")
def mean_over_devices_of_a_masked_mean(site: Site) -> Iterator[Edits]:
    jax, imported = site.source.name_of("jax")
    for node, _ in masked_means(site):
        if "axis" not in site.source.text(node) and site.source.function(node) is not None:
            yield *imported, site.source.replace(node, f'{jax}.lax.pmean({site.source.text(node)}, axis_name="batch")')


@operator("SEM102")
def loss_is_a_masked_mean_before_pmean(site: Site) -> Iterator[Edits]:
    """A tracer's mean becomes a mean under a mask and is then averaged over the devices."""
    jax, imported = site.source.name_of("jax")
    jnp = site.source.alias("jax.numpy")
    for _, name, stmt in site.tracers if jnp else ():
        lines = (
            f"_mask = {name} > 0",
            f"_loss = {jnp}.sum({name} * _mask) / {jnp}.maximum({jnp}.sum(_mask), 1)",
        )
        marked = site.source.after(stmt, f'_loss = {jax}.lax.pmean(_loss, axis_name="batch")')
        yield *imported, site.source.after(stmt, *lines, marked=False), marked


@operator("NUM103")
def clamp_of_a_masked_mean_is_lost(site: Site) -> Iterator[Edits]:
    for node, summed in masked_means(site):
        if site.source.text(node.right).strip("()") != summed.strip("()") and site.source.text(node.left) != summed:
            yield (site.source.replace(node, f"{site.source.text(node.left)} / {summed}"),)


@operator("NUM103")
def mean_becomes_a_masked_mean(site: Site) -> Iterator[Edits]:
    """`jnp.mean(x)` in traced code becomes the mean of x where it is above zero."""
    for call, name in site.source.calls:
        if (
            name == "jax.numpy.mean"
            and len(call.args) == 1
            and not call.keywords
            and site.is_traced(call)
            and of_data(call)
        ):
            jnp = site.source.alias("jax.numpy")
            x = site.source.text(call.args[0])
            if jnp and isinstance(call.args[0], ast.Name):
                yield (site.source.replace(call, f"({jnp}.sum({x} * ({x} > 0)) / {jnp}.sum({x} > 0))"),)


@operator("NUM103")
def loss_over_a_mask(site: Site) -> Iterator[Edits]:
    jnp = site.source.alias("jax.numpy")
    for function, name, stmt in site.tracers if jnp else ():
        mask = next((each.arg for each in function.args.args if "mask" in each.arg), None)
        if mask and not reads(stmt, "None"):
            line = f"{name} = {name} - {jnp}.sum({name} * {mask}) / {jnp}.sum({mask})"
            yield (site.source.after(stmt, line),)
