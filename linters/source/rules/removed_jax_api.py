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

from ....contracts.finding import Edit, Finding, Fix, Location
from ..facts import FileFacts
from ..fallbacks import for_both
from ..records import Call, Mention
from ..removals import KEYWORDS, REMOVALS, Allowed, Keyword, Removal, declared
from ..rule import Example, SourceRule
from ..values.value import dotted

_LOADED = ("jax.extend", "jax.export", "jax.experimental", "jax.example_libraries", "jax.scipy")
"""Modules that `import jax` alone does not load in every version."""
_FUNCTIONS = frozenset(function for function, _ in KEYWORDS)
_NNX_OPTIMIZER = "flax.nnx.Optimizer"
_NNX_CHANGED = "0.11.0"


def check(facts: FileFacts) -> Iterable[Finding]:
    mentions = [each for each in facts.module.mentions if not _own(facts, REMOVALS[each.name].package)]
    if mentions:
        put_back = {
            f"{dotted(store.base)}.{store.name}"
            for function in facts.functions
            for store in function.stores
            if store.kind == "attribute" and store.base is not None
        }
        yield from _names(facts, mentions, put_back)
    if facts.module.imports and any(name.partition(".")[0] in ("jax", "flax") for name in facts.module.imports):
        yield from _arguments(facts)


def _own(facts: FileFacts, package: str) -> bool:
    """Whether the linted project is that package."""
    return facts.program.module(package) is not None


def _names(facts: FileFacts, mentions: list[Mention], put_back: set[str]) -> Iterator[Finding]:
    imported = {each.name for each in mentions if each.how == "import"}
    # `jax.lib.xla_bridge` within `jax.lib.xla_bridge.get_backend` is one fault, not two.
    inner = {id(part) for each in mentions if each.how != "import" for part in _parts(each.node)}
    reported: set[tuple[int, str]] = set()
    for mention in mentions:
        removal = REMOVALS[mention.name]
        versions = _versions(facts, removal.package)
        gone = bool(removal.removed) and versions.reaches(removal.removed)
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
            fix=_fix(facts, mention, removal, versions),
        )


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    while isinstance(node, ast.Attribute):
        node = node.value
        yield node


def _said(removal: Removal, gone: bool) -> str:
    name = f"module {removal.name}" if removal.is_module else removal.name
    package = _title(removal.package)
    if gone:
        return f"{package} {removal.removed} and later have no {name}"
    return f"{name} is deprecated since {package} {removal.deprecated or removal.removed}"


def _title(package: str) -> str:
    return {"jax": "JAX", "flax": "Flax", "optax": "Optax"}.get(package, package)


def _advice(removal: Removal, versions: Allowed) -> str | None:
    if not removal.new:
        return "it has no public successor: pin the version, or do without it"
    known = f" ({_title(removal.new.partition('.')[0])} {removal.since} and later)" if removal.since else ""
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


def _versions(facts: FileFacts, package: str) -> Allowed:
    return declared(facts.program.options.requirements, package)


# Arguments


def _arguments(facts: FileFacts) -> Iterator[Finding]:
    for function in facts.functions:
        for call in function.calls:
            if call.decorates is not None and not call.keywords:
                continue
            name = _called(facts, call)
            if name == _NNX_OPTIMIZER or name == ".update":
                yield from _nnx_optimizer(facts, call, name)
            elif name in _FUNCTIONS and not _own(facts, name.partition(".")[0]):
                for keyword in call.keywords:
                    known = KEYWORDS.get((name, keyword or ""))
                    if known is not None:
                        yield from _argument(facts, call, known)


def _called(facts: FileFacts, call: Call) -> str:
    """The library function that gets the keywords: what is called, or what partial binds them to."""
    callee = facts.callee(call)
    if callee.wraps:
        return ""
    if callee.name == "functools.partial" and call.args:
        bound = facts.callee(call.args[0])
        return bound.name or "" if not bound.wraps else ""
    return callee.name or ""


