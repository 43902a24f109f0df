"""What breaks each promise: for every leaf of two examples' contracts a wrong or tighter value, and what `verify` says.

A case is judged against one shared capture of the untouched example, unless `builds` says that the leaf changes what is
built, or `edits` break the promise in the step instead of the contract.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

BATCH_KEY = "step.train.signatures"


@dataclass(frozen=True)
class Broken:
    """One broken leaf. `key` is the contract key of the one root finding, None where it is the leaf itself.

    `value`: what stands at the leaf instead. `builds`: the leaf decides what is built, so the step is captured anew;
    `refused`: it cannot be built, and the error (exit 2) names the leaf. `runs`: the fault shows in the executed loop.
    `fault`: the leaf limits what the step holds, so the step is changed as `GRAPH_EDITS` say; the contract keeps its
    value. `why`: what the choice of the value rests on, where a plainer one would prove nothing. `slow`: left out of
    the default run, where another example or leaf shows the same.
    """

    leaf: str
    value: Any
    code: str
    key: str | None = None
    builds: bool = False
    refused: bool = False
    runs: bool = False
    fault: str = ""
    slow: bool = False
    why: str = ""

    @property
    def expected_key(self) -> str:
        return self.leaf if self.key is None else self.key


NO_WRONG_NAME = "any other name is as good: only an empty one is wrong"
NO_WRONG_TEXT = "any other reason is as good: only an empty one is wrong"
RATIO = "shapes show only how many query heads share a key: the message names both keys"

HEAD = (
    Broken("contract", 2, "JIT003"),
    Broken("name", "", "JIT003", why=NO_WRONG_NAME),
    Broken("step.train.donate[0]", "batch", "MEM204", "step.train.donate"),
    Broken("step.train.static", ["batch"], "JIT207"),
    Broken("step.train.compiles", 0, "JIT003", why="the loop compiles once: no smaller number can be promised"),
    Broken("targets[0]", "cpu:eight", "JIT009"),
    Broken("mesh.axes.data", 1, "SHD006", "mesh.axes"),
    Broken("mesh.axes.fsdp", 2, "SHD006", "mesh.axes"),
    Broken("dtypes.master", "bfloat16", "NUM202"),
    Broken("dtypes.compute", "float16", "NUM201"),
    Broken("dtypes.moments", "bfloat16", "NUM202"),
    Broken("batch.axes[0]", "model", "SHD001"),
    Broken("batch.axes[1]", "model", "SHD001"),
    Broken("optimizer.placement", ["data"], "SHD202"),
    Broken("collectives.allow[0].kind", "all-gather", "SHD213", "collectives.allow[0]"),
    Broken("collectives.allow[0].axes[0]", "model", "SHD001"),
    Broken("collectives.allow[0].axes[1]", "model", "SHD001"),
    Broken("collectives.allow[0].elements_max", 0, "SHD213", "collectives.allow[0]"),
    Broken("collectives.allow[0].reason", "", "JIT003", why=NO_WRONG_TEXT),
)
"""Leaves that both examples have, with the same value to break them."""


def _signatures(names: tuple[str, ...], batch: int, sequence: int, second: str) -> tuple[Broken, ...]:
    return tuple(
        Broken(f"{BATCH_KEY}.{name}[0][{index}]", value, code, f"{BATCH_KEY}.{name}")
        for name in names
        for index, (value, code) in enumerate(((2 * batch, "DAT002"), (2 * sequence, second)))
    )


def _graph(slow: bool) -> tuple[Broken, ...]:
    return (
        Broken("graph.host_callbacks", "forbid", "JIT202", fault="held", slow=slow),
        Broken("graph.constants_max", "64KiB", "JIT203", fault="held", slow=slow),
        Broken("graph.repeated_blocks_max", 2, "JIT204", fault="held", slow=slow),
        Broken("graph.dynamic_shapes", "forbid", "JIT205", fault="unlowered"),
    )


HELD = """
        jax.debug.callback(lambda: None)
        loss = loss + 0 * jnp.sum(jnp.sin(TABLE))
        square = jnp.full((8, 8), loss, jnp.bfloat16)
        square = jnp.tanh(square @ square)
        square = jnp.tanh(square @ square)
        square = jnp.tanh(square @ square)
        loss = loss + 0 * square[0, 0].astype(loss.dtype)
