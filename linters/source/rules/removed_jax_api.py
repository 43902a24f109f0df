"""A name of JAX, Flax or Optax that newer versions no longer have.

## What it does
Knows some six hundred names that JAX (up to 0.12), Flax and Optax removed, renamed or deprecated, and a dozen
arguments, with the version and what to use now. A name is reported where it is imported, read as an attribute or used
as a type, if the versions that the project declares (pyproject.toml, requirements.txt) include one without it. What
is deprecated but still there is information only.

## Why is this bad?
The code ends with AttributeError, ImportError or TypeError after the next update, in the middle of a run where the
name stands on a rare path (https://github.com/AI-Hypercomputer/maxtext/pull/2527,
https://github.com/keraJLi/rejax/issues/5, https://github.com/Naruki-Ichihara/feax/pull/3).

## Example
    grads = jax.tree_map(lambda g: g / n, grads)

## Use instead
    grads = jax.tree.map(lambda g: g / n, grads)

`--fix` rewrites names whose replacement means exactly the same.

## What stays clean
Fallbacks: a name in a `try` whose `except` catches ImportError or AttributeError, or in that handler; behind
`hasattr`, or a comparison of versions; under `TYPE_CHECKING`. Names that the project itself puts back (`jax.tree_map
= ...`), projects whose requirements keep the old version, and the packages' own code.

## References
- https://docs.jax.dev/en/latest/changelog.html
- https://flax.readthedocs.io/en/latest/migrating/index.html
- https://github.com/netket/netket/issues/1766
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..fallbacks import for_both
from ..records import Mention
from ..removals import REMOVALS, Allowed, Removal, own, title, versions_of
from ..removed_arguments import arguments
from ..renames import renamed
from ..rule import Example, SourceRule
from ..values.value import dotted


def check(facts: FileFacts) -> Iterable[Finding]:
    mentions = [each for each in facts.module.mentions if not own(facts, REMOVALS[each.name].package)]
    if mentions:
        put_back = {
            f"{dotted(store.base)}.{store.name}"
            for function in facts.functions
            for store in function.stores
            if store.kind == "attribute" and store.base is not None
        }
        yield from _names(facts, mentions, put_back)
    if facts.module.imports and any(name.partition(".")[0] in ("jax", "flax") for name in facts.module.imports):
        for each in arguments(facts):
            yield facts.finding(
                RULE,
                each.node,
                each.message,
                subject=each.subject,
                severity=each.severity,
                help=each.help,
                fix=each.fix,
            )


def _names(facts: FileFacts, mentions: list[Mention], put_back: set[str]) -> Iterator[Finding]:
    imported = {each.name for each in mentions if each.how == "import" and _is_gone(facts, each)}
    # `jax.lib.xla_bridge` within `jax.lib.xla_bridge.get_backend` is one fault, not two.
    inner = {id(part) for each in mentions if each.how != "import" for part in _parts(each.node)}
    reported: set[tuple[int, str]] = set()
    for mention in mentions:
        removal = REMOVALS[mention.name]
        versions = versions_of(facts, removal.package)
        gone = _is_gone(facts, mention)
        if mention.name in put_back or (not gone and not _is_deprecated(removal, versions)) or for_both(facts, mention):
            continue
        if id(mention.node) in inner or (mention.how == "attribute" and removal.name.rpartition(".")[0] in imported):
            continue  # its module is reported where it is imported
        if mention.how == "annotation" and "__future__" in facts.module.imports:
            continue  # never evaluated
        place = (getattr(mention.statement, "lineno", 0) if mention.how == "import" else id(mention.node), mention.name)
        if place in reported:
            continue
        reported.add(place)
        yield facts.finding(
            RULE,
            mention.node,
            _said(removal, gone),
            subject=mention.name,
            severity="error" if gone else "info",
            help=_advice(removal, versions),
            fix=renamed(facts, mention, removal, versions),
        )


def _is_gone(facts: FileFacts, mention: Mention) -> bool:
    """Whether a declared version does not have a name any more."""
    removal = REMOVALS[mention.name]
    return bool(removal.removed) and versions_of(facts, removal.package).reaches(removal.removed)


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    while isinstance(node, ast.Attribute):
        node = node.value
        yield node


def _said(removal: Removal, gone: bool) -> str:
    name = f"module {removal.name}" if removal.is_module else removal.name
    package = title(removal.package)
    if gone:
        return f"{package} {removal.removed} and later have no {name}"
    return f"{name} is deprecated since {package} {removal.deprecated or removal.removed}"


def _advice(removal: Removal, versions: Allowed) -> str | None:
    if not removal.new:
        return "it has no public successor: pin the version, or do without it"
    known = f" ({title(removal.new.partition('.')[0])} {removal.since} and later)" if removal.since else ""
    behind = removal.since and versions.lowest and not versions.always(removal.since)
    more = (
        "; the oldest version that is declared does not have it: raise that, or ask hasattr() first" if behind else ""
    )
    return f"use {removal.new}{known}{more}"


def _is_deprecated(removal: Removal, versions: Allowed) -> bool:
    """Whether it is worth a word: deprecated in what is declared, with a successor that all of that has."""
    if removal.removed or not removal.deprecated or not versions.reaches(removal.deprecated):
        return False
    return not removal.since or not versions.lowest or versions.always(removal.since)


BAD = (
    Example(
        "names that are gone",
        """
        import jax
        import jax.numpy as jnp
        from jax import core


        def scale(tree, x):
            tree = jax.tree_map(lambda leaf: 2 * leaf, tree)  # bad
            keys = jnp.row_stack([x, x])  # bad
            traced = isinstance(x, core.ConcreteArray)  # bad
            return tree, keys, traced
        """,
        raises="AttributeError",
        run="scale({}, 1.0)",
    ),
    Example(
        "where they are imported",
        """
        import functools
        from jax import tree_leaves as leaves  # bad


        def total(tree):
            return functools.reduce(lambda a, b: a + b, leaves(tree))
        """,
        raises="ImportError",
        run="pass",
    ),
    Example(
        "modules, and what comes out of them",
        """
        from jax.experimental.maps import xmap  # bad
        import jax.experimental.stax as stax  # bad
        from jax.experimental import host_callback as hcb  # bad
        from jax.config import config  # bad

        config.update("jax_enable_x64", True)
        layer = stax.Dense(8)
        hcb.id_print(xmap)
        """,
        raises="ImportError",
        run="pass",
    ),
    Example(
        "as types, in partial and under another name",
        """
        from functools import partial
        import jax
        import optax as ox

        mapped = partial(jax.tree_map, jax.numpy.sin)  # bad


        def draw(key: jax.random.KeyArray, count: int) -> jax.numpy.DeviceArray:  # bad
            return jax.random.normal(key, (count,))


        decay = ox.additive_weight_decay(1e-4)  # bad
        """,
        raises="AttributeError",
        run="pass",
    ),
    Example(
        "arguments with other names",
        """
        import jax
        import jax.numpy as jnp
        from jax.experimental.shard_map import shard_map  # bad
        from jax.sharding import PartitionSpec as P


        def clip(x):
            return jnp.clip(x, a_min=0.0)  # bad


        def split(f, mesh):
            inner = jax.shard_map(f, mesh=mesh, in_specs=P(), out_specs=P(), check_rep=False)  # bad
            return shard_map(inner, mesh=mesh, in_specs=P(), out_specs=P(), check_rep=False)  # bad
        """,
        raises="TypeError",
        run="clip(1.0)",
    ),
    Example(
        "the optimizer of nnx",
        """
        from flax import nnx
        import optax


        def train(model, grads):
            optimizer = nnx.Optimizer(model, optax.sgd(0.1))  # bad
            optimizer.update(grads)  # bad
            return optimizer
        """,
        raises="TypeError",
        run="train(nnx.Linear(2, 2, rngs=nnx.Rngs(0)), None)",
    ),
)

GOOD = (
    Example(
        "new names",
        """
        import jax
        import jax.numpy as jnp
        import optax
        from flax import nnx
        from jax import config
        from jax.extend.core import Primitive
        from jax.sharding import PartitionSpec as P

        config.update("jax_enable_x64", False)
        double = Primitive("double")


        def scale(tree, mesh, model):
            tree = jax.tree.map(lambda leaf: jnp.clip(2 * leaf, min=0.0), tree)
            split = jax.shard_map(lambda v: v, mesh=mesh, in_specs=P(), out_specs=P(), check_vma=True)
            optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
            optimizer.update(model, tree)
            return jax.tree_util.tree_map(split, tree)
        """,
        run="pass",
    ),
    Example(
        "fallbacks",
        """
        import jax

        try:
            from jax import shard_map
        except ImportError:
            from jax.experimental.shard_map import shard_map

        try:
            tree_map = jax.tree.map
            NEW = True
        except AttributeError:
            tree_map = jax.tree_map
            NEW = False

        if hasattr(jax, "Array"):
            Array = jax.Array
        else:
            from jax.numpy import DeviceArray as Array

        if jax.__version_info__ < (0, 4, 16):
            from jax.experimental import PartitionSpec


        def leaves(tree):
            return jax.tree.leaves(tree) if NEW else jax.tree_leaves(tree)


        def stack(parts):
            if not NEW:
                return jax.numpy.row_stack(parts)
            return jax.numpy.vstack(parts)
        """,
        run="pass",
    ),
    Example(
        "a version that another file knows",
        """
        from typing import TYPE_CHECKING
        import jax
        from compat import is_old

        if TYPE_CHECKING:
            from jax.core import Jaxpr


        def flatten(tree):
            if is_old():
                return jax.tree_flatten(tree)
            return jax.tree.flatten(tree)
        """,
        files={
            "compat.py": """
            import jax
            from packaging.version import parse

            VERSION = parse(jax.__version__)


            def is_old():
                return VERSION < parse("0.4.25")
            """
        },
        run="pass",
    ),
    Example(
        "names that the project puts back, and its own",
        """
        import jax

        jax.tree_map = jax.tree_util.tree_map


        class Tree:
            def tree_map(self, function):
                return function(self)


        def double(tree):
            return jax.tree_map(lambda leaf: 2 * leaf, tree), Tree().tree_map(str)
        """,
        run="double({})",
    ),
)

RULE = SourceRule(
    code="JIT120",
    name="removed-jax-api",
    severity="error",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    fix="safe",
)
