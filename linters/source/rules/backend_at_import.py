"""Importing a module starts a JAX backend.

## What it does
Finds code that runs when a module is imported (its top level, class bodies, defaults of parameters) and asks for
devices or makes an array, itself or through functions of the project: `jax.device_count()`, `jnp.float32(-1e9)`,
`jax.random.key(0)`. It looks at modules that other files import, at those of a package, and at scripts that
themselves call `jax.distributed.initialize`.

## Why is this bad?
The first array or device query chooses the platform and takes the devices' memory. `jax.distributed.initialize()`,
`jax.config.update("jax_platforms", ...)` and XLA flags then come too late: the first raises, the others do nothing
(https://github.com/jax-ml/jax/issues/12258, https://github.com/AI-Hypercomputer/maxtext/pull/275). Importing such a
library takes seconds, and on a TPU it locks the chip (https://github.com/instadeepai/flashbax/issues/65).

## Example
    NUM_DEVICES = jax.device_count()
    MASK_VALUE = jnp.float32(-1e9)

## Use instead
    MASK_VALUE = np.float32(-1e9)

    @functools.cache
    def num_devices():
        return jax.device_count()

## What stays clean
Types (`jnp.bfloat16`), `jnp.finfo`, `jnp.dtype`, `jax.jit`, `jax.ShapeDtypeStruct`, initialisers, `PartitionSpec`:
none of them needs a device. Code under `if __name__ == "__main__":`, code behind `jax.distributed.initialize()`,
scripts that nothing imports, notebooks and tests.

## References
- https://docs.jax.dev/en/latest/multi_process.html
- https://github.com/CMBSciPol/jax-healpy/pull/7
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..records import Call
from ..rule import Example, SourceRule
from ..values.value import Value

_STARTS = "jax.distributed.initialize"


def check(facts: FileFacts) -> Iterable[Finding]:
    if facts.source.notebook is not None or not facts.functions:
        return
    top = facts.functions[0]
    calls = [(call, name) for call in top.calls if (name := _starter(facts, call)) is not None]
    if not calls:
        return
    own = [call for function in facts.functions for call in function.calls if facts.callee(call).name == _STARTS]
    reason = _imported(facts, bool(own))
    if reason is None:
        return
    sure = "too late then" in reason
    first = min((call.order for call in own if call.function is top), default=None)
    lines: set[int] = set()
    for call, name in calls:
        line = getattr(call.statement, "lineno", 0)  # one finding for a statement
        if (first is not None and call.order > first) or _guarded(call) or line in lines:
            continue
        lines.add(line)
        through = facts.callee(call)
        how = (
            f"{through.function.name}() calls {name}(), which" if through.function is not None else f"{_shown(name)}()"
        )
        yield facts.finding(
            RULE,
            call.node,
            f"{how} starts a backend when this module is imported; {reason}",
            help="make it when it is first needed, in a function; a numpy scalar or array needs no device",
            confidence="certain" if sure else "likely",
        )


def _starter(facts: FileFacts, call: Call) -> str | None:
    return facts.starts_backend(call) if call.decorates is None else None


def _shown(name: str) -> str:
    return name.replace("jax.numpy.", "jnp.")


def _imported(facts: FileFacts, own: bool) -> str | None:
    """Why it matters that this module can be imported; None where it is a script of its own."""
    if own:
        return "jax.distributed.initialize() in this file comes too late then"
    program = facts.program
    caller = program.distributed_in(facts.module.name)
    if caller is not None:
        return f"{caller}, which imports it, calls jax.distributed.initialize() too late then"
    if program.importers(facts.module.name):
        return "whoever imports it can no longer choose the platform or call jax.distributed.initialize()"
    folder = facts.path.rpartition("/")[0]
    if folder and f"{folder}/__init__.py" in program.paths and not _is_script(facts):
        return "whoever imports it can no longer choose the platform or call jax.distributed.initialize()"
    return None


def _is_script(facts: FileFacts) -> bool:
    """Whether the file asks whether it is run as a program."""
    return any(_asks_main(branch.value) for branch in facts.functions[0].branches if branch.value is not None)


def _guarded(call: Call) -> bool:
    return any(_asks_main(guard) or _is_for_types(guard) for guard, _ in call.block.guards())


def _is_for_types(value: Value) -> bool:
    return value.op == "name" and value.data == "typing.TYPE_CHECKING"


def _asks_main(value: Value) -> bool:
    return value.op == "compare" and any(each.op == "const" and each.data == "__main__" for each in value.args)


BAD = (
    Example(
        "a device count and an array in a program of many hosts",
        """
        import jax
        import jax.numpy as jnp

        NUM_DEVICES = jax.device_count()  # bad
        MASK_VALUE = jnp.float32(-1e9)  # bad
        DTYPE = jnp.bfloat16


        def main():
            jax.distributed.initialize()
            return NUM_DEVICES
        """,
        raises="RuntimeError",
        run="jax.distributed.initialize('localhost:1', 1, 0)",
    ),
    Example(
        "through a helper, in defaults and class bodies",
        """
        import jax
        from jax import numpy


        def default_mesh():
            return jax.make_mesh((len(jax.devices()),), ("data",))


        MESH = default_mesh()  # bad


        class Config:
            weights: jax.Array = numpy.ones(3)  # bad

            def key(self, seed=jax.random.key(0)):  # bad
                return seed
        """,
        files={
            "launch.py": """
            import jax
            from example import MESH

            def main():
                jax.distributed.initialize()
                print(MESH)
            """
        },
        raises="RuntimeError",
        run="jax.distributed.initialize('localhost:1', 1, 0)",
    ),
    Example(
        "a module that another one imports",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp

        full = partial(jnp.full, (3,))
        BOUND = full(-1.0)  # bad
        KEY = jax.random.PRNGKey(0)  # bad
        TABLE = jnp.array([1.0, 2.0])  # bad
        """,
        files={"model.py": "import example\n\ndef apply(x):\n    return x * example.TABLE\n"},
    ),
    Example(
        "made by a function of another file",
        """
        import tables

        FREQUENCIES = tables.frequencies(8)  # bad
        """,
        files={
            "tables.py": """
            import jax.numpy as jnp


            def frequencies(count):
                return steps(count) * 2.0


            def steps(count):
                return jnp.arange(count)
            """,
            "model.py": "from example import FREQUENCIES\n\ndef apply(x):\n    return x * FREQUENCIES\n",
        },
    ),
)

