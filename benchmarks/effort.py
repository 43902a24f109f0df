"""What a fast compile for a TPU says of memory, beside a full one of the same program.

    python benchmarks/effort.py [--target tpu:v5e:2x4] [PROGRAM...]

One line for each program: bytes that live for the whole step (arguments, and outputs that alias none; `=` where both
efforts have the same), packed temporaries and what must fit at either effort, the ratios full / fast, and the room that
a fast figure needs to pass alone (linters/program/limits.py) over what full effort took: below 1 a pass would be wrong.
A program that is refused for its size has the compiler's own figure of what it needs. Needs the extra [tpu].
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from contract_lint.linters.program.limits import ROOM

HERE = Path(__file__).resolve().parent
MIB = 1 << 20


def placed(mesh: Any, shape: tuple[int, ...], *axes: str | None, dtype: str = "float32") -> Any:
    import jax
    from jax.sharding import NamedSharding, PartitionSpec

    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, PartitionSpec(*axes)))


def step(loss: Callable[..., Any], params: Any, *batch: Any) -> SimpleNamespace:
    """Plain gradient descent: what differs is the loss."""
    import jax

    def fn(params: Any, *batch: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, *batch)
        return jax.tree.map(lambda p, g: p - 0.1 * g.astype(p.dtype), params, grads), value

    return SimpleNamespace(fn=fn, args=(params, *batch), donate="params")


def conv(mesh: Any, batch: int = 512, image: int = 128, channels: int = 32, depth: int = 2) -> Any:
    """Convolutions with pooling between them: the layout of an image is chosen again and again."""
    import jax
    import jax.numpy as jnp

    def loss(params: Any, x: Any, y: Any) -> Any:
        for w in params["conv"]:
            x = jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = jax.nn.relu(x)
        logits = x.mean((1, 2)) @ params["head"]
        return jnp.mean((logits - y) ** 2)

    sizes = [3, *[channels] * depth]
    convs = [placed(mesh, (3, 3, i, o)) for i, o in pairwise(sizes)]
    params = {"conv": convs, "head": placed(mesh, (channels, 10))}
    x, y = placed(mesh, (batch, image, image, 3), "data"), placed(mesh, (batch, 10), "data")
    return step(loss, params, x, y)


def mlp(mesh: Any, batch: int = 4096, width: int = 2048, depth: int = 6) -> Any:
    """Layers written out, every activation kept."""
    import jax.numpy as jnp

    def loss(params: Any, x: Any) -> Any:
        for w in params:
            x = jnp.tanh(x @ w)
        return jnp.mean(x**2)

    params = [placed(mesh, (width, width), "data") for _ in range(depth)]
    return step(loss, params, placed(mesh, (batch, width), "data"))


def scan(mesh: Any, batch: int = 4096, width: int = 2048, depth: int = 12, remat: bool = False) -> Any:
    """The same in a loop, with or without rematerialisation."""
    import jax
    import jax.numpy as jnp

    def layer(x: Any, w: Any) -> Any:
        return jnp.tanh(x @ w), None

    def loss(params: Any, x: Any) -> Any:
        return jnp.mean(jax.lax.scan(jax.checkpoint(layer) if remat else layer, x, params)[0] ** 2)

    return step(loss, placed(mesh, (depth, width, width), None, "data"), placed(mesh, (batch, width), "data"))


def attention(mesh: Any, batch: int = 32, length: int = 1024, heads: int = 8, width: int = 1024) -> Any:
    """Softmax attention whose scores are kept, in two layers."""
    import jax
    import jax.numpy as jnp

    def attend(x: Any, w: Any) -> Any:
        q, k, v = (jnp.einsum("btd,dhk->bthk", x, w[name]) for name in "qkv")
        scores = jax.nn.softmax(jnp.einsum("bthk,bshk->bhts", q, k) / (width // heads) ** 0.5)
        return x + jnp.einsum("bhts,bshk,hkd->btd", scores, v, w["o"])

    def loss(params: Any, x: Any) -> Any:
        for w in params:
            x = attend(x, w)
        return jnp.mean(x.astype("float32") ** 2)

    inner = (width, heads, width // heads)
    layer = {name: placed(mesh, inner, "data", dtype="bfloat16") for name in "qkv"}
    layer["o"] = placed(mesh, (heads, width // heads, width), dtype="bfloat16")
    return step(loss, [layer, layer], placed(mesh, (batch, length, width), "data", dtype="bfloat16"))


def embedding(mesh: Any, batch: int = 64, length: int = 512, vocab: int = 32_000, width: int = 512) -> Any:
    """A table looked up, logits over all of it, and a loss: large gathers and scatters."""
    import jax
    import jax.numpy as jnp

    def loss(params: Any, tokens: Any) -> Any:
        logits = jnp.take(params["table"], tokens, axis=0) @ params["head"]
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[..., None], axis=-1)
        return -jnp.mean(picked)

    params = {"table": placed(mesh, (vocab, width), "data"), "head": placed(mesh, (width, vocab), None, "data")}
    return step(loss, params, placed(mesh, (batch, length), "data", dtype="int32"))


def recurrent(mesh: Any, batch: int = 256, length: int = 256, width: int = 512) -> Any:
    """A loop over time with one set of weights."""
    import jax
    import jax.numpy as jnp

    def loss(params: Any, x: Any) -> Any:
        def cell(h: Any, now: Any) -> Any:
            h = jnp.tanh(now @ params["in"] + h @ params["on"])
            return h, h

        start = jnp.zeros((x.shape[1], width))
        return jnp.mean(jax.lax.scan(cell, start, x)[1] ** 2)

    params = {name: placed(mesh, (width, width)) for name in ("in", "on")}
    return step(loss, params, placed(mesh, (length, batch, width), None, "data"))


def sorting(mesh: Any, rows: int = 512, columns: int = 8192) -> Any:
    """Sorts, cumulative sums and a transform: what the matrix unit does not do."""
    import jax.numpy as jnp

    def loss(params: Any, x: Any) -> Any:
        y = jnp.cumsum(jnp.sort(x * params, axis=-1), axis=-1)
        return jnp.mean(jnp.abs(jnp.fft.rfft(y, axis=-1)) ** 2)

    return step(loss, placed(mesh, (columns,)), placed(mesh, (rows, columns), "data"))


def trainer(mesh: Any, embed: str | None = None, slots: str | None = None, **sizes: Any) -> Any:
    """The reference trainer: `embed` lays parameters over the devices (FSDP), `slots` only the optimizer's (ZeRO-1)."""
    from contract_lint.runtime.trainer import build

    logical = {"layer": None, "embed": embed, "heads": None, "mlp": None, "vocab": None}
    return build(mesh, "proof-1b", logical_axes=logical, batch_axes=("data",), optimizer_axes=slots, **sizes)


