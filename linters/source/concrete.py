"""Where a traced function may ask for values all the same: they are no tracers there, or the failure is caught."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .caught import is_caught
from .fixed import UNDECIDED, asked_parameters, is_dead
from .records import Block, Record
from .traced import Traced, is_conventional
from .values.value import Value, dotted

if TYPE_CHECKING:
    from .facts import FileFacts

_ASKS_TYPE = frozenset({"isinstance", "hasattr", "callable", "type", "is_concrete", "is_tracer", "issubclass"})
_CONCRETE = frozenset({"jax.ensure_compile_time_eval", "jax.core.eval_context", "jax.disable_jit"})

_HELPERS = 3
_DEEPEST = 5


def asks_type(facts: FileFacts, guard: Value, depth: int = 0) -> bool:
    """Whether a condition, or a helper that it calls, looks at what something is: a tracer may be ruled out there."""
    if isinstance(guard.node, ast.AST) and any(
        (getattr(node, "attr", None) or getattr(node, "id", None)) in _ASKS_TYPE for node in ast.walk(guard.node)
    ):
        return True
    return depth < _HELPERS and any(
        _answers_of_type(facts, function, depth + 1)
        for each in _parts(guard)
        for function in _function_ids(facts, each)
    )


def _parts(value: Value, depth: int = 0) -> Iterator[Value]:
    """A condition and what it is made of, with the arguments of calls."""
    yield value
    if depth < _DEEPEST and value.op in ("unary", "bool", "compare", "phi", "call", "comp"):
        inner = (*value.data.args, *value.data.keywords.values()) if value.op == "call" else value.args
        for each in inner:
            yield from _parts(each, depth + 1)


def _function_ids(facts: FileFacts, value: Value) -> Iterator[str]:
    """The function of the project that a value calls, or that it hands on to be called."""
    if value.op in ("call", "function", "ref", "name"):
        callee = facts.program.callee(value.data.func if value.op == "call" else value)
        if callee.function is not None and not callee.wraps:
            yield callee.function.id


def _answers_of_type(facts: FileFacts, id: str, depth: int) -> bool:
    """Whether what a function returns is the answer to a question about types."""
    function = facts.program.function(id)
    answer = facts.program.thaw(function.data.get("r", ()), function) if function is not None else None
    if answer is None:
        return False
    if any(
        each.op == "call" and (dotted(each.data.func) or "").rpartition(".")[2] in _ASKS_TYPE for each in _parts(answer)
    ):
        return True
    here = next((each for each in facts.functions if each.id == id), None)
    if here is not None and all(each.value.op in ("const", "bool") for each in here.returns):
        return any(each.value is not None and asks_type(facts, each.value, depth) for each in here.branches)
    return asks_type(facts, answer, depth)


def may_be_concrete(facts: FileFacts, record: Record, errors: tuple[type, ...] = (TypeError,)) -> bool:
    """Whether code runs only on what is no tracer, in no traced call that is seen, or its failure, one of `errors`, is
    caught.
    """
    if is_met(facts, record, errors) or facts.round(record.block, _rules_out):
        return True
    if any(_is_concrete(facts, each.guard) for each in record.block.contexts if each.arm == "with"):
        return True
    defined = [each.defined_in for each in record.function.chain() if each.defined_in is not None]
    return any(facts.round(each, _is_never_run) for each in (record.block, *defined))


def _is_never_run(facts: FileFacts, block: Block) -> bool:
    return block.guard is not None and is_dead([(block.guard, block.arm)], facts.fixed)


def _rules_out(facts: FileFacts, block: Block) -> bool:
    """Whether the condition of a block, where it has one, lets nothing in that is a tracer."""
    guard, arm = block.guard, block.arm
    if guard is None or arm == "with":
        return False
    if asks_type(facts, guard) or _is_off(guard, arm):
        return True
    return arm == "then" and (_asks_for_none(facts, guard) or _asks_for_scalar(guard))


def _is_concrete(facts: FileFacts, context: Value | None) -> bool:
    """Whether what is done under a context manager is no part of the traced program."""
    if context is None:
        return False
    return (context.op == "call" and facts.callee(context.data).name in _CONCRETE) or asks_type(facts, context)


def is_met(facts: FileFacts, record: Record, errors: tuple[type, ...]) -> bool:
    """Whether something goes on, or a test passes, when JAX raises one of these errors: round the place itself, or
    round all calls of its function.
    """
    if is_caught(record.block, errors):
        return True
    traced = facts.traced(record.function)
    return traced is not None and any(each.__name__ in traced.expected for each in errors)


def is_conditional(block: Block) -> bool:
    """Whether a condition decides if a block runs at all: what follows a check that raises is not meant."""
    for each in block.chain():
        if each.guard is None or each.arm not in ("then", "else"):
            continue
        test = getattr(each.branch, "node", None)
        checked = each.arm == "else" and isinstance(test, ast.If) and isinstance(test.body[-1], ast.Raise)
        if not checked:
            return True
    return False


def _is_off(guard: Value, arm: str) -> bool:
    """Whether a condition is a switch that is, as written, set so that the block does not run."""
    settings = guard.args if guard.op == "phi" else (guard,)
    return any(each.op == "const" and bool(each.data) != (arm == "then") for each in settings)


def _asks_for_scalar(guard: Value) -> bool:
    """`x.ndim == 0`: what has no dimensions may well be a number of Python, or never come under this transform."""
    if guard.op != "compare" or guard.data != ("Eq",):
        return False
    asked, number = guard.args
    name = asked.data if asked.op == "attr" else dotted(asked.data.func) if asked.op == "call" else None
    last = str(name).rpartition(".")[2]
    if number.op == "const":
        return last == "ndim" and number.data == 0
    return last == "shape" and number.op == "tuple" and not number.args


def _asks_for_none(facts: FileFacts, guard: Value) -> bool:
    """`p is None` of a parameter of which tracing knows nothing: behind it is what may never be traced.

    That is so too of a function on the host round the traced one: which of its calls leads here is not known.
    """
    if guard.op != "compare" or guard.data != ("Is",) or guard.args[0].op != "param":
        return False
    function = guard.args[0].data.function
    traced = facts.traced(function)
    return (traced is None or traced.direct) and facts.kind(guard.args[0]) == "unknown"


def depends_on_call(facts: FileFacts, block: Block) -> bool:
    """Whether a place is reached only where an argument is, or is not, None, or by a flag that may have its default:
    the traced call may not come there.
    """
    return facts.round(block, _depends)


def _depends(facts: FileFacts, block: Block) -> bool:
    guard = block.guard
    if guard is None:
        return False
    none = guard.op == "compare" and guard.data[0] in ("Is", "IsNot") and guard.args[0].op in ("param", "phi", "attr")
    return none or any(_may_be_default(facts, each) for each in asked_parameters(guard))


def _may_be_default(facts: FileFacts, value: Value) -> bool:
    default = value.data.default is not None and facts.kind(value) == "unknown"
    return default and facts.fixed(value) is UNDECIDED


def is_sure(traced: Traced) -> bool:
    """Whether a transform in sight makes a program of the function: not a convention, not a derivative alone."""
    return traced.staged and not is_conventional(traced.chain)
