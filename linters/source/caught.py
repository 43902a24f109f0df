"""Where code goes on, or a test passes, when JAX refuses something: `try`, `pytest.raises`, `self.assertRaises`."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from .records import Block, Call
from .values.value import Value, dotted

_EXPECTS = frozenset({"pytest.raises", "numpy.testing.assert_raises", "numpy.testing.assert_raises_regex"})
_SUPPRESSES = "contextlib.suppress"
_METHOD = "assertRaises"
"""So begin the methods of `unittest.TestCase` that expect an error, and those of libraries on top of it."""
_WITH_PATTERN = ("Regex", "regex")
"""So end those that take what the message is like before the function to call."""
_REFUSALS: tuple[type[Exception], ...] = (TypeError, ValueError, IndexError, NameError)
"""What JAX raises, or a class above it, where tracing a function fails."""
_OF_JAX: dict[str, type[Exception]] = {
    "ConcretizationTypeError": TypeError,
    "JAXTypeError": TypeError,
    "TracerArrayConversionError": TypeError,
    "TracerBoolConversionError": TypeError,
    "TracerIntegerConversionError": TypeError,
    "UnexpectedTracerError": TypeError,
    "JAXIndexError": IndexError,
    "NonConcreteBooleanIndexError": IndexError,
}


def is_caught(block: Block, errors: tuple[type, ...]) -> bool:
    """Whether something round a block goes on when one of these errors is raised there."""
    for each in block.contexts:
        if each.arm == "try" and any(_catches(handler, errors) for handler in each.branch.node.handlers):
            return True
        if each.arm == "with" and any(_may_be(given, errors) for given in _let_through(each.guard)):
            return True
    return False


def expected_refusals(block: Block) -> list[str]:
    """The errors, of those that tracing ends with, that code round a block is written for: it names one of them, or is
    a test that expects any. A handler for whatever may happen tells nothing of what does.
    """
    return [error.__name__ for error in _REFUSALS if any(_is_meant(each, error) for each in block.contexts)]


def handed_to(call: Call) -> tuple[int, list[str]] | None:
    """`self.assertRaises(Error, function, ...)`: which argument it calls, and the refusals that it expects."""
    written = _expected_by(call)
    if written is None:
        return None
    name = call.func.data if call.func.op == "attr" else dotted(call.func) or ""
    at = 2 if str(name).endswith(_WITH_PATTERN) else 1
    found = [error.__name__ for error in _REFUSALS if any(_may_be(each, (error,)) for each in written[:1])]
    return (at, found) if found and len(call.args) > at else None


def _is_meant(block: Block, error: type[Exception]) -> bool:
    if block.arm == "try":
        return any(_names(each.type, error) and _catches(each, (error,)) for each in block.branch.node.handlers)
    guard = block.guard
    if guard is None or guard.op != "call":
        return False
    if dotted(guard.data.func) == _SUPPRESSES:
        return any(_names(each, error) for each in _written(guard.data))
    return any(_may_be(each, (error,)) for each in _expected_by(guard.data) or ())


def _let_through(context: Value | None) -> Iterator[ast.AST | None]:
    """The exceptions, as code writes them, that a context manager lets nobody see."""
    if context is not None and context.op == "call":
        suppressed = dotted(context.data.func) == _SUPPRESSES
        yield from _written(context.data) if suppressed else _expected_by(context.data) or ()


def _expected_by(call: Call) -> list[ast.AST | None] | None:
    """What a call that tests use says must be raised, as code writes it; None for all other calls."""
    func = call.func
    method = func.op == "attr" and str(func.data).startswith(_METHOD)
    return _written(call) or [None] if method or dotted(func) in _EXPECTS else None


def _written(call: Call) -> list[ast.AST | None]:
    given = getattr(call.node, "args", [])
    return [part for each in given for part in (each.elts if isinstance(each, ast.Tuple) else [each])]


def _catches(handler: ast.ExceptHandler, errors: tuple[type, ...]) -> bool:
    """Whether a handler takes the error and goes on; one that raises again only says more about it."""
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    if not any(_may_be(each, errors) for each in types):
        return False
    leaves = (ast.Return, ast.Continue, ast.Break)
    again = isinstance(handler.body[-1], ast.Raise)
    return not again or any(isinstance(each, leaves) for part in handler.body for each in ast.walk(part))


def _may_be(written: ast.AST | None, errors: tuple[type, ...]) -> bool:
    """Whether an exception, as code writes it, may stand for one of the errors: of Python's own and JAX's, what is
    above one of them, and all that has another name.
    """
    known = _known(written)
    return known is None or any(issubclass(each, known) for each in errors)


def _names(written: ast.AST | None, error: type[Exception]) -> bool:
    """Whether an exception, as code writes it, is of this kind, and not just any."""
    types = written.elts if isinstance(written, ast.Tuple) else [written]
    return any(_known(each) is error for each in types)


def _known(written: ast.AST | None) -> type | None:
    """The class of Python that an exception is, or that JAX's is derived from; None where that is not known."""
    name = written.attr if isinstance(written, ast.Attribute) else written.id if isinstance(written, ast.Name) else ""
    found = _OF_JAX.get(name) or getattr(builtins, name, None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None
