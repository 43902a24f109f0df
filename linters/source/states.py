"""What the parameters of a function are under a transform: tracers, Python values, data of a module, or not known.

A state is a set of bits, one for each way that a traced call is seen to give the parameter; `STATES` names them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from .callee import Callee, Wrapped
from .fixed import VARIES, scalar
from .jit_options import HIDDEN
from .kinds import TRACERS
from .transforms import Transform
from .values.value import UNKNOWN, Parameter, Value, dotted

if TYPE_CHECKING:
    from .program import Program

TRACER, STATIC, OPEN, INPUT = 1, 2, 4, 8
STATES = {
    TRACER: "traced", TRACER | OPEN: "traced", STATIC: "static",
    TRACER | INPUT: "traced", TRACER | OPEN | INPUT: "traced", STATIC | INPUT: "static",
    INPUT: "input", OPEN | INPUT: "input",
}  # fmt: skip
_FILTERS = "equinox."
# These call their function with positional arguments alone, some with a fixed number of them.
_POSITIONAL_ONLY = frozenset(
    {"jax.lax.scan", "jax.lax.while_loop", "jax.lax.fori_loop", "jax.lax.cond", "jax.lax.switch", "jax.lax.map"}
)
_FIXED_ARITY = {"jax.lax.scan": 2, "jax.lax.while_loop": 1, "jax.lax.fori_loop": 2, "jax.lax.map": 1}
_ARRAY_TYPES = frozenset(
    {"jax.Array", "jax.numpy.ndarray", "jaxtyping.Array", "chex.Array", "jax.numpy.array", "jaxtyping.PRNGKeyArray"}
)


def bit(kind: str) -> int:
    """The state of a parameter that is given a value of this kind."""
    return TRACER if kind in TRACERS else STATIC if kind == "static" else OPEN


def named(bits: Mapping[str, int]) -> dict[str, str]:
    """The states of parameters by name, as rules ask for them."""
    return {name: STATES.get(state, "unknown") for name, state in bits.items()}


def states_under(
    program: Program,
    inner: Callee,
    name: str,
    transform: Transform,
    options: dict[str, Value],
    passed: Collection[str],
) -> dict[str, int]:
    """What each parameter of the function in `inner` is under a transform; `passed` are those that some call gives."""
    function = inner.function
    assert function is not None
    jit = program.jit_options(inner.with_(wraps=(Wrapped(name, options, UNKNOWN, inside=len(inner.bound)),)))
    filtered = name.startswith(_FILTERS)
    parameters = function.parameters
    positional = [each for each in parameters if each.kind == "positional"]
    skipped = len(inner.bound)
    traced_numbers = _numbers(program, transform, options)
    states: dict[str, int] = {}
    for parameter in parameters:
        at = parameter.index - skipped if parameter.kind == "positional" else None
        if parameter.name in inner.bound_keywords or (at is not None and at < 0):
            value = inner.bound_keywords.get(parameter.name)
            value = value if value is not None else inner.bound[parameter.index]
            states[parameter.name] = bit(program.kind(value))
        elif jit.static_names is None or jit.static_numbers is None or transform.parameters == "none":
            states[parameter.name] = OPEN
        elif jit.is_static(at, parameter.name):
            states[parameter.name] = STATIC
        elif parameter.kind in ("star", "double_star") or (filtered and not is_array_type(parameter.annotation)):
            states[parameter.name] = OPEN
        elif parameter.default is not None and parameter.name not in passed:
            states[parameter.name] = OPEN  # a default that nobody replaces stays a Python value
        elif (
            traced_numbers is None
            or at in traced_numbers
            or (at is None and transform.parameters == "all" and name not in _POSITIONAL_ONLY)
        ):
            states[parameter.name] = TRACER
    if name in _POSITIONAL_ONLY:
        # What the transform itself calls gets no keyword arguments, and defaults stay what they are.
        for parameter in parameters:
            if parameter.kind == "keyword":
                states[parameter.name] = STATIC
            elif parameter.default is not None and parameter in positional and name in _FIXED_ARITY:
                at = parameter.index - skipped
                if at >= _FIXED_ARITY[name]:
                    states[parameter.name] = bit(program.kind(parameter.default))
    if "pallas" in name:
        return dict.fromkeys(states, OPEN)
    return states


def _numbers(program: Program, transform: Transform, options: dict[str, Value]) -> set[int] | None:
    """The positions that are traced; None for all."""
    missing = object()
    chosen = {"argnums": "argnums", "sharded": "in_specs", "mapped": "in_axes"}.get(transform.parameters)
    if chosen is not None and HIDDEN in options and chosen not in options:
        return set()
    if transform.parameters == "argnums":
        found = program.constant(options.get("argnums"), missing) if "argnums" in options else 0
        found = (found,) if isinstance(found, int) else found
        return set(found) if isinstance(found, tuple) else set()
    axes = options.get(chosen) if chosen is not None else None
    if axes is not None:
        if axes.op in ("tuple", "list"):
            return {at for at, each in enumerate(axes.args) if not (each.op == "const" and each.data is None)}
        return set() if axes.op not in ("const", "dict", "call", "bin") else None
    return None


def fixed_under(program: Program, inner: Callee, name: str, passed: Collection[str]) -> dict[str, Any]:
    """What partial has bound, and defaults that no call replaces: a flag given to the compiled function is a tracer.

    Equinox's filters leave what is no array as it is: whoever calls may give another flag.
    """
    function = inner.function
    assert function is not None
    found: dict[str, Any] = {}
    for parameter in function.parameters:
        given = inner.bound_keywords.get(parameter.name)
        if given is None and parameter.kind == "positional" and parameter.index < len(inner.bound):
            given = inner.bound[parameter.index]
        elif given is None and parameter.name not in passed and not name.startswith(_FILTERS):
            given = parameter.default
        found[parameter.name] = scalar(program.constant(given, VARIES))
    return found


def is_input(parameter: Parameter) -> bool:
    """Whether a method that a module is run by takes data here, as far as its signature tells."""
    plain = parameter.kind in ("positional", "keyword") and parameter.default is None and parameter.index > 0
    return plain and (parameter.annotation.op == "unknown" or is_array_type(parameter.annotation))


def is_array_type(annotation: Value) -> bool:
    """Whether an annotation is that of one array."""
    if annotation.op == "item":
        base = dotted(annotation.args[0]) or ""
        return base.startswith("jaxtyping.")
    return dotted(annotation) in _ARRAY_TYPES