GOOD = (
    Example(
        "what needs no device",
        """
        import jax
        import jax.numpy as jnp
        import numpy as np
        from jax.sharding import PartitionSpec as P

        DTYPE = jnp.bfloat16
        TINY = jnp.finfo(jnp.float32).tiny
        MASK = -0.7 * float(np.finfo(np.dtype("float32")).max)
        SPEC = P("data", None)
        SHAPE = jax.ShapeDtypeStruct((2,), jnp.float32)
        init = jax.nn.initializers.normal(0.02)
        scaled = jax.jit(lambda x: x * jnp.pi)
        jax.config.update("jax_enable_x64", False)


        def devices(kind=jnp.inf):
            return jax.device_count()
        """,
        files={"launch.py": "import jax\nimport example\n\ndef main():\n    jax.distributed.initialize()\n"},
        run="from jax._src import xla_bridge\nassert not xla_bridge.backends_are_initialized()",
    ),
    Example(
        "only when it is run",
        """
        import jax
        import jax.numpy as jnp


        def main():
            jax.distributed.initialize()
            print(jnp.ones(jax.device_count()))


        if __name__ == "__main__":
            print(jax.process_index())
            main()
        """,
    ),
    Example(
        "behind the initialisation",
        """
        import jax

        jax.distributed.initialize()
        RANK = jax.process_index()
        COUNT = jax.device_count()
        """,
    ),
    Example(
        "a script that nothing imports",
        """
        import jax
        import jax.numpy as jnp

        key = jax.random.key(0)
        points = jnp.linspace(0.0, 1.0, 32)
        print(jax.random.normal(key, points.shape) + points)
        """,
    ),
    Example(
        "only for the type checker",
        """
        import functools
        import typing as tp
        import jax


        class Stream:
            if tp.TYPE_CHECKING:
                normal = staticmethod(functools.partial(jax.random.normal, jax.random.key(0)))
            else:
                normal = None
        """,
        files={"model.py": "from example import Stream\n"},
    ),
    Example(
        "made when it is first asked for",
        """
        import functools
        import jax
        import jax.numpy as jnp


        @functools.cache
        def table():
            return jnp.arange(8)


        MAKERS = {"table": table, "key": lambda: jax.random.key(0)}
        """,
        files={"model.py": "from example import table\n\ndef apply(x):\n    return x * table()\n"},
    ),
)

RULE = SourceRule(
    code="JIT117",
    name="backend-at-import",
    severity="warning",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