"""
"""A callback, a constant of 128 KiB and a block that stands three times; one capture shows each where the others are
allowed."""
UNLOWERED = """
        loss = loss + 0 * jnp.sum(jnp.ones(jax.export.symbolic_shape("n")))
"""
"""A dimension without a size."""
IMPORTS = "import jax\nimport jax.export\n"
TABLE = "\nTABLE = np.ones((256, 128), np.float32)\n"


def _after(line: str, text: str, indent: str = "") -> tuple[str, str]:
    lines = text.strip("\n").splitlines()
    return line, line + "".join(f"{indent}{each}\n" for each in lines)


GRAPH_EDITS: dict[tuple[str, str], tuple[tuple[str, str, str], ...]] = {
    ("plain_flax", fault): (
        ("train.py", "import jax\n", IMPORTS),
        ("train.py", "\nPARAMETER_SPECS = {", f"{TABLE}PARAMETER_SPECS = {{"),
        ("train.py", *_after("        loss, grads = loss_and_grads(state, batch)\n", text)),
    )
    for fault, text in (("held", HELD), ("unlowered", UNLOWERED))
} | {
    ("dense_fsdp", fault): (
        ("step.py", "import jax\n", f"import numpy as np\n{IMPORTS}"),
        ("step.py", "BATCH_DTYPES: Mapping", f"{TABLE}BATCH_DTYPES: Mapping"),
        (
            "step.py",
            *_after("            norm = optim.global_norm(grads, self.specs)\n", text, indent="    "),
        ),
    )
    for fault, text in (("held", HELD), ("unlowered", UNLOWERED))
}
"""(example, fault) -> replacements (file, old, new) in the step's source."""

CHAIN = "optimizer.chain"
MEASURED = "`verify --semantics` measures another value (test_semantic_faults); without it only what is none is seen"
MEANING = (
    Broken("optimizer.name", "adamx", "JIT003", why="the chain says the same: another name is two findings"),
    Broken("accumulation.order", "rows", "JIT003", why=MEASURED),
    Broken("accumulation.dtype", "f32", "NUM001", why=MEASURED),
    Broken("accumulation.combine", "mean_of_microbatches", "SEM006"),
    Broken("objective.terms[0].name", "", "JIT003", why=MEASURED),
    Broken("objective.terms[0].kind", "main", "JIT003", why=MEASURED),
    Broken("objective.terms[0].weight", "one", "JIT003", why=MEASURED),
    Broken("objective.terms[0].normaliser", "tokens", "JIT003", why=MEASURED),
    Broken("objective.terms[0].metric", "mean", "JIT003", why=MEASURED),
    Broken("metrics.loss.sum", "cross_entropi", "SEM013"),
    Broken("metrics.loss.denominator", "tokens", "JIT003", why=MEASURED),
    *(Broken(f"{CHAIN}[{index}].kind", "other", "JIT003", slow=index > 0, why=MEASURED) for index in range(5)),
    Broken(f"{CHAIN}[1].max_norm", -1.0, "JIT003", why=MEASURED),
    Broken(f"{CHAIN}[1].arg", 3, "JIT003", why=MEASURED),
    Broken(f"{CHAIN}[2].b1", 1.5, "JIT003", why=MEASURED),
    Broken(f"{CHAIN}[2].b2", 1.5, "JIT003", slow=True, why=MEASURED),
    Broken(f"{CHAIN}[3].rate", "some", "JIT003", slow=True, why=MEASURED),
    Broken(f"{CHAIN}[3].skip[0]", "no/such/path", "SEM011"),
    Broken(f"{CHAIN}[4].rate", "some", "JIT003", slow=True, why=MEASURED),
)
"""What is optimised."""