PROGRAMS: dict[str, dict[str, Any]] = {
    "conv": {},
    "conv:large": {"batch": 4096, "image": 340, "channels": 16},
    "conv:deep": {"depth": 5, "image": 64},
    "conv:narrow": {"channels": 8},
    "conv:wide": {"channels": 160, "image": 64},
    "mlp": {},
    "mlp:small": {"batch": 64, "width": 256, "depth": 2},
    "mlp:deep": {"depth": 24, "width": 1024},
    "mlp:wide": {"batch": 64, "width": 8192, "depth": 8},
    "mlp:wide-deep": {"batch": 8, "width": 8192, "depth": 16},
    "scan": {},
    "scan:remat": {"remat": True},
    "scan:large": {"batch": 1 << 16},
    "scan:wide": {"batch": 64, "width": 8192, "depth": 8},
    "scan:wide-remat": {"batch": 64, "width": 8192, "depth": 8, "remat": True},
    "attention": {},
    "attention:long": {"length": 4096, "batch": 8},
    "embedding": {},
    "embedding:wide": {"vocab": 128_000, "batch": 16},
    "recurrent": {},
    "recurrent:long": {"length": 4096},
    "sorting": {},
    "trainer:fsdp": {"embed": "data", "batch": 16},
    "trainer:zero1": {"slots": "data", "batch": 16, "d_model": 1024, "d_ff": 2816, "heads": 8},
}
"""Name of a program, the function before the colon, and its arguments."""


