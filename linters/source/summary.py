"""What other files need to know of one file: small, JSON, a function of its content and module name alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from .apis import is_library, result_of, starts_backend
from .axes import axes_bound
from .caught import expected_refusals, handed_to
from .fixed import asked_parameters
from .frozen import Freezer, Frozen
from .packed import Packed
from .processes import met
from .records import Call, Class, Function, Module
from .sketch import Sketcher
from .syncs import read_parameters
from .text import is_test_path
from .transforms import RULE_METHODS, TRANSFORMS
from .values.value import NONE, Parameter, Value, dotted

_X64 = frozenset({"jax.config.update", "jax.enable_x64", "jax.experimental.enable_x64", "jax.config.config.update"})
RETURNED = 48
ARGUMENT = 16
EXPORTED = 40
HIGHER_ORDER = frozenset(
    {
        "jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map", "jax.tree_util.tree_map_with_path",
        "jax.tree.map_with_path",
        "builtins.map", "functools.reduce", "functools.partial", "jax.tree_util.Partial", "builtins.filter",
    }
)  # fmt: skip


@dataclass(slots=True)
class FileSummary:
    """`data` is JSON, packed; see `summarise` for its keys."""

    path: str
    module: str
    data: Packed

    @property
    def outward(self) -> str:
        """The name of what it says to other files: no lines, and of calls only what is handed a parameter."""
        return self.data["outward"]


class FunctionSummary:
    """A function of another file, or of this one as others see it: a `callee.Signature`."""

    def __init__(self, id: str, file: FileSummary, thaw: Any) -> None:
        self.id = id
        self.file = file
        self._thaw: Any = thaw
        self._parameters: list[Parameter] | None = None

    @property
    def data(self) -> dict[str, Any]:
        return self.file.data["functions"][self.id]

    @property
    def name(self) -> str:
        return self.data["n"]

    @property
    def line(self) -> int:
        return self.data["l"]

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def owner(self) -> str | None:
        return self.data.get("o")

    @property
    def parent(self) -> str | None:
        return self.data.get("u")

    @property
    def calls(self) -> list[Any]:
        return self.data["c"]

    @property
    def parameters(self) -> list[Parameter]:
        if self._parameters is None:
            thaw = self._thaw
            self._parameters = [
                Parameter(self, at, name, kind, thaw(default) if default is not None else None, thaw(annotation))
                for at, (name, kind, default, annotation) in enumerate(self.data["p"])
            ]
        return self._parameters

    def forget(self) -> None:
        """Makes the parameters anew when they are asked for: what was remembered in their values may not hold."""
        self._parameters = None

    def close(self) -> None:
        """Lets go of the program and of the parameters, which lead back here."""
        self._thaw, self._parameters = None, None

    def __repr__(self) -> str:
        return self.id


class ClassSummary:
    """A class: bases and members as frozen values."""

    def __init__(self, id: str, file: FileSummary) -> None:
        self.id = id
        self.file = file

    @property
    def data(self) -> dict[str, Any]:
        return self.file.data["classes"][self.id]


def summarise(module: Module) -> FileSummary:
    """The summary of an interpreted file.

    `exports`: what each global is; `stars`: modules imported with `*`; `functions` by id: name `n`, lines `l` to `e`,
    parameters `p` (name, kind, default, annotation), decorators `d`, what is returned `r`, owner class `o`, enclosing
    function `u`, calls that matter to others `c` (func, arguments as `sketch` says, keywords, line), which of those
    may hand functions on `t`, which stand in loops `w`, which are made only under a condition that parameters decide
    `q` (the number of the call, conditions with their arms), which stand where an error is expected or calls what is
    given as an argument there `x` (number, errors, argument), the first of its calls that starts a backend `b`, keys it
    consumes `k` (parameter names), parameters whose numbers it reads on the host `y`,
    its first call that waits for all processes `m`;
    `classes` by id: bases `b`, decorators `d`, methods `m`, attributes `a`, self attributes `s`, annotations `t`;
    `x64` where the file has to do with JAX's mode of 64 bits, `axes` that it binds, `distributed` where it calls
    `jax.distributed.initialize`.
    """
    freezer = Freezer()
    freeze, sketch = freezer.freeze, Sketcher(freezer).sketch
    functions: dict[str, Any] = {}
    for function in module.functions:
        freezer.home = function.id
        functions[function.id] = _function(function, freeze, sketch)
    freezer.home = ""
    classes = {each.id: _class(each, freeze) for each in module.classes}
    exports = {name: freeze(value, EXPORTED) for name, value in module.exports.items()}
    data: dict[str, Any] = {
        "exports": {name: value for name, value in exports.items() if value},
        "stars": module.stars,
        "imports": sorted(module.imports),
        "package": module.is_package,
        "functions": functions,
        "classes": classes,
    }
    if _turns_64_bits_on(module):
        data["x64"] = True
    axes = axes_bound(module)
    if axes is not None:
        data["axes"] = axes
    if "distributed" in module.source.text and any(
        (dotted(call.func) or "").endswith("distributed.initialize") for each in module.functions for call in each.calls
    ):
        data["distributed"] = True
    data["outward"] = _outward(data)
    return FileSummary(module.source.path, module.name, Packed.of(data))


def _outward(data: dict[str, Any]) -> str:
    functions = {
        id: [*(function.get(key) for key in "npdrougbkym"), [call[:3] for call in function["c"] if hands_on(call)]]
        for id, function in data["functions"].items()
        if function["n"] != "<module>"
    }
    classes = {id: {key: value for key, value in each.items() if key != "l"} for id, each in data["classes"].items()}
    told = [functions, classes, data["exports"], data["stars"], data["package"]]
    return blake2b(json.dumps(told, separators=(",", ":")).encode(), digest_size=10).hexdigest()


def hands_on(call: list[Any]) -> bool:
    """Whether a call is given a parameter as it is: what uses that up counts for who calls."""
    return any(each and each[0] == "p" for each in (*call[1], *call[2].values()))


def _turns_64_bits_on(module: Module) -> bool:
    """Whether code that is no test turns JAX's mode of 64 bits on."""
    source = module.source
    if "x64" not in source.text.lower() or is_test_path(source.path):
        return False
    if "JAX_ENABLE_X64" in source.text:
        return True
    for call in (call for function in module.functions for call in function.calls):
        name = dotted(call.func)
        if name in _X64:
            first, second = call.argument(0), call.argument(1)
            off = (second if name.endswith("update") else first) or NONE
            named = not name.endswith("update") or (first is not None and first.data == "jax_enable_x64")
            if named and (off is NONE or off.op != "const" or off.data):
                return True
    return False


