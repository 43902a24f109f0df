"""What a value is: tracer, static, host, device, key. Asked for lazily, remembered in the value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .apis import (
    ARRAY_ATTRIBUTES,
    ARRAY_METHODS,
    CONSTANTS,
    HOST_METHODS,
    STATIC_ATTRIBUTES,
    SURE_ARRAY_METHODS,
    TREE_METHODS,
    layer_gives,
    result_of,
)
from .records import Call
from .transforms import TRANSFORMS
from .values.value import Value, dotted

TRACERS = frozenset({"array", "traced"})
_ON_DEVICE = ("device", "eager")
_APPLIED = frozenset({".apply", ".apply_fn"})
"""Methods that run a model with the parameters that come first."""
CONTAINERS = frozenset({"tuple", "list", "set", "dict", "comp"})


class Kinds:
    """The part of `Program` that answers `kind`. It needs `callee`, `traced`, `returned` and `resolve` of it."""

    callee: Any
    traced: Any
    returned: Any
    resolve: Any
    type_of: Any
    matched: Any
    item_of: Any
    module_kind: Any

    def __init__(self) -> None:
        self._heads = 0
        self._provisional: list[Value] = []
        self._kinds_returned: dict[Any, str] = {}

    def kind(self, value: Value) -> str:
        """See `facts`. A loop's value is assumed to be what came before while the round is looked at."""
        known = value.kind
        if known is not None:
            return known
        op = value.op
        if op == "loop":
            return self._loop(value)
        value.kind = "unknown"  # what refers to itself otherwise than by a loop stays unknown
        found = getattr(self, f"_kind_{op}")(value)
        value.kind = found
        if self._heads:
            self._provisional.append(value)
        return found

    def _loop(self, value: Value) -> str:
        before = value.kind = self.kind(value.args[0])
        self._heads += 1
        after = self.kind(value.args[1])
        self._heads -= 1
        if before == "static" and after == "array":
            found = "array"  # 0.0 before the first round, an array from then on
        else:
            found = before if before == after else self._met((before, after))
        value.kind = found
        if self._heads:
            self._provisional.append(value)
        else:
            for each in self._provisional:
                each.kind = None
            self._provisional.clear()
        return found

    @staticmethod
    def _met(kinds: Iterable[str]) -> str:
        """What a value is that is any of these."""
        found = set(kinds)
        if len(found) == 1:
            return found.pop()
        if found <= TRACERS:
            return "traced"
        if found <= {"device", "eager"}:
            return "eager"
        if found <= {"static", "host"}:
            return "host"
        return "unknown"

    def held(self, value: Value, depth: int = 3) -> set[str]:
        """The kinds of a value and of what it holds, where it is a container in sight."""
        if value.op in CONTAINERS and depth:
            found: set[str] = set()
            elements = value.args[:1] if value.op == "comp" else value.args[:32]
            for each in elements:
                found |= self.held(each, depth - 1)
            return found
        if value.op == "updated" and depth:
            return self.held(value.args[0], depth - 1) | self.held(value.args[1], depth - 1)
        return {self.kind(value)}

    # By op

    def _kind_const(self, value: Value) -> str:
        return "static"

    def _kind_name(self, value: Value) -> str:
        if value.data in CONSTANTS:
            return "static"
        target = self.resolve(value.data)
        if target is not None:
            return self.kind(target)
        return "callable" if result_of(value.data) or value.data in TRANSFORMS else "unknown"

    def _kind_function(self, value: Value) -> str:
        return "callable"

    _kind_class = _kind_ref = _kind_function

    def _kind_param(self, value: Value) -> str:
        traced = self.traced(value.data.function)
        state = traced.parameters.get(value.data.name) if traced else None
        return state if state in ("traced", "static") else "unknown"

    def _kind_attr(self, value: Value) -> str:
        name = value.data
        if name in STATIC_ATTRIBUTES:
            return "static"
        base = self.kind(value.args[0])
        if base in ("array", "traced", "eager"):
            return base if name in ARRAY_ATTRIBUTES else "unknown"
        return base if base in ("static", "host", "device", "key") else "unknown"

    def _kind_item(self, value: Value) -> str:
        container, index = value.args
        base = self.kind(container)
        if base == "traced" and container.op == "call" and self.is_mapped_apart(container, index):
            return "unknown"
        if base in ("array", "traced", "static", "device", "key"):
            return base
        if base == "container":
            return self._element(container)
        at = self.kind(index)
        if base in ("host", "eager"):
            return "array" if at in TRACERS else base
        if container.op == "call":
            part = self.item_of(value)
            if part is not None:
                return self.kind(part)
        return "unknown"

    def is_mapped_apart(self, container: Value, index: Value) -> bool:
        """Whether an element is what tree.map made of something that is no tracer, beside others that are."""
        call: Call = container.data
        if index.op != "const" or len(call.args) < 2 or result_of(dotted(call.func) or "") != "mapped":
            return False
        trees = call.args[1:]
        if not all(each.op in ("tuple", "list") for each in trees) or type(index.data) is not int:
            return False
        parts = [each.args[index.data] for each in trees if -len(each.args) <= index.data < len(each.args)]
        return bool(parts) and not any(self.held(part) & TRACERS for part in parts)

    def _element(self, container: Value) -> str:
        """The kind that all elements of a container in sight share."""
        op = container.op
        if op == "comp":
            return self.kind(container.args[0])
        if op in CONTAINERS:
            return self._met(self.kind(each) for each in container.args[:32]) if container.args else "unknown"
        if op == "updated":
            return self._met((self._element(container.args[0]), self.kind(container.args[1])))
        if op == "phi":
            return self._met(self._element(each) for each in container.args)
        return "unknown"

    def _kind_slice(self, value: Value) -> str:
        return "static"

    def _kind_bin(self, value: Value) -> str:
        left, right = value.args
        if left.op == "const" and type(left.data) in (str, bytes):
            return "static"
        kinds = (self.kind(left), self.kind(right))
        if "array" in kinds:
            return "array"
        if "traced" in kinds:
            other = kinds[1] if kinds[0] == "traced" else kinds[0]
            if other == "container" or left.op in ("list", "tuple") or right.op in ("list", "tuple"):
                return "unknown"
            return "traced" if other == "unknown" and value.data in ("Add", "BitOr") else "array"
        if "unknown" in kinds or "callable" in kinds:
            return "unknown"
        for kind in ("device", "eager", "key"):
            if kind in kinds:
                return kind
        if "container" in kinds:
            return "container"
        return "host" if "host" in kinds else "static"

    def _kind_compare(self, value: Value) -> str:
        operators = value.data
        if any(op in ("Is", "IsNot", "In", "NotIn") for op in operators):
            return "static"
        args = value.args
        if any(arg.op == "const" and not isinstance(arg.data, (int, float, complex)) for arg in args):
            return "static"
        kinds = [self.kind(arg) for arg in args]
        if any(op in ("Eq", "NotEq") for op in operators) and "array" not in kinds:
            # Tree structures, enumerations and strings are compared too.
            sure = all(kind in ("traced", "eager") or arg.op == "const" for kind, arg in zip(kinds, args, strict=True))
            if "traced" in kinds:
                return "array" if sure else "unknown"
        if "array" in kinds:
            return "array"
        if "traced" in kinds:
            return "unknown" if "container" in kinds else "array"
        if "unknown" in kinds or "callable" in kinds:
            return "unknown"
        for kind in _ON_DEVICE:
            if kind in kinds:
                return kind
        return "host" if "host" in kinds else "static"

    def _kind_bool(self, value: Value) -> str:
        return self._met(self.kind(each) for each in value.args)

    def _kind_unary(self, value: Value) -> str:
        if value.data == "Not":
            return "static"
        kind = self.kind(value.args[0])
        return "array" if kind == "traced" else kind

    def _kind_tuple(self, value: Value) -> str:
        args = value.args if value.op != "comp" else value.args[:1]
        return "static" if all(self.kind(each) == "static" for each in args[:32]) else "container"

    _kind_list = _kind_set = _kind_dict = _kind_comp = _kind_tuple

    def _kind_format(self, value: Value) -> str:
        return "static"

    def _kind_phi(self, value: Value) -> str:
        return self._met(self.kind(each) for each in value.args)

    def _kind_element(self, value: Value) -> str:
        container = value.args[0]
        kind = self.kind(container)
        return self._element(container) if kind == "container" else kind

    def _kind_enter(self, value: Value) -> str:
        return "unknown"

    def _kind_star(self, value: Value) -> str:
        return self.kind(value.args[0])

    def _kind_updated(self, value: Value) -> str:
        old = self.kind(value.args[0])
        return "container" if old in ("container", "static") else old

    def _kind_unknown(self, value: Value) -> str:
        return "unknown"

    def _kind_sketch(self, value: Value) -> str:
        kind, function = value.data
        if kind != "array":
            return kind
        traced = self.traced(function)
        return "eager" if traced is None else "array" if traced.staged else "unknown"

    # Calls

    def _kind_call(self, value: Value) -> str:
        call: Call = value.data
        callee = self.callee(call.func)
        traced = self.traced(call.function)
        staged = traced is not None and traced.staged
        if callee.wraps:
            if traced is not None:
                return "traced" if staged or self._any_tracer(call) else "unknown"
            return "device" if callee.jit else "unknown"
        name = callee.name
        if name is None:
            # What can be called and is traced all the same is a module, a pytree of arrays.
            return "traced" if self.kind(call.func) == "traced" else "unknown"
        if name in _APPLIED and self._runs_model(call, callee.instance):
            return "traced" if staged or self._any_tracer(call) else "unknown"
        if name.startswith("."):
            return self._method(value, call, name[1:], staged)
        if callee.function is not None or callee.cls is not None:
            return self._returned_kind(value, call, callee, staged)
        layer = layer_gives(name)
        if layer is not None:
            return layer if staged or self._any_tracer(call) else "unknown"
        result = result_of(name)
        if result is None or result in ("unknown", "callable"):
            return result or "unknown"
        if result in ("static", "key", "host"):
            return self._same(call) if result == "host" and name == "jax.device_get" and traced else result
        if result == "array":
            if staged or self._any_tracer(call):
                return "array"
            return "eager" if traced is None else "unknown"
        if result == "outputs":
            if name == "jax.lax.psum" and call.args and self.kind(call.args[0]) == "static":
                return "static"  # the number of devices along an axis, as a Python number
            if staged or self._any_tracer(call):
                return "traced"
            return "eager" if traced is None and not name.startswith("functools") else "unknown"
        if result == "same":
            return self._same(call)
        if result == "second":
            return self.kind(call.args[1]) if len(call.args) > 1 else "unknown"
        return self._collected(call, result)

    def _returned_kind(self, value: Value, call: Call, callee: Any, staged: bool) -> str:
        """What a project function gives for arguments of these kinds; asked once for each combination."""
        if callee.function is None:
            return "unknown"
        given = self.matched(callee, call.args, call.keywords)
        kinds = tuple(sorted((name, self.kind(each)) for name, each in given.items()))
        key = (callee.function.id, staged, self.traced(call.function) is not None, kinds)
        found = self._kinds_returned.get(key)
        if found is None:
            self._kinds_returned[key] = "unknown"
            made = self.returned(value)
            found = self.kind(made) if made is not None else "unknown"
            self._kinds_returned[key] = found
        return found

    def _same(self, call: Call) -> str:
        return self.kind(call.args[0]) if call.args else "unknown"

    def _any_tracer(self, call: Call) -> bool:
        return any(self.held(arg) & TRACERS for arg in (*call.args, *call.keywords.values()))

    def _collected(self, call: Call, result: str) -> str:
        """Collections, pytrees, and reductions of their elements."""
        args = call.args[1:] if result == "mapped" else call.args
        held: set[str] = set()
        for arg in args:
            held |= self.held(arg)
        if not held:
            return "container" if result == "collection" else "unknown"
        if result == "reduced" and held & TRACERS:
            return "array" if "unknown" not in held else "traced"
        if held & TRACERS:
            # The elements of what may be a dictionary are its keys.
            plain = result == "collection" and len(args) == 1 and self.kind(args[0]) == "traced"
            return "unknown" if plain else "traced"
        if held == {"static"}:
            return "static" if result != "collection" or call.args else "container"
        for kind in ("device", "eager", "key", "host"):
            if kind in held and held <= {kind, "static", "callable"}:
                return kind
        return "unknown"

    def _method(self, value: Value, call: Call, name: str, staged: bool) -> str:
        func = call.func
        if func.op != "attr":
            return "unknown"
        base = self.kind(func.args[0])
        if base == "traced" and func.args[0].op == "item" and func.args[0].args[0].data == "at":
            return "array"  # x.at[index].set(value)
        if name in HOST_METHODS:
            return "host" if base != "static" else "static"
        if base == "array":
            return "array" if name in ARRAY_METHODS else "unknown"
        if base == "traced":
            if name in SURE_ARRAY_METHODS:
                return "array"
            return "traced" if name in TREE_METHODS else "unknown"
        if base == "eager":
            if name in ARRAY_METHODS:
                return "array" if staged else "eager"
            return "unknown"
        if base == "device":
            return (
                "device" if name in ARRAY_METHODS or name in TREE_METHODS or name == "block_until_ready" else "unknown"
            )
        if base == "container":
            return (
                self._element(func.args[0]) if name in ("get", "pop") else "container" if name == "items" else "unknown"
            )
        if base == "host":
            return "host"
        if base == "static":
            return "static"
        # What a module is given and has the methods of an array is one.
        return "array" if staged and name in SURE_ARRAY_METHODS and self.is_input(func.args[0]) else "unknown"

    def _runs_model(self, call: Call, model: Value | None) -> bool:
        """Whether `apply` is that of a model: a Flax module in sight, or what takes traced parameters and more."""
        kind = self.type_of(model) if model is not None else None
        if kind is not None and self.module_kind(kind) == "flax.linen.Module":
            return True
        return len(call.args) > 1 and bool(self.held(call.args[0]) & TRACERS)

    def is_input(self, value: Value, depth: int = 0) -> bool:
        """Whether it is what a module's method is given, a part of that, or the result of an operation on it."""
        op = value.op
        if depth > 6:
            return False
        if op == "param":
            traced = self.traced(value.data.function)
            return traced is not None and traced.parameters.get(value.data.name) == "input"
        if op in ("item", "loop"):  # what a loop begins with
            return self.is_input(value.args[0], depth + 1)
        if op in ("bin", "unary", "compare"):
            plain = op != "compare" or not {"Is", "IsNot", "In", "NotIn"} & set(value.data)
            return plain and value.data != "Not" and any(self.is_input(each, depth + 1) for each in value.args)
        return op == "phi" and all(self.is_input(each, depth + 1) for each in value.args)
