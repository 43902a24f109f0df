"""The step: what a user's `build` returns, and the one shape the rest of this package works with."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .apart import apart, example_apart, filtered, holds_objects, no_arrays, taking_apart, unfiltered
from .request import StepFailure

_FUNCTIONS = ("example", "loss_and_grads", "loss_terms", "token_losses")
Names = str | int | Sequence[str | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A training step with abstract or concrete arguments. Any object with these attributes will do as well.

    fn: the step, plain or already jitted (`jax.jit`, `nnx.jit`, `equinox.filter_jit`).
    args, kwargs: pytrees of arrays or `jax.ShapeDtypeStruct`s; static arguments hold their values.
    donate, static: argument names or positions; ignored where `fn` is already jitted.
    example: `example(i) -> (args, kwargs)`, concrete values of loop step i.
    carry: output position -> name of the argument it replaces in the next step. Default: see `carry.settled`.
    loss_and_grads: `loss_and_grads(*args, **kwargs) -> (loss, grads)`.
    loss_terms: `loss_terms(*args, **kwargs) -> {name: (sum, denominator)}`.
    token_losses: `token_losses(*args, **kwargs) -> [rows, columns]`, the loss of each target before its mask; see
        `batch check --probe`.
    resumable: `resumable(folder)`, a run whose steps are saved there; see `checkpoint resume`.
    mesh: a mesh to make current (`jax.set_mesh`) while the step is traced, for code that names axes without a mesh.
    logical_axes: pytree path of a parameter below its argument -> the step's own name of each dimension, None for none;
        `init` words placements with them.
    """

    fn: Callable[..., Any]
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    donate: Names = ()
    static: Names = ()
    example: Callable[[int], tuple[Sequence[Any], Mapping[str, Any]]] | None = None
    carry: Mapping[int, str] | None = None
    loss_and_grads: Callable[..., Any] | None = None
    loss_terms: Callable[..., Any] | None = None
    token_losses: Callable[..., Any] | None = None
    resumable: Callable[[str], Any] | None = None
    mesh: Any = None
    logical_axes: Mapping[str, Sequence[str | None]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalisedStep:
    """A step with every choice made: names instead of positions, a jitted function, concrete meshes.

    `jitted` has `.trace(*args, **kwargs)`. `argument_names` names each of `args` in order, then the keys of `kwargs`.
    `static` are the names of compile-time constants among them; `carry` maps an output position to an argument name;
    it is the step's own word where `carry_given`.
    """

    fn: Callable[..., Any]
    jitted: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    argument_names: tuple[str, ...]
    donate: tuple[str, ...]
    static: tuple[str, ...]
    carry: dict[int, str]
    carry_given: bool
    example: Callable[[int], Any] | None
    loss_and_grads: Callable[..., Any] | None
    loss_terms: Callable[..., Any] | None
    token_losses: Callable[..., Any] | None
    mesh: Any
    resumable: Callable[[str], Any] | None = None
    logical_axes: dict[str, list[str | None]] = field(default_factory=dict)

    @property
    def positional_names(self) -> tuple[str, ...]:
        return self.argument_names[: len(self.args)]

    def dynamic(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments without the static ones."""
        args = tuple(a for name, a in zip(self.positional_names, self.args, strict=True) if name not in self.static)
        return args, {name: value for name, value in self.kwargs.items() if name not in self.static}


def as_step(obj: Any, static: Sequence[str] | None = None) -> NormalisedStep:
    """Normalise whatever `build` returned. `static` is the contract's list, used where the object has none.

    Raises StepFailure that names the attribute at fault.
    """
    import jax

    fn = getattr(obj, "fn", None)
    if fn is None:
        raise StepFailure(
            f"build returned {_described(obj)}, which is no step: it has no attribute `fn`",
            help="return an object with fn, args and optionally kwargs, donate, static "
            "(contract_lint.runtime.step.Step, a dataclass, types.SimpleNamespace)",
        )
    if not callable(fn):
        raise StepFailure(f"the step's `fn` is a {type(fn).__name__}, which cannot be called")
    args = getattr(obj, "args", ())
    if not isinstance(args, (tuple, list)):
        raise StepFailure(
            f"the step's `args` is a {type(args).__name__}; expected a tuple with one entry for each argument"
        )
    kwargs = getattr(obj, "kwargs", None) or {}
    if not isinstance(kwargs, Mapping):
        raise StepFailure(f"the step's `kwargs` is a {type(kwargs).__name__}; expected a mapping")
    args, kwargs = tuple(args), dict(kwargs)
    names = _argument_names(fn, len(args), kwargs)
    by_equinox = filtered(fn)
    fn = unfiltered(fn)
    already_jitted = by_equinox is None and hasattr(fn, "trace") and hasattr(fn, "lower")
    given = getattr(obj, "static", None)
    # Position 0 is as good an entry as any, so emptiness is not asked by truth.
    static_names = _as_names("static", (static or ()) if given is None or given == () else given, names)
    donate_names = _as_names("donate", () if (donated := getattr(obj, "donate", None)) is None else donated, names)
    values = dict(zip(names, (*args, *kwargs.values()), strict=True))
    if by_equinox is not None:
        static_names = tuple(name for name in names if name in static_names or no_arrays(values[name]))
        takes = {name: by_equinox.donate_rest if i else by_equinox.donate_first for i, name in enumerate(names)}
        donate_names = tuple(name for name in names if takes[name] and name not in static_names)
    functions = {name: _optional_callable(obj, name) for name in _FUNCTIONS}
    always = by_equinox is not None
    if not already_jitted and (always or any(holds_objects(values[n]) for n in names if n not in static_names)):
        fn = taking_apart(fn, always)
        parted = {name: value if name in static_names else apart(value, always) for name, value in values.items()}
        args, kwargs = tuple(parted[name] for name in names[: len(args)]), {name: parted[name] for name in kwargs}
        functions = _taking_apart(functions, names[: len(args)], static_names, always)
    jitted = fn
    if not already_jitted:
        positional = names[: len(args)]
        jitted = jax.jit(
            fn,
            static_argnums=tuple(i for i, name in enumerate(positional) if name in static_names) or None,
            static_argnames=tuple(name for name in kwargs if name in static_names) or None,
            donate_argnums=tuple(i for i, name in enumerate(positional) if name in donate_names) or None,
            donate_argnames=tuple(name for name in kwargs if name in donate_names) or None,
        )
    carry = getattr(obj, "carry", None)
    return NormalisedStep(
        fn=fn,
        jitted=jitted,
        args=args,
        kwargs=kwargs,
        argument_names=names,
        donate=donate_names,
        static=static_names,
        carry=_carry(carry, donate_names, names),
        carry_given=carry is not None,
        mesh=getattr(obj, "mesh", None),
        resumable=_optional_callable(obj, "resumable"),
        logical_axes=_logical_axes(getattr(obj, "logical_axes", None)),
        **functions,
    )


def _logical_axes(value: Any) -> dict[str, list[str | None]]:
    entries = {} if value is None else value
    if isinstance(entries, Mapping) and all(
        isinstance(names, (tuple, list)) and all(name is None or isinstance(name, str) for name in names)
        for names in entries.values()
    ):
        return {str(path): list(names) for path, names in entries.items()}
    raise StepFailure("the step's `logical_axes` is no mapping from a path to one name, or None, for each dimension")


def _taking_apart(
    functions: Mapping[str, Any], names: Sequence[str], static: Sequence[str], always: bool
) -> dict[str, Any]:
    """The step's other functions for the same arguments as `fn`."""
    return {
        name: None
        if function is None
        else example_apart(function, names, static, always)
        if name == "example"
        else taking_apart(unfiltered(function), always)
        for name, function in functions.items()
    }


def _described(obj: Any) -> str:
    return "None" if obj is None else f"an object of type `{type(obj).__name__}`"


def _argument_names(fn: Any, count: int, kwargs: dict[str, Any]) -> tuple[str, ...]:
    """The parameter names of `fn` for `count` positional arguments, then the keyword names."""
    names: list[str] = []
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    for parameter in parameters:
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            names.extend(f"{parameter.name}{i}" for i in range(count - len(names)))
    if not parameters:
        names = [f"arg{i}" for i in range(count)]
    if len(names) < count:
        raise StepFailure(
            f"the step gives {count} positional arguments, but `{getattr(fn, '__name__', 'fn')}` takes {len(names)}: "
            f"({', '.join(names)})"
        )
    return (*names[:count], *kwargs)


def _as_names(attribute: str, value: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    """Names or positions, one or several, as names."""
    if not isinstance(value, (str, int, Iterable)):
        raise StepFailure(f"the step's `{attribute}` is {value!r}; expected names or positions of arguments")
    entries = [value] if isinstance(value, (str, int)) else list(value)
    found: list[str] = []
    for entry in entries:
        if isinstance(entry, int) and -len(names) <= entry < len(names):
            found.append(names[entry])
        elif isinstance(entry, str) and entry in names:
            found.append(entry)
        else:
            raise StepFailure(
                f"the step's `{attribute}` names {entry!r}, which is none of its arguments ({', '.join(names)})"
            )
    return tuple(found)


def _carry(value: Any, donate: tuple[str, ...], names: tuple[str, ...]) -> dict[int, str]:
    """Output position -> argument name. Default: output 0 replaces the first donated argument."""
    if value is None:
        return {0: donate[0]} if donate else {}
    if isinstance(value, str):
        value = [value]
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
    carry: dict[int, str] = {}
    for position, name in pairs:
        try:
            carry[int(position)] = _as_names("carry", name, names)[0]
        except (TypeError, ValueError, IndexError):
            raise StepFailure(
                f"the step's `carry` has {position!r}: {name!r}; expected an output position and an argument name"
            ) from None
    return carry


def _optional_callable(obj: Any, attribute: str) -> Any:
    value = getattr(obj, attribute, None)
    if value is not None and not callable(value):
        raise StepFailure(f"the step's `{attribute}` is a {type(value).__name__}, which cannot be called")
    return value