@dataclass(frozen=True)
class Measured:
    """Bytes on one device; of a program that was refused only `need` is known."""

    standing: int | None
    temp: int | None
    need: int
    early: int = 0
    refused: bool = False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="tpu:v5e:2x4")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", choices=[*PROGRAMS, []], help=", ".join(PROGRAMS))
    chosen = parser.parse_args()
    print(f"{'MiB':16}{'':4}{'standing':>9}{'temp':>10}{'need':>10}", end="")
    print(f"{'full: temp':>14}{'need':>10}{'temp ratio':>12}{'need ratio':>12}{'room/full':>12}")
    for name in chosen.programs or PROGRAMS:
        fast, full = (measured(name, chosen.target, effort) for effort in ("fast", "full"))
        same = "" if None in (fast.standing, full.standing) else "=" if fast.standing == full.standing else "!"
        print(f"{name:16}{same:>4}{mib(fast.standing):>9}{mib(fast.temp):>10}{mib(fast.need):>10}", end="")
        print(f"{mib(full.temp):>14}{mib(full.need):>10}", end="")
        print(f"{ratio(full.temp, fast.temp):>12}{ratio(full.need, fast.need):>12}", end="")
        print(f"{ratio(ROOM * fast.need + fast.early, full.need):>12}", end="")
        print("  refused" if full.refused or fast.refused else "", flush=True)


def mib(size: int | None) -> str:
    return "-" if size is None else f"{size / MIB:.2f}"


def ratio(full: int | None, fast: int | None) -> str:
    return f"{full / fast:.3f}" if full and fast else "-"


def measured(name: str, target: str, effort: str) -> Measured:
    """One compile in a child process, as `verify` makes it."""
    from contract_lint.contracts.target_name import parse_target
    from contract_lint.hlo_tools.capture import read_capture
    from contract_lint.hlo_tools.collectives import collective_instructions
    from contract_lint.hlo_tools.memory import memory
    from contract_lint.hlo_tools.messages import out_of_memory
    from contract_lint.runtime.contract import provenance
    from contract_lint.runtime.launch import run_child
    from contract_lint.runtime.request import ChildRequest, MeshRequest, StepRequest

    entry, args = f"{Path(__file__).stem}:{name.partition(':')[0]}", PROGRAMS[name]
    with tempfile.TemporaryDirectory() as folder:
        request = ChildRequest.model_validate(
            {
                "target": target,
                "effort": effort,
                "mesh": MeshRequest(axes={"data": parse_target(target).devices}),
                "steps": [StepRequest(name="train", entry=entry, path=[str(HERE)], args=args)],
                "project_root": str(HERE),
                "out": str(Path(folder) / "capture"),
                "provenance": provenance(HERE, "", target),
            }
        )
        result = run_child(request, partial(print, f"{name} {effort}:", file=sys.stderr))
        if result.error is not None:
            raise SystemExit(f"{name}: {result.error}")
        made = read_capture(Path(folder) / "capture").steps["train"]
        if made.facts.error is not None:
            said = out_of_memory(made.stderr or "") or out_of_memory(made.facts.error.message)
            if said is None:
                raise SystemExit(f"{name}: {made.facts.error.message}")
            return Measured(None, None, said.needed_bytes, refused=True)
        ledger = memory(made.proto, facts=made.facts)
        asked = collective_instructions(made.partitioned) if made.partitioned is not None else []
        early = sum(each.shape.bytes for each in asked)
    return Measured(ledger.standing_bytes, ledger.temp_bytes, ledger.need_bytes, early)


if __name__ == "__main__":
    main()
