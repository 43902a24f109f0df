"""The shape of an array depends on values that are known only when the program runs.

## What it does
Reports, in traced functions, where a shape would have to come out of the values of an array: `jnp.nonzero`,
`jnp.unique`, `jnp.where` with one argument and their kind without `size=`; a mask as an index, in `.at[]` too; a slice
with traced bounds; `range()`, `jnp.arange`, `jnp.zeros`, `reshape`, `jax.random.normal` and others with a traced size.

## Why is this bad?
A compiled program has fixed shapes, so the first trace ends with ConcretizationTypeError, NonConcreteBooleanIndexError,
IndexError or TypeError (https://github.com/jax-ml/jax/issues/5017, https://github.com/jax-ml/jax/issues/6853).

## Example
    @jax.jit
    def positive_sum(x):
        return x[x > 0].sum()

## Use instead
    @jax.jit
    def positive_sum(x):
        return jnp.sum(x, where=x > 0)

`size=` and `fill_value=` give a fixed shape, `jax.lax.dynamic_slice_in_dim` moves a window of fixed length,
`jax.lax.fori_loop` takes a traced count; a length that should pick the program is a static argument.

## What stays clean
Shapes from shapes, static arguments and constants; a traced integer as an index; `size=`, `length=`,
`total_repeat_length=`; `jnp.where` with three arguments; code on the host and code that only `grad` runs, where the
values are there.

## References
- https://docs.jax.dev/en/latest/errors.html#jax.errors.NonConcreteBooleanIndexError
- https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html#dynamic-shapes
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ..concrete import is_conditional, is_sure, may_be_concrete
from ..facts import TRACERS, FileFacts
from ..records import Call, Function, Record
from ..rule import SourceRule
from ..twins.data_dependent_shape import BAD, GOOD
from ..values.value import Value

_COUNTED = {
    **dict.fromkeys(
        ("nonzero", "argwhere", "flatnonzero", "unique", "unique_values", "unique_counts", "unique_inverse",
         "unique_all", "setdiff1d", "intersect1d", "union1d", "setxor1d", "extract", "compress"),
        "size",
    ),
    "bincount": "length",
    "roots": "strip_zeros",
    "trim_zeros": "size",
}  # fmt: skip
"""Functions of jax.numpy whose result is as long as the values say, and the keyword that fixes the length."""

_SHAPES: dict[str, tuple[tuple[int, str], ...]] = {
    **{f"jax.numpy.{name}": ((0, "shape"),) for name in ("zeros", "ones", "empty", "full")},
    **{f"jax.numpy.{name}": ((1, "shape"),) for name in ("reshape", "broadcast_to")},
    **{f"jax.numpy.{name}": ((0, "N"), (1, "M")) for name in ("eye", "tri", "identity")},
    "jax.numpy.arange": ((0, "start"), (1, "stop"), (2, "step")),
    "jax.numpy.linspace": ((2, "num"),),
    "jax.numpy.logspace": ((2, "num"),),
    "jax.numpy.tile": ((1, "reps"),),
    "jax.numpy.pad": ((1, "pad_width"),),
    "jax.numpy.split": ((1, "indices_or_sections"),),
    "jax.numpy.array_split": ((1, "indices_or_sections"),),
    "jax.nn.one_hot": ((1, "num_classes"),),
    "jax.random.split": ((1, "num"),),
    **{f"jax.random.{name}": ((1, "shape"),) for name in (
        "normal", "uniform", "bits", "gumbel", "exponential", "laplace", "logistic", "rademacher", "randint")},
    "jax.random.truncated_normal": ((3, "shape"),),
    "jax.random.bernoulli": ((2, "shape"),),
    "jax.lax.iota": ((1, "size"),),
    "jax.lax.broadcasted_iota": ((1, "shape"),),
    "jax.lax.dynamic_slice": ((2, "slice_sizes"),),
    "jax.lax.dynamic_slice_in_dim": ((2, "slice_size"),),
    "jax.lax.broadcast": ((1, "sizes"),),
    "jax.lax.top_k": ((1, "k"),),
}  # fmt: skip
"""Where functions take a shape or a length."""
_MASKS = frozenset(
    f"jax.numpy.{name}"
    for name in (
        "isnan", "isfinite", "isinf", "logical_and", "logical_or", "logical_not", "logical_xor", "equal", "not_equal",
        "less", "greater", "less_equal", "greater_equal", "isclose", "isin",
    )
)  # fmt: skip

_ERRORS = (TypeError, IndexError)
"""What JAX raises: the second where a mask is an index."""


def check(facts: FileFacts) -> Iterable[Finding]:
    for function, traced in facts.traced_functions():
        if not traced.hides:
            continue
        sure = is_sure(traced)
        for record, what, help in (*_calls(facts, function), *_subscripts(facts, function)):
            if may_be_concrete(facts, record, _ERRORS):
                continue
            yield facts.finding(
                RULE,
                record.node,
                f"{what} is only known when the program runs, and a shape depends on it",
                subject=f"{function.name}: {facts.text(record.node)}",
                because=facts.why(function),
                help=help,
                confidence="certain" if sure and not is_conditional(record.block) else "likely",
            )


def _calls(facts: FileFacts, function: Function) -> Iterator[tuple[Record, str, str]]:
    for call in function.calls:
        if call.decorates is not None:
            continue
        callee = facts.callee(call)
        name = callee.name
        if name is None or callee.wraps or callee.function is not None or callee.bound:
            continue
        if None in call.keywords:
            continue  # the length may be in there
        if name == "builtins.range":
            if any(facts.is_tracer(arg) for arg in call.args):
                yield call, f"the count of `{facts.text(call.node)}`", "use jax.lax.fori_loop, or make the count static"
        elif name in (".reshape", ".broadcast_to") or name in _SHAPES:
            given = _length(facts, call, name)
            if given is not None:
                yield (
                    call,
                    f"the size `{facts.named(given)}`",
                    "make it a static argument, or take a fixed size and mask the rest",
                )
        elif name.startswith("jax.numpy.") or name in (".nonzero", ".repeat"):
            counted = _counted(facts, call, name.rpartition(".")[2])
            if counted is not None:
                yield call, f"the length of what {name.removeprefix('.')} gives", counted


def _length(facts: FileFacts, call: Call, name: str) -> Value | None:
    """The traced length among the arguments of a function that takes a shape."""
    if name.startswith("."):
        base = call.func.args[0] if call.func.op == "attr" else None
        if base is None or not facts.is_tracer(base):
            return None
        wanted = list(call.args)
    elif name == "jax.numpy.arange" and any(arg.op == "star" for arg in call.args):
        return None
    else:
        wanted = [value for at, key in _SHAPES[name] if (value := call.argument(at, key)) is not None]
    for value in wanted:
        parts = value.args if value.op in ("tuple", "list") else (value,)
        for part in parts:
            if part.op != "star" and facts.kind(part) in TRACERS:
                return part
    return None


def _counted(facts: FileFacts, call: Call, name: str) -> str | None:
    """What fixes the length of a result that is as long as the values say; None where the call is fine."""
    base = call.func.args[0] if call.func.op == "attr" else None
    given = [base, *call.args] if base is not None else call.args
    if name == "where":
        if len(call.args) == 1 and not call.keywords.keys() & {"x", "y", "size"} and _may_fail(facts, call.args[0]):
            return "give size=, or say with three arguments what stands at each place"
        return None
    if name == "repeat":
        counts = call.argument(0 if base is not None else 1, "repeats")
        if counts is not None and facts.is_tracer(counts) and "total_repeat_length" not in call.keywords:
            return "give total_repeat_length="
        return None
    fixed = _COUNTED.get(name)
    if fixed is None or fixed in call.keywords or not given or not _may_fail(facts, given[0]):
        return None
    return f"give {fixed}=" + (" and fill_value=" if fixed == "size" else "False" if fixed == "strip_zeros" else "")


def _may_fail(facts: FileFacts, value: Value) -> bool:
    """Whether the values are out of reach: measured, even those of constants are, where operations are staged."""
    return facts.is_tracer(value) or facts.kind(value) in ("unknown", "eager")


def _subscripts(facts: FileFacts, function: Function) -> Iterator[tuple[Record, str, str]]:
    for item in function.items:
        if item.value.op != "item":
            continue
        base, index = item.value.args
        owner = base.args[0] if base.op == "attr" and base.data == "at" else base
        if facts.kind(owner) != "array" and not (facts.is_tracer(owner) and owner.op == "param"):
            continue
        for part in index.args if index.op == "tuple" else (index,):
            if part.op == "slice":
                bound = next((each for each in part.args if facts.is_tracer(each)), None)
                if bound is not None:
                    yield (
                        item,
                        f"the bound `{facts.named(bound)}` of a slice",
                        "use jax.lax.dynamic_slice_in_dim, or a mask",
                    )
                    break
            elif _is_mask(facts, part):
                help = "use jnp.where or the where= of a reduction, or jnp.nonzero with size="
                yield item, f"the number of elements that `{facts.text(item.node)}` picks", help
                break


def _is_mask(facts: FileFacts, value: Value) -> bool:
    """Whether an index is surely a traced array of booleans."""
    if value.op == "compare":
        return facts.kind(value) == "array"
    if value.op == "unary" and value.data == "Invert":
        return _is_mask(facts, value.args[0])
    if value.op == "bin" and value.data in ("BitAnd", "BitOr", "BitXor"):
        return all(_is_mask(facts, each) for each in value.args)
    return value.op == "call" and facts.callee(value.data).name in _MASKS and facts.kind(value) == "array"


RULE = SourceRule(
    code="JIT112",
    name="data-dependent-shape",
    severity="error",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
)
