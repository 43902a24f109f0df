"""Where faults of traced code can be written: functions that JAX surely traces, names that surely hold arrays there.

Surely means in sight: a decorator, a transform that is given the function by name in the same file, the `__call__` of a
Module, and whatever is nested in one of these.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from .source import Function, Source

JITS = {"jax.jit", "jax.pmap", "jax.experimental.pjit.pjit", "flax.nnx.jit", "equinox.filter_jit"}
TRANSFORMS = JITS | {
    "jax.grad", "jax.value_and_grad", "jax.vmap", "jax.checkpoint", "jax.remat", "jax.lax.scan", "jax.lax.fori_loop",
    "jax.lax.while_loop", "jax.lax.map", "jax.eval_shape", "jax.jvp", "jax.vjp", "jax.shard_map",
    "jax.experimental.shard_map.shard_map", "flax.nnx.grad", "flax.nnx.value_and_grad", "equinox.filter_grad",
    "equinox.filter_value_and_grad", "equinox.filter_vmap",
}  # fmt: skip
LOOPS = {"jax.lax.scan", "jax.lax.fori_loop", "jax.lax.while_loop"}
STAGED = JITS | LOOPS
"""Those that make a program: what grad and vmap alone trace runs anew in every call."""
MODULES = {"flax.linen.Module", "flax.linen.module.Module", "flax.nnx.Module", "haiku.Module", "equinox.Module"}
PARTIAL = {"functools.partial", "jax.tree_util.Partial"}

_NUMPY = [
    "abs", "argmax", "argmin", "clip", "cos", "cumsum", "dot", "einsum", "exp", "log", "log1p", "matmul", "max",
    "maximum", "mean", "min", "minimum", "power", "prod", "sign", "sin", "sqrt", "square", "std", "sum", "tan",
    "tanh", "tensordot", "var", "where",
]  # fmt: skip
_NN = [
    "elu", "gelu", "leaky_relu", "log_sigmoid", "log_softmax", "logsumexp", "relu", "sigmoid", "silu", "softmax",
    "softplus", "swish", "tanh",
]  # fmt: skip
ARRAYS = {f"jax.numpy.{name}" for name in _NUMPY} | {f"jax.nn.{name}" for name in _NN} | {"jax.numpy.linalg.norm"}


@dataclass(frozen=True, slots=True)
class Jitted:
    """A function and the jit call, or bare decorator, that compiles it."""

    function: Function
    jit: ast.expr
    name: str
    keywords: dict[str, ast.keyword]
    by: str

    @property
    def parameters(self) -> list[str]:
        arguments = self.function.args
        return [each.arg for each in [*arguments.posonlyargs, *arguments.args]]

    def static(self) -> list[str] | None:
        """Names of the static parameters; None where they are not written out."""
        return self._named("static_argnums", "static_argnames")

    def donated(self) -> list[str] | None:
        """Names of the donated parameters; None where they are not written out."""
        return self._named("donate_argnums", "donate_argnames")

    def _named(self, numbers: str, names: str) -> list[str] | None:
        found: list[str] = []
        for keyword in (self.keywords.get(numbers), self.keywords.get(names)):
            if keyword is None:
                continue
            try:
                value = ast.literal_eval(keyword.value)
            except ValueError:
                return None
            for each in value if isinstance(value, (tuple, list)) else (value,):
                if isinstance(each, int) and each < len(self.parameters):
                    found.append(self.parameters[each])
                elif isinstance(each, str):
                    found.append(each)
        return found


def jitted(source: Source) -> Iterator[Jitted]:
    """Functions that a jit in sight compiles: decorated, or given to it by name."""
    for function in source.functions:
        for decorator in function.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else None
            name = source.dotted(call.func if call else decorator)
            keywords = {each.arg: each for each in call.keywords if each.arg} if call else {}
            if call and name in PARTIAL and call.args and source.dotted(call.args[0]) in JITS:
                yield Jitted(function, call, function.name, keywords, source.dotted(call.args[0]) or "")
            elif name in JITS:
                yield Jitted(function, decorator, function.name, keywords, name or "")
    for call, name in source.calls:
        if name in JITS and call.args and isinstance(call.args[0], ast.Name):
            function = source.definition(call.args[0].id, call)
            parent = source.parents[call]
            if function is not None and isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
                keywords = {each.arg: each for each in call.keywords if each.arg}
                yield Jitted(function, call, parent.targets[0].id, keywords, name)


def traced(source: Source, transforms: set[str] = TRANSFORMS) -> set[Function]:
    """Functions of the file that these transforms surely trace."""
    found: set[Function] = {each.function for each in jitted(source)}
    for call, name in source.calls:
        if name in transforms:
            given = [argument.id for argument in call.args if isinstance(argument, ast.Name)]
            found |= {each for each in (source.definition(one, call) for one in given) if each is not None}
    for function in source.functions:
        decorators = {source.dotted(getattr(each, "func", each)) for each in function.decorator_list}
        owner = source.parents[function]
        module = isinstance(owner, ast.ClassDef) and any(source.dotted(base) in MODULES for base in owner.bases)
        if decorators & transforms or (module and function.name == "__call__"):
            found.add(function)
    while True:
        found |= {each for each in source.functions if any(above in found for above in source.above(each))}
        called = {each for each in source.functions if each not in found and _called_from(source, each, found)}
        if not called:
            return found
        found |= called


def _called_from(source: Source, function: Function, known: set[Function]) -> bool:
    """Whether a known function calls this one by its bare name, or as a method of the same class on self."""
    owner = source.parents[function]
    if isinstance(owner, ast.ClassDef):
        calls = [call for call in source.calls_of(f"self.{function.name}") if owner in source.above(call)]
    else:
        calls = source.calls_of(function.name)
        calls = [call for call in calls if source.definition(function.name, call) is function]
    return any(above in known for call in calls for above in source.above(call))


def arrays(source: Source, function: Function) -> dict[str, ast.stmt]:
    """Local names that hold arrays computed in this function, with the only statement that binds each."""
    bound: dict[str, list[ast.stmt]] = {}
    for stmt in statements(source, function):
        for node in targets(stmt):
            bound.setdefault(node.id, []).append(stmt)
    parameters = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
    found: dict[str, ast.stmt] = {}
    for name, at in bound.items():
        plain = [each for each in at if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name)]
        if name not in parameters and len(plain) == len(at) and all(is_array(source, each.value) for each in plain):
            found[name] = plain[-1]
    return found


def is_array(source: Source, value: ast.expr) -> bool:
    """Whether an expression is the result of an array function, or arithmetic on one."""
    if isinstance(value, ast.BinOp):
        return is_array(source, value.left) or is_array(source, value.right)
    return isinstance(value, ast.Call) and source.dotted(value.func) in ARRAYS and of_data(value)


def statements(source: Source, function: Function) -> Iterator[ast.stmt]:
    """Statements of this function itself, not of functions or classes nested in it, in the order of the file."""
    stack: list[ast.stmt] = list(reversed(function.body))
    while stack:
        stmt = stack.pop()
        yield stmt
        if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        inner = [each for each in ast.iter_child_nodes(stmt) if isinstance(each, (ast.stmt, ast.ExceptHandler))]
        for each in reversed(inner):
            stack += [each] if isinstance(each, ast.stmt) else reversed(each.body)


def targets(stmt: ast.AST) -> list[ast.Name]:
    """Names that a statement binds."""
    return [n for n in ast.walk(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def reads(node: ast.AST, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) for n in ast.walk(node))


def of_data(call: ast.Call) -> bool:
    """Whether some argument is not written out as a constant, nor the shape or type of something."""
    words = {n.attr for n in ast.walk(call) if isinstance(n, ast.Attribute)}
    names = {n.id for argument in call.args for n in ast.walk(argument) if isinstance(n, ast.Name)}
    return bool(names - {"self"}) and not words & {"shape", "ndim", "dtype", "size", "config", "cfg"}


def is_traced(source: Source, node: ast.AST, known: set[Function]) -> bool:
    return any(above in known for above in source.above(node))
