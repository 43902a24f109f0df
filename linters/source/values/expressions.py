"""Expressions: each gives a Value and leaves records of calls, branches, subscripts and arithmetic."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, cast

from ..records import Arithmetic, Block, Branch, Function, Item, Loop, Mention, Return, Store
from ..removals import NOTED
from .assigned import AMBIGUOUS, MUTATORS
from .renewed import Renewed
from .state import Scope
from .value import NONE, UNKNOWN, Parameter, Value, dotted

_SAME_ELEMENTS = {"builtins.reversed", "builtins.sorted", "builtins.list", "builtins.tuple", "builtins.iter"}


class Expressions(Renewed):
    """Evaluates expressions in the current state."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.evaluators: dict[type, Callable[[Any], Value]] = {
            kind: getattr(self, f"_{kind.__name__.lower()}")
            for kind in (
                ast.Name, ast.Attribute, ast.Constant, ast.Call, ast.BinOp, ast.Compare, ast.BoolOp, ast.UnaryOp,
                ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.IfExp, ast.Lambda, ast.JoinedStr,
                ast.FormattedValue, ast.Starred, ast.NamedExpr, ast.ListComp, ast.SetComp, ast.DictComp,
                ast.GeneratorExp, ast.Await, ast.Yield, ast.YieldFrom,
            )
        }  # fmt: skip

    def evaluate(self, node: ast.expr) -> Value:
        evaluator = self.evaluators.get(type(node))
        return evaluator(node) if evaluator else Value("unknown", node)

    def _name(self, node: ast.Name) -> Value:
        value = self.env.get(node.id)
        if value is None:
            value = self.lookup(node.id, node)
        if value.op not in ("name", "function", "class", "unknown"):
            self.read(node, value)
        return value

    def _attribute(self, node: ast.Attribute) -> Value:
        base = self.evaluators[type(node.value)](node.value)
        of_self = base.op == "param" and base.data.index == 0
        value = (self._own_property(node, base) if of_self else None) or self.attribute(base, node.attr, node)
        if value.op == "name":
            if value.data in NOTED:
                self.mention(node, value.data, "attribute")
        elif base.op == "param" and value.op == "attr":
            self.function.attributes.append(value)
        return value

    def _own_property(self, node: ast.Attribute, base: Value) -> Value | None:
        """What a property of the method's own object gives: code that runs, so each time another value."""
        owner = base.data.function.owner
        method = owner.methods.get(node.attr) if owner is not None else None
        if method is None or not any(dotted(each) == "builtins.property" for each in method.decorators):
            return None
        value = Value("attr", node, (base,), node.attr)
        value.loop = self.loop
        return value

    def mention(self, node: ast.AST, name: str, how: str) -> None:
        """Records that a noted name is written here."""
        self.order += 1
        self.module.mentions.append(Mention(node, self.block, self.function, self.order, self.statement, name, how))

    def _constant(self, node: ast.Constant) -> Value:
        return Value("const", node, (), node.value)

    def _call(self, node: ast.Call) -> Value:
        func = self.evaluate(node.func)
        evaluate = self.evaluate
        args = [evaluate(arg) for arg in node.args]
        keywords: dict[str | None, Value] = {each.arg: evaluate(each.value) for each in node.keywords}
        call = self.call(node, func, args, keywords)
        if self.rebound:
            self.renew_names(call)
        if type(node.func) is ast.Attribute:
            base = node.func.value
            if type(base) is ast.Name and func.op == "attr":
                self._method(node, func, base, args, keywords)
            elif func.op == "attr" and func.data in MUTATORS and (args or keywords):
                self._put(node, func.args[0], func.data, args, keywords)
        return call.result

    def _method(
        self, node: ast.Call, func: Value, name: ast.Name, args: list[Value], keywords: dict[str | None, Value]
    ) -> None:
        base = func.args[0]
        if func.data not in MUTATORS or self._is_another(node, func.data, base):
            self.renew(base)
        elif args or keywords:
            part = self._put(node, base, func.data, args, keywords)
            if name.id in self.env:
                self.env[name.id] = Value("updated", node, (base, part), f"method {func.data}")

    def _is_another(self, node: ast.Call, method: str, base: Value) -> bool:
        """Whether `update` or `add` is no method of a dictionary or set: those give nothing back, and are not own."""
        if method not in AMBIGUOUS:
            return False
        alone = type(self.statement) is ast.Expr and self.statement.value is node
        used = not alone and type(self.function.node) is not ast.Lambda
        return used or (base.op == "param" and base.data.index == 0 and base.data.function.owner is not None)

    def _put(
        self, node: ast.Call, base: Value, method: str, args: list[Value], keywords: dict[str | None, Value]
    ) -> Value:
        parts = (*args, *keywords.values())
        part = parts[-1] if len(parts) == 1 else Value("tuple", node, parts)
        order = self.next()
        self.function.stores.append(
            Store(node, self.block, self.function, order, self.statement, "method", method, part, base)
        )
        return part

    def _binop(self, node: ast.BinOp) -> Value:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        value = Value("bin", node, (left, right), type(node.op).__name__)
        self._arithmetic(node, value)
        return value

    def _compare(self, node: ast.Compare) -> Value:
        args = (self.evaluate(node.left), *map(self.evaluate, node.comparators))
        operators = tuple([type(op).__name__ for op in node.ops])
        value = Value("compare", node, args, operators)
        if len(operators) > 1:
            # `a < b < c` is `a < b and b < c`: the last one alone is not asked for its truth.
            self.branch(node, "chain", Value("compare", node, args[:-1], operators[:-1]))
        self._arithmetic(node, value)
        return value

    def _arithmetic(self, node: ast.AST, value: Value) -> None:
        self.order += 1
        self.function.arithmetic.append(Arithmetic(node, self.block, self.function, self.order, self.statement, value))

    def branch(self, node: ast.AST, kind: str, value: Value | None) -> Branch:
        """Records that the truth of a value is asked for."""
        self.order += 1
        branch = Branch(node, self.block, self.function, self.order, self.statement, kind, value)
        self.function.branches.append(branch)
        return branch

    def _boolop(self, node: ast.BoolOp) -> Value:
        """Each operand but the last decides whether the next is evaluated at all."""
        operands: list[Value] = []
        outer, kind = self.block, "and" if type(node.op) is ast.And else "or"
        last = node.values[-1]
        for operand in node.values:
            value = self.evaluate(operand)
            operands.append(value)
            if operand is not last:
                branch = self.branch(operand, kind, value)
                arm = "then" if kind == "and" else "else"
                self.block = Block(self.block, branch, arm, value, self.loop)
        self.block = outer
        return Value("bool", node, tuple(operands), type(node.op).__name__)

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        operand = self.evaluate(node.operand)
        if type(node.op) is ast.Not:
            self.branch(node, "not", operand)
        elif type(node.op) is ast.USub and operand.op == "const" and type(operand.data) in (int, float):
            return Value("const", node, (), -operand.data)
        return Value("unary", node, (operand,), type(node.op).__name__)

    def _subscript(self, node: ast.Subscript) -> Value:
        base, index = self.evaluate(node.value), self.evaluate(node.slice)
        value = self.item(base, index, node)
        self.order += 1
        self.function.items.append(Item(node, self.block, self.function, self.order, self.statement, value))
        return value

    def item(self, base: Value, index: Value, node: ast.AST | None) -> Value:
        """`base[index]`; the element itself where the container is in sight."""
        if index.op != "const":
            return Value("item", node, (base, index))
        at = index.data
        depth = 0
        while base.op == "updated" and depth < 50:
            old, new = base.args[0], base.args[1]
            if base.data != "item" or len(base.args) < 3 or base.args[2].op != "const":
                break
            if base.args[2].data == at:
                return new
            base, depth = old, depth + 1
        if base.op in ("tuple", "list") and type(at) is int and -len(base.args) <= at < len(base.args):
            if not any(arg.op == "star" for arg in base.args):
                return base.args[at]
        elif base.op == "dict" and None not in (keys := cast("tuple[Any, ...]", base.data)):
            for key, value in zip(reversed(keys), reversed(base.args), strict=True):
                if key.op == "const" and type(key.data) is type(at) and key.data == at:
                    return value
        place = (base, type(at), at, FIRST_ITEM)
        try:
            value = self.attributes.get(place)
            if value is None:
                value = self.attributes[place] = Value("item", node, (base, index))
        except TypeError:
            value = Value("item", node, (base, index))
        return value

    def _slice(self, node: ast.Slice) -> Value:
        return Value(
            "slice", node, tuple([self.evaluate(p) if p else NONE for p in (node.lower, node.upper, node.step)])
        )

    def _tuple(self, node: ast.Tuple) -> Value:
        return Value("tuple", node, tuple([self.evaluate(each) for each in node.elts]))

    def _list(self, node: ast.List) -> Value:
        return Value("list", node, tuple([self.evaluate(each) for each in node.elts]))

    def _set(self, node: ast.Set) -> Value:
        return Value("set", node, tuple([self.evaluate(each) for each in node.elts]))

    def _dict(self, node: ast.Dict) -> Value:
        keys = tuple([self.evaluate(key) if key is not None else None for key in node.keys])
        return Value("dict", node, tuple([self.evaluate(value) for value in node.values]), keys)

    def _ifexp(self, node: ast.IfExp) -> Value:
        test = self.evaluate(node.test)
        branch = self.branch(node, "ternary", test)
        outer, before = self.block, self.env
        self.env = before.copy()
        self.block = Block(outer, branch, "then", test, self.loop)
        then = self.evaluate(node.body)
        after_then, self.env = self.env, before.copy()
        self.block = Block(outer, branch, "else", test, self.loop)
        other = self.evaluate(node.orelse)
        self.block, self.env = outer, self._rejoin(before, [after_then, self.env], branch)
        return then if then is other else Value("phi", node, (then, other), branch)

    def _rejoin(self, env: Any, ends: list[Any], why: Any) -> Any:
        """The joined state, in the object that `env` is: enclosing statements and scopes hold on to it."""
        joined = self.join(ends, why)
        if joined is not env:
            env.clear()
            env.update(joined)
        return env

    def _lambda(self, node: ast.Lambda) -> Value:
        function = self.define(node, "<lambda>")
        self.parameters(function, node.args)
        return function.value

    def define(self, node: ast.AST, name: str) -> Function:
        """A new function of this file; its body waits until the code round it is through."""
        outer = self.function
        if self.owner is not None:
            id = f"{self.owner.id}.{name}"
        else:
            id = f"{self.module.name}:{name}" if outer.is_module else f"{outer.id}.{name}"
        ids = self.ids
        if id in ids:
            ids[id] += 1
            id = f"{id}@{ids[id]}"
        ids.setdefault(id, 0)
        function = Function(id, name, node, outer, self.owner)
        function.defined_in = self.block
        self.module.functions.append(function)
        inside_class = self.owner is not None
        scope = (
            self.scope
            if outer.is_module
            else Scope(dict(self.class_outer if inside_class else self.env), self.final, self.scope)
        )
        self.queue.append((function, scope))
        return function

    def parameters(self, function: Function, args: ast.arguments) -> None:
        """Parameters with the values of their defaults, which the code round the function evaluates."""
        found = function.parameters
        positional = [*args.posonlyargs, *args.args]
        defaults = [None] * (len(positional) - len(args.defaults)) + [self.evaluate(each) for each in args.defaults]
        for arg, default in zip(positional, defaults, strict=True):
            found.append(
                Parameter(function, len(found), arg.arg, "positional", default, self.annotation(arg.annotation))
            )
        if args.vararg:
            found.append(Parameter(function, len(found), args.vararg.arg, "star", None, UNKNOWN))
        for arg, given in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            default = self.evaluate(given) if given is not None else None
            found.append(Parameter(function, len(found), arg.arg, "keyword", default, self.annotation(arg.annotation)))
        if args.kwarg:
            found.append(Parameter(function, len(found), args.kwarg.arg, "double_star", None, UNKNOWN))

    def annotation(self, node: ast.expr | None) -> Value:
        """A type as a name, subscripts and unions as `item` and `bin`; nothing is recorded of it."""
        if node is None:
            return UNKNOWN
        kind = type(node)
        if kind is ast.Name:
            return self.env.get(node.id) or self.lookup(node.id, node)  # type: ignore[attr-defined]
        if kind is ast.Attribute:
            base = self.annotation(node.value)  # type: ignore[attr-defined]
            if base.op != "name":
                return UNKNOWN
            value = self.named(f"{base.data}.{node.attr}")  # type: ignore[attr-defined]
            if value.data in NOTED:
                self.mention(node, value.data, "annotation")
            return value
        if kind is ast.Constant:
            text = node.value  # type: ignore[attr-defined]
            if isinstance(text, str) and len(text) < 200 and all(part.isidentifier() for part in text.split(".")):
                first, *rest = text.split(".")
                value = self.env.get(first) or self.lookup(first, node)
                if not rest or value.op != "name":
                    return value
                value = self.named(".".join((value.data, *rest)))
                if value.data in NOTED:
                    self.mention(node, value.data, "annotation")
                return value
            return Value("const", node, (), text)
        if kind is ast.Subscript:
            return Value("item", node, (self.annotation(node.value), self.annotation(node.slice)))  # type: ignore[attr-defined]
        if kind is ast.Tuple:
            return Value("tuple", node, tuple([self.annotation(each) for each in node.elts]))  # type: ignore[attr-defined]
        if kind is ast.BinOp:
            sides = (self.annotation(node.left), self.annotation(node.right))  # type: ignore[attr-defined]
            return Value("bin", node, sides, "BitOr")
        return UNKNOWN

    def _joinedstr(self, node: ast.JoinedStr) -> Value:
        value = Value("format", node, tuple([self.evaluate(each) for each in node.values]))
        self.function.formats.append(value)
        return value

    def _formattedvalue(self, node: ast.FormattedValue) -> Value:
        if node.format_spec is not None:
            self.evaluate(node.format_spec)
        return self.evaluate(node.value)

    def _starred(self, node: ast.Starred) -> Value:
        return Value("star", node, (self.evaluate(node.value),))

    def _namedexpr(self, node: ast.NamedExpr) -> Value:
        value = self.evaluate(node.value)
        self.assign(node.target, value, node)
        return value

    def assign(self, target: ast.expr, value: Value, node: ast.AST, augmented: str | None = None) -> None:
        raise NotImplementedError

    def run(self, body: Sequence[ast.stmt]) -> None:
        raise NotImplementedError

    def _await(self, node: ast.Await) -> Value:
        value = self.evaluate(node.value)
        if value.op == "call":
            value.data.awaited = True
        return value

    def _yield(self, node: ast.Yield) -> Value:
        value = self.evaluate(node.value) if node.value else NONE
        self.function.is_generator = True
        self.function.returns.append(
            Return(node, self.block, self.function, self.next(), self.statement, "yield", value)
        )
        return Value("unknown", node)

    def _yieldfrom(self, node: ast.YieldFrom) -> Value:
        value = Value("element", node, (self.evaluate(node.value),))
        self.function.is_generator = True
        self.function.returns.append(
            Return(node, self.block, self.function, self.next(), self.statement, "yield", value)
        )
        return Value("unknown", node)

    # Comprehensions

    def _listcomp(self, node: ast.ListComp) -> Value:
        return self._comprehension(node, "list", node.generators, node.elt)

    def _setcomp(self, node: ast.SetComp) -> Value:
        return self._comprehension(node, "set", node.generators, node.elt)

    def _generatorexp(self, node: ast.GeneratorExp) -> Value:
        return self._comprehension(node, "generator", node.generators, node.elt)

    def _dictcomp(self, node: ast.DictComp) -> Value:
        return self._comprehension(node, "dict", node.generators, node.key, node.value)

    def _comprehension(
        self, node: ast.AST, kind: str, generators: list[ast.comprehension], *elements: ast.expr
    ) -> Value:
        outer_block, outer_loop, outer_env = self.block, self.loop, self.env
        self.env = outer_env.copy()
        iterables: list[Value] = []
        for generator in generators:
            iterable = self.evaluate(generator.iter)
            iterables.append(iterable)
            order = self.next()
            loop = Loop(generator.iter, self.block, self.function, order, self.statement, "comprehension", iterable)
            self.function.loops.append(loop)
            self.loop = loop
            self.block = Block(self.block, None, "loop", None, loop)
            loop.element = self.element(iterable, loop, generator.target)
            self.assign(generator.target, loop.element, generator.target)
            for condition in generator.ifs:
                value = self.evaluate(condition)
                branch = self.branch(condition, "filter", value)
                self.block = Block(self.block, branch, "then", value, loop)
        values = tuple([self.evaluate(each) for each in elements])
        element = values[0] if len(values) == 1 else Value("tuple", node, values)
        self.block, self.loop, self.env = outer_block, outer_loop, outer_env
        return Value("comp", node, (element, *iterables), kind)

    def element(self, iterable: Value, loop: Loop | None, node: ast.AST) -> Value:
        """What a loop binds in a round: taken apart for enumerate, zip and items."""
        only = _only_element(iterable)
        if only is not None:
            return only
        if iterable.op == "call":
            call = iterable.data
            name = call.func.data if call.func.op == "name" else None
            if name == "builtins.enumerate" and call.args:
                counter = Value("element", node, (Value("unknown", node),), loop)
                counter.kind = "static"
                return Value("tuple", node, (counter, self.element(call.args[0], loop, node)))
            if name == "builtins.zip" and call.args and not any(arg.op == "star" for arg in call.args):
                return Value("tuple", node, tuple([self.element(arg, loop, node) for arg in call.args]))
            if name in _SAME_ELEMENTS and call.args:
                return self.element(call.args[0], loop, node)
            if call.func.op == "attr" and call.func.data == "items" and not call.args:
                key = Value("element", node, (Value("unknown", node),), loop)
                key.kind = "static"
                return Value("tuple", node, (key, Value("element", node, (call.func.args[0],), loop)))
            if call.func.op == "attr" and call.func.data == "values" and not call.args:
                return Value("element", node, (call.func.args[0],), loop)
        return Value("element", node, (iterable,), loop)


FIRST_ITEM = "item"


def _only_element(iterable: Value) -> Value | None:
    """The one value that every round gets: of `[key] * 3`, `(key, key)`, `itertools.repeat(key)`."""
    if iterable.op == "call" and iterable.data.func.data == "itertools.repeat" and iterable.data.args:
        return iterable.data.args[0]
    repeated = iterable.op == "bin" and iterable.data == "Mult"
    parts: tuple[Value, ...] = iterable.args if repeated else (iterable,)
    elements = next((list(each.args) for each in parts if each.op in ("list", "tuple")), [])
    if len(elements) < (1 if repeated else 2) or elements[0].op == "star":
        return None
    return elements[0] if all(each is elements[0] for each in elements) else None