def _function(function: Function, freeze: Any, sketch: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"n": function.name, "l": function.line, "e": getattr(function.node, "end_lineno", 0)}
    found["p"] = [
        [
            each.name,
            each.kind,
            freeze(each.default, ARGUMENT) if each.default is not None else None,
            freeze(each.annotation, 6) if each.annotation.op != "unknown" else 0,
        ]
        for each in function.parameters
    ]
    if function.decorators:
        found["d"] = [freeze(each, ARGUMENT) for each in function.decorators]
    if function.is_generator:
        found["g"] = True
    else:
        returned = _returned(function)
        if returned is not None:
            frozen = freeze(returned, RETURNED)
            if frozen:
                found["r"] = frozen
    if function.owner is not None:
        found["o"] = function.owner.id
    if function.parent is not None:
        found["u"] = function.parent.id
    tested = {call: handed for call in function.calls if (handed := handed_to(call)) is not None}
    kept = [call for call in function.calls if call in tested or matters(call)]
    found["c"] = [_call(call, freeze, sketch) for call in kept]
    leading = [at for at, call in enumerate(kept) if leads(call)]
    if leading:
        found["t"] = leading
    looped = [at for at, call in enumerate(kept) if call.block.loop is not None]
    if looped:
        found["w"] = looped
    guarded = [[at, conditions] for at, call in enumerate(kept) if (conditions := _conditions(call, freeze))]
    if guarded:
        found["q"] = guarded
    expected = [[at, errors, None] for at, call in enumerate(kept) if (errors := expected_refusals(call.block))]
    expected += [[at, tested[call][1], tested[call][0]] for at, call in enumerate(kept) if call in tested]
    if expected:
        found["x"] = expected
    started = next((call for call in function.calls if starts_backend(dotted(call.func))), None)
    if started is not None:
        found["b"] = dotted(started.func)
    keys = sorted({name for call in function.calls if (name := _consumed(call, function)) is not None})
    if keys:
        found["k"] = keys
    waits = met(function)
    if waits is not None:
        found["m"] = waits
    read = read_parameters(function)
    if read:
        found["y"] = read
    return found