SEED = (
    Broken("rng.root.seed", "zero", "JIT003", why=MEASURED),
    Broken("rng.root.arg", 3, "JIT003", why=MEASURED),
)
FIELDS = ("tokens", "targets", "loss_mask")
BATCH = (
    *(
        Broken(f"data.fields.{name}.shape[{index}]", 7, "DAT013", f"data.fields.{name}.shape", slow=index > 0)
        for name in FIELDS
        for index in range(2)
    ),
    Broken("data.fields.tokens.dtype", "int8", "DAT014"),
    Broken("data.fields.targets.dtype", "int8", "DAT014", slow=True),
    Broken("data.fields.loss_mask.dtype", "float31", "JIT003", why="any dtype holds 0 and 1"),
    *(
        Broken(f"data.fields.{name}.range[0]", 512, "JIT003", f"data.fields.{name}.range", slow=name != "tokens")
        for name in FIELDS
    ),
    Broken("data.fields.tokens.range[1]", 512, "DAT015", "data.fields.tokens.range"),
    Broken("data.fields.targets.range[1]", 512, "DAT015", "data.fields.targets.range", slow=True),
    Broken("data.fields.loss_mask.range[1]", -1, "JIT003", "data.fields.loss_mask.range"),
    *(Broken(f"data.stages[{index}].kind", "other", "JIT003", slow=index > 0) for index in range(3)),
    Broken("data.stages[0].output.text.role", "words", "JIT003"),
    Broken("data.stages[1].input.text.role", "targets", "DAT010"),
    *(
        Broken(f"data.stages[{index}].{side}.{name}", None, "JIT003", slow=True, why="nothing else is said of it")
        for index, side in ((1, "output"), (2, "input"))
        for name in FIELDS[:2]
    ),
    Broken("data.tokenizer.vocab", 1024, "DAT005"),
    Broken("data.shift", "model", "DAT011", "data.stages[1].kind"),
)
"""What a batch is, and how it is made."""

DENSE = (
    *HEAD,
    *SEED,
    *MEANING,
    *BATCH,
    Broken("step.train.entry", "contract_lint.runtime.trainer:built", "", builds=True, refused=True),
    Broken("step.train.args.preset", "tny", "", builds=True, refused=True),
    Broken("step.train.reference_args.compute", "float31", "SEM304", builds=True, runs=True, slow=True),
    *_signatures(("tokens", "targets", "loss_mask"), 16, 128, second="DAT002"),
    Broken("model.kind", "sparse", "JIT003"),
    Broken("model.layers", 5, "SEM203"),
    Broken("model.d_model", 256, "SEM203"),
    Broken("model.heads", 8, "SEM203", "model.kv_heads", why=RATIO),
    Broken("model.kv_heads", 1, "SEM203"),
    Broken("model.d_ff", 1024, "SEM203"),
    Broken("model.mlp", "plain", "SEM203"),
    Broken("model.vocab", 1024, "SEM203"),
    Broken("model.tied", True, "SEM203"),
    Broken("model.sequence", 64, "DAT002"),
    Broken("model.remat", "none", "MEM205"),
    Broken("accumulation.microbatches", 3, "DAT001", why="with 4 the microbatch would not divide either"),
    Broken("accumulation.arg", "micro", "SEM304", builds=True, runs=True, slow=True),
    Broken("batch.size", 32, "DAT002"),
    Broken("parameters.logical_axes.layer", "data", "SHD202"),
    Broken("parameters.logical_axes.embed", "data", "SHD202"),
    Broken("parameters.logical_axes.heads", "data", "SHD202"),
    Broken("parameters.logical_axes.mlp", "data", "SHD202"),
    Broken("parameters.logical_axes.vocab", "data", "SHD202"),
    Broken("parameters.rules[0].match", "no/such/path", "SHD002"),
    Broken("parameters.rules[0].axes[0]", "data", "SHD202"),
    Broken("parameters.rules[0].axes[1]", None, "SHD202"),
    Broken("parameters.rules[0].axes[2]", "data", "SHD202"),
    Broken("parameters.rules[1].match", "no/such/path", "SHD002"),
    Broken("parameters.rules[1].axes[0]", "data", "SHD202"),
    Broken("parameters.rules[1].axes[1]", "data", "SHD202"),
    Broken("parameters.rules[1].axes[2]", None, "SHD202"),
    Broken("parameters.rules[2].match", "no/such/path", "SHD002"),
    Broken("parameters.rules[2].axes[0]", "data", "SHD202"),
    Broken("parameters.rules[2].axes[1]", None, "SHD202"),
    Broken("parameters.rules[3].match", "no/such/path", "SHD002"),
    Broken("parameters.rules[3].axes[0]", "data", "SHD202"),
    Broken("parameters.rules[3].axes[1]", None, "SHD202"),
    Broken("parameters.rules[3].axes[2]", "data", "SHD202"),
    Broken("parameters.rules[4].match", "no/such/path", "SHD002"),
    Broken("parameters.rules[4].axes[0]", "data", "SHD202"),
    Broken("parameters.rules[4].axes[1]", "data", "SHD202"),
    Broken("parameters.rules[4].axes[2]", None, "SHD202"),
    Broken("parameters.rules[5].match", "no/such/path", "SHD002"),
    Broken("parameters.rules[5].axes[0]", "data", "SHD202"),
    Broken("parameters.rules[5].axes[1]", None, "SHD202"),
    Broken("parameters.rules[6].match", "no/such/path", "SHD002"),
    Broken("parameters.rules[6].axes[0]", None, "SHD202"),
    Broken("parameters.rules[7].match", "no/such/path", "SHD002"),
    Broken("parameters.rules[7].axes[0]", None, "SHD202"),
    Broken("parameters.rules[7].axes[1]", "data", "SHD202"),
    Broken("parameters.replicated_max", "-1KiB", "JIT003"),
    Broken(
        "collectives.expect",
        [
            {"kind": "all-gather", "axes": ["fsdp"], "count": 149, "elements": 4198656},
            {"kind": "all-reduce", "axes": ["data", "fsdp"], "count": 78, "elements": 2230528},
        ],
        "SHD206",
        "collectives.expect[0]",
    ),
    Broken("memory.hbm", "8MiB", "MEM202"),
    Broken("memory.classes.optimizer_slot", "2MiB", "MEM203"),
    *_graph(slow=True),
)