def _argument(facts: FileFacts, call: Call, known: Keyword) -> Iterator[Finding]:
    versions = _versions(facts, known.package)
    gone = bool(known.removed)
    if (gone and not versions.reaches(known.removed)) or for_both(facts, call):
        return
    if not gone and versions.lowest and not versions.always(known.since):
        return
    written = next((each for each in getattr(call.node, "keywords", ()) if each.arg == known.name), None)
    shown = known.function.replace("jax.numpy.", "jnp.")
    fix = None
    if known.same and written is not None and (not known.since or not versions.lowest or versions.always(known.since)):
        place = facts.location(written)
        end = (place.column or 1) + len(known.name)
        edit = Edit(Location(facts.path, place.line, place.column, place.line, end), known.new)
        fix = Fix(f"rename {known.name} to {known.new}", (edit,), safe=True)
    yield facts.finding(
        RULE,
        call.node if written is None or not gone else written,
        f"{shown} takes no {known.name} since {_title(known.package)} {known.removed}"
        if gone
        else f"{known.name} of {shown} is called {known.new} now",
        subject=f"{known.function} {known.name}",
        severity="error" if gone else "info",
        help=f"it is called {known.new} now" if known.new else known.advice,
        fix=fix,
    )


def _nnx_optimizer(facts: FileFacts, call: Call, name: str) -> Iterator[Finding]:
    """Flax 0.11 made `wrt` required, and gave `update` the model."""
    if _own(facts, "flax") or None in call.keywords or any(each.op == "star" for each in call.args):
        return
    if name == ".update":
        base = call.func.args[0] if call.func.op == "attr" else None
        if base is None or facts.type_of(base) != _NNX_OPTIMIZER or len(call.args) + len(call.keywords) != 1:
            return
        what, help = (
            "update() takes the model and the gradients",
            "pass the model first: optimizer.update(model, grads)",
        )
    else:
        if "wrt" in call.keywords or len(call.args) > 2 or len(call.args) + len(call.keywords) < 2:
            return
        what, help = (
            "nnx.Optimizer needs wrt=",
            "add wrt=nnx.Param, which was the default, or use nnx.ModelAndOptimizer",
        )
    versions = _versions(facts, "flax")
    if versions.reaches(_NNX_CHANGED) and not for_both(facts, call):
        yield facts.finding(
            RULE, call.node, f"{what} since Flax {_NNX_CHANGED}", subject=f"{_NNX_OPTIMIZER} {what}", help=help
        )


# Fixes


def _fix(facts: FileFacts, mention: Mention, removal: Removal, versions: Allowed) -> Fix | None:
    """A rewrite to the new name, where it means the same and every declared version has it."""
    if not removal.same or (removal.since and versions.lowest and not versions.always(removal.since)):
        return None
    if mention.how == "import":
        edit = _import_edit(facts, mention, removal)
    else:
        edit = _attribute_edit(facts, mention, removal)
    return Fix(f"use {removal.new}", (edit,), safe=True) if edit is not None else None


def _attribute_edit(facts: FileFacts, mention: Mention, removal: Removal) -> Edit | None:
    """`jnp.row_stack` becomes `jnp.vstack`: what the new name shares with the old one stays as it is written."""
    node, known = mention.node, removal.name
    if removal.is_module or removal.new.startswith(_LOADED):
        return None
    inner: ast.AST = node
    while isinstance(inner, ast.Attribute):
        known = known.rpartition(".")[0]
        inner = inner.value
        if removal.new.startswith(f"{known}."):
            start, end = facts.location(inner), facts.location(node)
            place = Location(facts.path, start.end_line, start.end_column, end.end_line, end.end_column)
            return Edit(place, removal.new[len(known) :])
    return None


def _import_edit(facts: FileFacts, mention: Mention, removal: Removal) -> Edit | None:
    """The import of the new name under the old one, where the statement imports nothing else."""
    statement, alias = mention.statement, mention.node
    if not isinstance(alias, ast.alias) or statement is None or statement.lineno != statement.end_lineno:
        return None
    if isinstance(statement, ast.Import):
        if alias.asname is None or alias.name != removal.name:
            return None
        return Edit(facts.location(alias), f"{removal.new} as {alias.asname}")
    if not isinstance(statement, ast.ImportFrom) or statement.level:
        return None
    if removal.is_module and statement.module == removal.name:
        names = ", ".join(each.name + (f" as {each.asname}" if each.asname else "") for each in statement.names)
        return Edit(facts.location(statement), f"from {removal.new} import {names}")
    if len(statement.names) != 1 or f"{statement.module}.{alias.name}" != removal.name:
        return None
    module, _, name = removal.new.rpartition(".")
    bound = alias.asname or alias.name
    renamed = f" as {bound}" if bound != name else ""
    return Edit(facts.location(statement), f"from {module} import {name}{renamed}") if module else None


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
