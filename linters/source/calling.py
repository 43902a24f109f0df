"""What a value calls, what the call's arguments are to the callee, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .apis import layer_gives
from .callee import NOTHING, Callee, Wrapped
from .frozen import Frozen, is_summary, made_call
from .jit_options import Jitting, options_of
from .records import Call, Class
from .summary import FunctionSummary
from .transforms import POSITIONAL, TRANSFORMS, Transform
from .values.value import UNKNOWN, Value, dotted, spread

PARTIAL = frozenset({"functools.partial", "jax.tree_util.Partial", "equinox.Partial"})
PROPERTIES = frozenset({"builtins.property", "functools.cached_property"})
DEEPEST_RETURN = 4
Given = tuple[str, int]
"""Where a function is given to a parameter: the id of the function that calls, and which of its calls it is."""


class Calling(Jitting):
    """The part of `Program` about calls."""

    bindings: Mapping[tuple[str, int], Sequence[Given]]
    _bound_values: dict[tuple[str, int], list[Value]]
    _frozen_callees: dict[tuple[str, str], Callee]

    def callee(self, value: Value) -> Callee:
        """See callee.py. Remembered in the value."""
        found = value.callee
        if found is None:
            value.callee = NOTHING
            found = value.callee = self._callee(value)
        return found

    def plain_target(self, func: Frozen) -> str | None:
        """The id of the function that a call in a summary names without anything round it; None for all others."""
        if not func:
            return None
        if func[0] == "f":
            return func[1] if func[1] in self.function_data else None
        if func[0] != "n":
            return None
        target = self.resolve(func[1])
        return target.data if target is not None and target.op == "ref" and target.data in self.function_data else None

    def frozen_callee(self, func: Frozen, function: str) -> Callee:
        """The callee of a call in the summary of a function: names, functions and own methods are asked for once."""
        if not func:
            return NOTHING
        tag = func[0]
        key: tuple[str, str] | None = None
        if tag == "n" or tag == "f":
            key = (tag, func[1])
        elif tag == "." and func[1][:3] == ["p", "", 0]:
            owner = self.function_data[function][0].get("o")
            key = (func[2], owner) if owner is not None else None
        if key is None:
            return self.callee(self.thaw(func, self.function(function)))
        found = self._frozen_callees.get(key)
        if found is None:
            found = self._frozen_callees[key] = self.callee(self.thaw(func, self.function(function)))
        return found

    def forget(self) -> None:
        super().forget()
        self._bound_values.clear()

    def forget_names(self) -> None:
        super().forget_names()
        self._frozen_callees.clear()

    def bound(self, function: str, index: int) -> list[Value]:
        """The functions that the program's calls give to a parameter, in the order of the calls."""
        key = (function, index)
        found = self._bound_values.get(key)
        if found is None:
            found = self._bound_values[key] = []
            found += [value for given in self.bindings.get(key, ()) if (value := self._given(given, key)) is not None]
        return found

    def _given(self, given: Given, to: tuple[str, int]) -> Value | None:
        caller = self.function(given[0])
        target = self.function(to[0])
        if caller is None or target is None:
            return None
        call = self.thawed_call(caller.calls[given[1]], caller)
        return self.matched(self.callee(call.func), call.args, call.keywords).get(target.parameters[to[1]].name)

    def thawed_call(self, frozen: Frozen, function: FunctionSummary, func: Value | None = None) -> Call:
        """A call in a summary. `func` is what it calls, where that is known or does not matter."""
        called, args, keywords, line = frozen
        thaw = self.thaw
        given = {None if name == "**" else name: thaw(each, function) for name, each in keywords.items()}
        args = [thaw(each, function) for each in args]
        return made_call(function, thaw(called, function) if func is None else func, args, given, line)

    def _callee(self, value: Value) -> Callee:
        op = value.op
        if op == "name":
            return self._named(value.data)
        if op == "function":
            return Callee(value.data.id.replace(":", "."), value.data)
        if op == "class":
            return Callee(value.data.id.replace(":", "."), cls=value.data.id)
        if op == "ref":
            function = self.function(value.data)
            if function is not None:
                return Callee(value.data.replace(":", "."), function)
            return Callee(value.data.replace(":", "."), cls=value.data)
        if op == "call":
            return self._made(value)
        if op == "attr":
            return self._attribute(value)
        if op in ("phi", "loop"):
            found = [each for each in map(self.callee, value.args) if each.name is not None]
            return next((each for each in found if each.wraps), found[0]) if found else NOTHING
        if op == "item":
            part = self.item_of(value)
            return self.callee(part) if part is not None else NOTHING
        if op == "param":
            bound = self.bound(value.data.function.id, value.data.index)
            return self.callee(bound[0]) if len(bound) == 1 else NOTHING
        return NOTHING

    def _named(self, name: str) -> Callee:
        if name in TRANSFORMS or name in PARTIAL:
            return Callee(name)
        target = self.resolve(name)
        if target is None:
            return Callee(name)
        if target.op == "name":
            return Callee(target.data)
        found = self.callee(target)
        return found if found.name is not None else Callee(name)

    def _made(self, value: Value) -> Callee:
        """The callee of what a call gave: partial, a transform, a decorator, a factory, an instance."""
        call: Call = value.data
        maker = self.callee(call.func)
        name = maker.name
        if name in PARTIAL:
            return self._partial([*maker.bound, *call.args], {**maker.bound_keywords, **call.keywords})
        transform = TRANSFORMS.get(name) if name is not None and not maker.wraps else None
        if transform is not None and (transform.wraps or transform.transparent):
            return self._transformed(value, call, maker, transform)
        if call.decorates is not None and (maker.function is None or maker.name is None):
            return self.callee(call.args[0])
        if maker.cls is not None or (maker.function is None and name is not None and _is_class(name)):
            return self._instance_call(value, maker)
        if maker.function is not None and not maker.wraps:
            made = self.returned(value)
            if made is not None:
                found = self.callee(made)
                if found.name is not None:
                    return found
            if call.decorates is not None:
                return self.callee(call.args[0])
        return NOTHING

    def _partial(self, args: list[Value], keywords: Mapping[Any, Value]) -> Callee:
        if not args:
            return NOTHING
        inner = self.callee(args[0])
        return inner.with_(bound=(*inner.bound, *args[1:]), bound_keywords={**inner.bound_keywords, **keywords})

    def _transformed(self, value: Value, call: Call, maker: Callee, transform: Transform) -> Callee:
        args = [*maker.bound, *call.args]
        keywords = options_of({**maker.bound_keywords, **call.keywords})
        given = args[transform.functions[0]] if transform.functions and len(args) > transform.functions[0] else None
        if given is None:
            given = next((keywords[name] for name in transform.keywords if name in keywords), None)
        if given is None:
            return Callee(maker.name, bound=args, bound_keywords=keywords)
        inner = self.callee(given)
        if transform.transparent:
            if inner.name is None and maker.name == "functools.wraps":
                return Callee("functools.wraps")
            if maker.name == "functools.wraps" and call.decorates is None and maker.bound == ():
                # functools.wraps(f) is a decorator; what it is applied to is the function.
                return Callee("builtins.staticmethod")
            if maker.name == "builtins.classmethod":
                return inner.with_(bound=(UNKNOWN, *inner.bound))  # however it is reached, the class comes first
            return inner
        name = maker.name or ""
        keywords.update(zip(POSITIONAL.get(name, ()), args[1:], strict=False))
        if inner.name is None:
            inner = Callee(".function")
        return inner.with_(wraps=(Wrapped(name, keywords, _apart(value), inside=len(inner.bound)), *inner.wraps))

    def _instance_call(self, value: Value, maker: Callee) -> Callee:
        value = _apart(value)
        if maker.cls is not None:
            method = self.member(maker.cls, "__call__")
            if method is not None:
                inner = self.callee(method)
                return inner.with_(bound=(value, *inner.bound), instance=value)
        return Callee(f"{maker.name}.__call__", instance=value)

    def _attribute(self, value: Value) -> Callee:
        base, name = value.args[0], value.data
        base_name = dotted(value)
        if base_name is not None:
            return self._named(base_name)
        kind = self.type_of(base)
        if kind is not None:
            if kind in self.class_data:
                member = self.instance_member(kind, name)
                if member is not None:
                    found = self.callee(member)
                    if found.name is not None:
                        return self._bound(found, member, kind, name, base)
                declared = self.declared_type(kind, name)
                if declared is not None and declared.op == "ref" and declared.data in self.class_data:
                    method = self.member(declared.data, "__call__")
                    if method is not None:
                        return self.callee(method).with_(bound=(value,), instance=value)
                layer = dotted(declared) if declared is not None else None
                if layer is not None and layer_gives(f"{layer}.__call__") is not None:
                    return Callee(f"{layer}.__call__", instance=value)
            return Callee(f".{name}", instance=base)
        if base.op in ("class", "ref"):
            id = base.data.id if base.op == "class" else base.data
            member = self.member(id, name) if id in self.class_data else None
            if member is not None:
                return self.callee(member)
        return Callee(f".{name}", instance=base)

    def _bound(self, found: Callee, member: Value, kind: str, name: str, base: Value) -> Callee:
        """A method with its instance bound. What was stored on the object, or is static, has none."""
        owner = getattr(found.function, "owner", None)
        if owner is None or member.op not in ("ref", "call", "function"):
            return found
        method = self._kind_of_method(member)
        if method == "builtins.staticmethod":
            return found
        if method == "builtins.classmethod":
            return found.with_(instance=base)  # its class is bound already
        if member.op == "call" and member.data.decorates is None and found.instance is not None:
            return found  # stored as a bound method already
        stored = any(each in self.class_data and name in self.class_data[each][0]["s"] for each in self.lineage(kind))
        if stored:
            return found
        return found.with_(bound=(base, *found.bound), instance=base)

    def _kind_of_method(self, member: Value) -> str | None:
        """The decorator of Python's own that says what a method is called with."""
        while member.op == "call" and member.data.args:
            name = dotted(member.data.func)
            if name in ("builtins.staticmethod", "builtins.classmethod"):
                return name
            member = member.data.args[0]
        return None

    def type_of(self, value: Value, depth: int = 0) -> str | None:
        """The class that a value is an instance of: an id of the project, or a dotted name."""
        if depth > 4:
            return None
        op = value.op
        if op == "param":
            parameter = value.data
            owner = getattr(parameter.function, "owner", None)
            if parameter.index == 0 and owner is not None:
                return owner.id if isinstance(owner, Class) else owner
            return self.class_named(parameter.annotation)
        if op == "call":
            call: Call = value.data
            maker = self.callee(call.func)
            if maker.cls is not None:
                return maker.cls
            if maker.name is not None and maker.function is None and not maker.wraps and _is_class(maker.name):
                return maker.name
            return None
        if op == "attr":
            owner = self.type_of(value.args[0], depth + 1)
            if owner is not None and owner in self.class_data:
                declared = self.declared_type(owner, value.data)
                if declared is not None:
                    return self.class_named(declared)
                member = self.instance_member(owner, value.data)
                if member is not None and member.op in ("call", "param"):
                    return self.type_of(member, depth + 1)
        return None

    def class_named(self, annotation: Value) -> str | None:
        """The class that an annotation names."""
        if annotation.op == "class":
            return annotation.data.id
        if annotation.op == "ref":
            return annotation.data
        name = dotted(annotation)
        if name is None:
            return None
        target = self.resolve(name)
        if target is None:
            return name
        return target.data if target.op in ("ref", "name") else None

    # Arguments and results

    def arguments(self, call: Call, callee: Callee | None = None) -> dict[str, Value]:
        """The arguments by the callee's parameter names."""
        callee = callee or self.callee(call.func)
        if callee.function is None:
            return {}
        return self.matched(callee, call.args, call.keywords)

    def matched(self, callee: Callee, args: list[Value], keywords: Mapping[Any, Value]) -> dict[str, Value]:
        """Bound and given arguments by parameter name; those behind a star are left out."""
        found: dict[str, Value] = {}
        function = callee.function
        if function is None:
            return found
        positional = [each for each in function.parameters if each.kind == "positional"]
        for parameter, value in zip(positional, spread((*callee.bound, *args)), strict=False):
            if value.op == "star":
                break
            found[parameter.name] = value
        for name, value in (*callee.bound_keywords.items(), *keywords.items()):
            if name:
                found[name] = value
        return found

    def returned(self, value: Value) -> Value | None:
        """What the call of a project function gives back, in terms of its arguments."""
        if value.op != "call":
            return None
        call: Call = value.data
        callee = self.callee(call.func)
        function = callee.function
        generation = call.order + 1 if is_summary(call) else 1
        if function is None or callee.wraps or generation > DEEPEST_RETURN:
            return None
        key = id(value)
        if key in self._returned:
            return self._returned[key][1]
        summary = function if isinstance(function, FunctionSummary) else self.function(function.id)
        frozen = summary.data.get("r") if summary is not None else None
        made = None
        if frozen and not getattr(function, "is_async", False):
            bind = {}
            given = self.matched(callee, call.args, call.keywords)
            for parameter in function.parameters:
                bound = given.get(parameter.name, parameter.default)
                bind[(function.id, parameter.index)] = bound if bound is not None else UNKNOWN
            made = self.thaw(frozen, call.function, bind, generation, function.id)
        self._returned[key] = (value, made)
        return made

    def property_value(self, kind: str, name: str) -> Value | None:
        """What a property of a class gives, in terms of its object; None where there is none, or that is not known."""
        member = self.member(kind, name)
        if member is None or member.op != "call" or dotted(member.data.func) not in PROPERTIES or not member.data.args:
            return None
        callee = self.callee(member.data.args[0])
        summary = self.function(callee.function.id) if callee.function is not None and not callee.wraps else None
        frozen = summary.data.get("r") if summary is not None else None
        return self.thaw(frozen, summary) if frozen else None

    _returned: dict[int, tuple[Value, Value | None]]

    def item_of(self, value: Value) -> Value | None:
        """The element that an `item` value is, where the container is returned by a project function or in sight."""
        container, index = value.args
        if index.op != "const":
            return None
        made = self.returned(container) if container.op == "call" else container
        if made is None:
            return None
        if made.op in ("tuple", "list") and type(index.data) is int and -len(made.args) <= index.data < len(made.args):
            starred = any(each.op == "star" for each in made.args)
            return None if starred else made.args[index.data]
        if made.op == "dict":
            for key, each in zip(made.data, made.args, strict=True):
                if key is not None and key.op == "const" and key.data == index.data:
                    return each
        return None


def _apart(value: Value) -> Value:
    """A value of a summary again, that remembers no callee: one that holds the value would be a circle."""
    return Value("call", value.node, (), value.data) if is_summary(value.data) else value


def _is_class(name: str) -> bool:
    last = name.rpartition(".")[2]
    return last[:1].isupper() and not last.isupper()