def _returned(function: Function) -> Value | None:
    values = [each.value for each in function.returns if each.kind != "end"]
    if not values:
        return None
    return values[0] if len(values) == 1 else Value("phi", None, tuple(values[:4]))


def _consumed(call: Call, function: Function) -> str | None:
    """The name of the parameter that a call of jax.random uses as a key."""
    name = dotted(call.func) or ""
    if not name.startswith("jax.random.") or name.rpartition(".")[2] in (
        "key",
        "PRNGKey",
        "fold_in",
        "clone",
        "key_data",
    ):
        return None
    key = call.argument(0, "key")
    return key.data.name if key is not None and key.op == "param" and key.data.function is function else None


def matters(call: Call) -> bool:
    """Whether a call can lead the program's analysis to a function: that of a library leads to what it is given."""
    func = call.func
    name = dotted(func)
    if name is None:
        if func.op == "attr":
            base = func.args[0]
            if func.data in RULE_METHODS:
                return True
            if base.op == "param":
                data = base.data
                return data.index == 0 or data.annotation.op in ("name", "class")
            return base.op in ("call", "attr", "phi", "class", "ref") and func.data not in _COMMON
        return func.op != "unknown"
    return name in TRANSFORMS or name in HIGHER_ORDER or not (is_library(name) or result_of(name) is not None)


_COMMON = frozenset(
    {
        "append", "astype", "sum", "mean", "reshape", "items", "keys", "values", "get", "format", "join", "split",
        "startswith",
        "endswith", "lower", "upper", "replace", "strip", "transpose", "set", "add", "max", "min", "all", "any",
        "copy", "pop",
        "extend", "update", "info", "warning", "debug", "write", "read", "item", "squeeze", "flatten", "ravel", "dot",
    }
)  # fmt: skip


def _call(call: Call, freeze: Any, sketch: Any) -> list[Frozen]:
    whole = leads(call)
    keywords = {name or "**": freeze(each, ARGUMENT) if whole else sketch(each) for name, each in call.keywords.items()}
    args = [sketch(value) for value in call.args]
    return [freeze(call.func, ARGUMENT), args, keywords, getattr(call.node, "lineno", 0)]


def _conditions(call: Call, freeze: Any) -> list[Frozen]:
    """The conditions round a call that parameters of its function decide, each with the arm that it stands in."""
    return [
        [frozen, arm]
        for guard, arm in call.block.guards()
        if arm in ("then", "else")
        and any(asked.data.function is call.function for asked in asked_parameters(guard))
        and (frozen := freeze(guard, ARGUMENT))
    ]


def leads(call: Call) -> bool:
    """Whether a call may hand a function on: to a transform, to a rule of differentiation, to a parameter."""
    name = dotted(call.func)
    if name in TRANSFORMS or (call.func.op == "attr" and call.func.data in RULE_METHODS):
        return True
    if call.func.op == "call" and dotted(call.func.data.func) in _PARTIALS:
        return True
    return any(_is_function(value) for value in (*call.args, *call.keywords.values()))


def _is_function(value: Value) -> bool:
    op = value.op
    if op == "name":
        return not is_library(value.data)
    if op == "attr":
        return value.args[0].op == "param" and value.args[0].data.index == 0
    if op == "call":
        name = dotted(value.data.func)
        return value.data.decorates is not None or name in TRANSFORMS or name in _PARTIALS
    if op == "phi":
        return any(_is_function(each) for each in value.args if each.op != "phi")
    return op == "function"


_PARTIALS = frozenset({"functools.partial", "jax.tree_util.Partial"})


def _class(each: Class, freeze: Any) -> dict[str, Any]:
    return {
        "n": each.name,
        "l": getattr(each.node, "lineno", 0),
        "b": [freeze(base, 8) for base in each.bases],
        "d": [freeze(decorator, 8) for decorator in each.decorators],
        "m": {name: method.id for name, method in each.methods.items()},
        "a": {
            name: frozen
            for name, value in each.attributes.items()
            if value.op != "function" and (frozen := freeze(value, ARGUMENT))
        },
        "s": {name: [freeze(value, ARGUMENT) for value in values[:2]] for name, values in each.self_attributes.items()},
        "t": {name: freeze(value, 6) for name, value in each.annotations.items()},
    }
