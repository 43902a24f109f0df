"""Arguments that functions of JAX and Flax no longer take, or take by another name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ...contracts.finding import Edit, Fix, Location, Severity
from .fallbacks import for_both
from .records import Call
from .removals import KEYWORDS, Keyword, own, title, versions_of

if TYPE_CHECKING:
    from .facts import FileFacts

_FUNCTIONS = frozenset(function for function, _ in KEYWORDS)
_NNX_OPTIMIZER = "flax.nnx.Optimizer"
_NNX_CHANGED = "0.11.0"


class Removed(NamedTuple):
    """One argument that is gone or has another name: where, what a finding says of it, and its fix."""

    node: Any
    message: str
    subject: str
    help: str
    severity: Severity = "error"
    fix: Fix | None = None


def arguments(facts: FileFacts) -> Iterator[Removed]:
    """The calls of a file that no declared version understands, or that newer ones write in another way."""
    for function in facts.functions:
        for call in function.calls:
            if call.decorates is not None and not call.keywords:
                continue
            name = _called(facts, call)
            if name == _NNX_OPTIMIZER or name == ".update":
                yield from _nnx_optimizer(facts, call, name)
            elif name in _FUNCTIONS and not own(facts, name.partition(".")[0]):
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


def _argument(facts: FileFacts, call: Call, known: Keyword) -> Iterator[Removed]:
    versions = versions_of(facts, known.package)
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
    if gone:
        message = f"{shown} takes no {known.name} since {title(known.package)} {known.removed}"
    else:
        message = f"{known.name} of {shown} is called {known.new} now"
    yield Removed(
        call.node if written is None or not gone else written,
        message,
        f"{known.function} {known.name}",
        f"it is called {known.new} now" if known.new else known.advice,
        "error" if gone else "info",
        fix,
    )


def _nnx_optimizer(facts: FileFacts, call: Call, name: str) -> Iterator[Removed]:
    """Flax 0.11 made `wrt` required, and gave `update` the model."""
    if own(facts, "flax") or None in call.keywords or any(each.op == "star" for each in call.args):
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
    versions = versions_of(facts, "flax")
    if versions.reaches(_NNX_CHANGED) and not for_both(facts, call):
        yield Removed(call.node, f"{what} since Flax {_NNX_CHANGED}", f"{_NNX_OPTIMIZER} {what}", help)