PLAIN = (
    *HEAD,
    *SEED,
    Broken("step.train.entry", "train:built", "", builds=True, refused=True),
    Broken("step.train.path[0]", "src", "JIT010"),
    Broken("step.train.args.batch", 16, "DAT201", "batch.size", builds=True),
    Broken("step.train.args.compute", "float32", "NUM201", "dtypes.compute", builds=True),
    Broken("step.train.reference_args.compute", "float31", "SEM304", builds=True, runs=True),
    *_signatures(("tokens", "targets", "mask"), 32, 64, second="DAT202"),
    Broken("optimizer.name", "sgd", "SEM202", why="adam keeps the same slots as adamw"),
    Broken("model.kind", "sparse", "JIT003"),
    Broken("model.remat", "full", "MEM205"),
    Broken("accumulation.microbatches", 4, "SEM201"),
    Broken("accumulation.arg", "micro", "SEM304", builds=True, runs=True, slow=True),
    Broken("batch.size", 64, "DAT002"),
    Broken("parameters.logical_axes.layer", "data", "SHD202"),
    Broken("parameters.logical_axes.width", "data", "SHD202"),
    Broken("parameters.logical_axes.inner", "data", "SHD202"),
    Broken("parameters.logical_axes.vocab", "data", "SHD202"),
    Broken("parameters.rules[0].match", "no/such/path", "SHD002"),
    Broken("parameters.rules[0].axes[0]", "data", "SHD202"),
    Broken("parameters.rules[0].axes[1]", None, "SHD202"),
    Broken("parameters.rules[1].match", "no/such/path", "SHD002"),
    Broken("parameters.rules[1].axes[0]", "data", "SHD202"),
    Broken("parameters.rules[1].axes[1]", "data", "SHD202"),
    Broken("parameters.rules[2].match", "no/such/path", "SHD002"),
    Broken("parameters.rules[2].axes[0]", "data", "SHD202"),
    Broken("parameters.rules[2].axes[1]", None, "SHD202"),
    Broken("parameters.rules[2].axes[2]", "data", "SHD202"),
    Broken("parameters.rules[3].match", "no/such/path", "SHD002"),
    Broken("parameters.rules[3].axes[0]", "data", "SHD202"),
    Broken("parameters.rules[3].axes[1]", "data", "SHD202"),
    Broken("parameters.rules[3].axes[2]", None, "SHD202"),
    Broken("parameters.rules[4].match", "no/such/path", "SHD002"),
    Broken("parameters.rules[4].axes[0]", "data", "SHD202"),
    Broken("parameters.rules[5].match", "no/such/path", "SHD002"),
    Broken("parameters.rules[5].axes[0]", None, "SHD202"),
    Broken("parameters.rules[5].axes[1]", "data", "SHD202"),
    Broken("model.parameters.embed/embedding[0]", 512, "SEM203", "model.parameters.embed/embedding"),
    Broken("model.parameters.embed/embedding[1]", 128, "SEM203", "model.parameters.embed/embedding"),
    Broken("model.parameters.blocks/norm/scale[0]", 8, "SEM203", "model.parameters.blocks/norm/scale"),
    Broken("model.parameters.blocks/norm/scale[1]", 128, "SEM203", "model.parameters.blocks/norm/scale"),
    Broken("model.parameters.blocks/up/kernel[0]", 8, "SEM203", "model.parameters.blocks/up/kernel"),
    Broken("model.parameters.blocks/up/kernel[1]", 128, "SEM203", "model.parameters.blocks/up/kernel"),
    Broken("model.parameters.blocks/up/kernel[2]", 512, "SEM203", "model.parameters.blocks/up/kernel"),
    Broken("model.parameters.blocks/down/kernel[0]", 8, "SEM203", "model.parameters.blocks/down/kernel"),
    Broken("model.parameters.blocks/down/kernel[1]", 512, "SEM203", "model.parameters.blocks/down/kernel"),
    Broken("model.parameters.blocks/down/kernel[2]", 128, "SEM203", "model.parameters.blocks/down/kernel"),
    Broken("model.parameters.final_norm/scale[0]", 128, "SEM203", "model.parameters.final_norm/scale"),
    Broken("model.parameters.head/kernel[0]", 128, "SEM203", "model.parameters.head/kernel"),
    Broken("model.parameters.head/kernel[1]", 512, "SEM203", "model.parameters.head/kernel"),
    Broken("collectives.expect[0].kind", "all-to-all", "SHD205", "collectives.expect[0]"),
    Broken("collectives.expect[0].axes[0]", "model", "SHD001"),
    Broken("collectives.expect[0].count", 34, "SHD206", "collectives.expect[0]"),
    Broken("collectives.expect[0].elements", 573376, "SHD206", "collectives.expect[0]"),
    Broken("collectives.expect[1].kind", "all-to-all", "SHD205", "collectives.expect[1]"),
    Broken("collectives.expect[1].axes[0]", "model", "SHD001"),
    Broken("collectives.expect[1].count", 17, "SHD206", "collectives.expect[1]"),
    Broken("collectives.expect[1].elements", 294848, "SHD206", "collectives.expect[1]"),
    Broken("collectives.expect[2].kind", "all-to-all", "SHD205", "collectives.expect[2]"),
    Broken("collectives.expect[2].axes[0]", "model", "SHD001"),
    Broken("collectives.expect[2].count", 17, "SHD206", "collectives.expect[2]"),
    Broken("collectives.expect[2].elements", 73664, "SHD206", "collectives.expect[2]"),
    Broken("collectives.expect[3].kind", "all-to-all", "SHD205", "collectives.expect[3]"),
    Broken("collectives.expect[3].axes[0]", "model", "SHD001"),
    Broken("collectives.expect[3].axes[1]", "model", "SHD001"),
    Broken("collectives.expect[3].count", 11, "SHD206", "collectives.expect[3]"),
    Broken("collectives.expect[3].elements", 33344, "SHD206", "collectives.expect[3]"),
    Broken("parameters.replicated_max", "512B", "SHD203"),
    Broken("memory.hbm", "2MiB", "MEM202"),
    Broken("memory.classes.optimizer_slot", "256KiB", "MEM203"),
    *_graph(slow=False),
)

TABLES = {"dense_fsdp": DENSE, "plain_flax": PLAIN}
