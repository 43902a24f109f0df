"""`contract-lint batch check --probe` on steps that run: what leaks, what is dead, and the handed cases as steps."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
CORPUS = os.environ.get("CONTRACT_LINT_CORPUS")
STEP = '''
from types import SimpleNamespace

import jax
import jax.numpy as jnp

V, D, B, T = 20, 8, 2, 10


def build(leak=False, causal=True, positions=True, by="terms", divide_by_size=False, window=T):
    """A step whose attention, positions and denominator can be wrong."""

    def losses(w, batch):
        h = w["embed"][batch["tokens"]] + (w["places"][batch["positions"]] if positions else w["places"])
        scores = jnp.einsum("btd,bsd->bts", h @ w["q"], h @ w["k"])
        seen = jnp.tril(jnp.ones((T, T), bool))[None] if causal else jnp.ones((1, T, T), bool)
        seen = seen & (jnp.arange(T)[:, None] - jnp.arange(T) < window)
        if not leak:
            seen = seen & (batch["segment_ids"][:, :, None] == batch["segment_ids"][:, None, :])
        logits = jax.nn.softmax(jnp.where(seen, scores, -1e30), axis=-1) @ h @ w["embed"].T
        picked = jnp.take_along_axis(logits, batch["targets"][..., None], -1)[..., 0]
        return jax.nn.logsumexp(logits, axis=-1) - picked

    def terms(w, batch):
        mask = batch["loss_mask"]
        return {"xent": ((losses(w, batch) * mask).sum(), jnp.float32(mask.size) if divide_by_size else mask.sum())}

    def step(w, batch):
        def loss(w):
            total, count = terms(w, batch)["xent"]
            return total / count

        value, grads = jax.value_and_grad(loss)(w)
        return jax.tree.map(lambda p, g: p - 1e-3 * g, w, grads), {"loss": value}

    def array(*shape, dtype=jnp.float32):
        return jax.ShapeDtypeStruct(shape, dtype)

    w = {"embed": array(V, D), "places": array(T, D), "q": array(D, D), "k": array(D, D)}
    batch = {name: array(B, T, dtype=jnp.int32) for name in ("tokens", "targets", "positions", "segment_ids")}
    batch["loss_mask"] = array(B, T)
    hooks = {"loss_terms": terms} if by == "terms" else {"token_losses": losses}
    return SimpleNamespace(fn=step, args=(w, batch), donate=("w",), **hooks)
'''
HEAD = """contract: 1
name: toy
targets: [cpu:1]
data: {{ packing: {{ kind: segments }}, tokenizer: {{ vocab: 20, pad_id: 0 }} }}
step: {{ train: {{ entry: "toy:build", args: {args} }} }}
"""


def _batch(path: Path) -> None:
    segments = np.array([[1] * 5 + [2] * 4 + [0], [1] * 3 + [2] * 3 + [3] * 4], np.int32)
    positions = np.array([[*range(5), *range(4), 0], [*range(3), *range(3), *range(4)]], np.int32)
    tokens = np.where(segments, np.random.default_rng(0).integers(1, 20, (2, 10)), 0).astype(np.int32)
    following = np.concatenate([segments[:, 1:], np.zeros((2, 1), int)], axis=1)
    mask = ((segments != 0) & (segments == following)).astype(np.float32)
    targets = np.concatenate([tokens[:, 1:], np.zeros((2, 1), np.int32)], axis=1)
    np.savez(path, tokens=tokens, targets=targets, positions=positions, segment_ids=segments, loss_mask=mask)


def _probe(cli: Run, folder: Path, args: str) -> tuple[int, dict[str, str | None], str]:
    """Exit code, and code -> cause of each finding."""
    (folder / "toy.py").write_text(STEP)
    (folder / "toy.contract.yaml").write_text(HEAD.format(args=args))
    _batch(folder / "b.npz")
    done = cli("batch", "check", "b.npz", "--contract", "toy.contract.yaml", "--probe", "--format", "json")
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)["findings"]
    return done.returncode, {each["code"]: each["caused_by"] for each in found}, done.stdout


def test_a_leak_is_seen(cli: Run, tmp_path: Path) -> None:
    code, found, text = _probe(cli, tmp_path, "{ leak: true }")
    assert code == 1 and found["DAT621"] is None and found["DAT623"] is not None and len(found) == 2, text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        ("{}", []),
        ("{ by: losses }", []),
        ("{ by: losses, leak: true }", ["DAT621"]),
        ("{ causal: false }", ["DAT622"]),
        ("{ positions: false }", ["DAT623"]),
        ("{ divide_by_size: true }", ["DAT624"]),
    ],
)
def test_each_fault_gives_its_root(cli: Run, tmp_path: Path, args: str, wanted: list[str]) -> None:
    _, found, text = _probe(cli, tmp_path, args)
    assert [code for code, cause in found.items() if cause is None] == wanted, text


@pytest.mark.slow
@pytest.mark.parametrize(("args", "wanted"), [("{ window: 2 }", []), ("{ window: 3 }", ["DAT626"]), ("{}", ["DAT626"])])
def test_a_window_that_is_promised(cli: Run, tmp_path: Path, args: str, wanted: list[str]) -> None:
    promised = HEAD.replace("packing:", "attention: {{ window: 2 }}, packing:")
    model = "model: { kind: dense, layers: 1, d_model: 8, heads: 1, kv_heads: 1, d_ff: 8, vocab: 20, sequence: 10 }\n"
    (tmp_path / "toy.py").write_text(STEP)
    (tmp_path / "toy.contract.yaml").write_text(promised.format(args=args) + model)
    _batch(tmp_path / "b.npz")
    done = cli("batch", "check", "b.npz", "--contract", "toy.contract.yaml", "--probe", "--format", "json")
    found = json.loads(done.stdout)["findings"]
    assert [each["code"] for each in found if each["caused_by"] is None] == wanted, (done.stdout, done.stderr)


CASES = '''
import contextlib, io, sys
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np


def names(path, variant):
    """What a case's generator leaves behind when it has run."""
    left = {"__file__": path, "__name__": "case"}
    sys.argv = [path, "--variant", variant]
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(open(path).read(), path, "exec"), left)
    return left


def attention(path, variant):
    """One packed row through the case's own attention: each output's sum stands for the loss of its token."""
    case = names(path, variant)
    shape = jax.ShapeDtypeStruct((1, len(case["seg"])), jnp.float32)

    def losses(tokens):
        def summed(tokens):
            return case["out"](np.asarray(tokens)[0]).sum(-1)[None].astype(np.float32)

        return jax.pure_callback(summed, shape, tokens)

    tokens = jax.ShapeDtypeStruct(shape.shape, jnp.int32)
    return SimpleNamespace(fn=lambda tokens: losses(tokens).sum(), args=(tokens,), token_losses=losses)


def denominator(path, variant):
    """The case's losses and its choice of a denominator."""
    case = names(path, variant)

    def terms(loss_mask):
        return {"xent": ((case["ce"] * loss_mask).sum(), float(loss_mask.size) if case["BAD"] else loss_mask.sum())}

    mask = jax.ShapeDtypeStruct(case["m"].shape, jnp.float32)
    return SimpleNamespace(fn=lambda loss_mask: terms(loss_mask)["xent"][0], args=(mask,), loss_terms=terms)
'''


@pytest.mark.slow
@pytest.mark.skipif(CORPUS is None, reason="CONTRACT_LINT_CORPUS is not set")
@pytest.mark.parametrize(
    ("case", "build", "rule"),
    [("04_packed_segment_leak", "attention", "DAT621"), ("08_padding_in_denominator", "denominator", "DAT624")],
)
def test_handed_cases(cli: Run, tmp_path: Path, case: str, build: str, rule: str) -> None:
    (tmp_path / "cases.py").write_text(CASES)
    path = Path(CORPUS or "", "cases", "contracts", case, "gen.py")
    if build == "attention":
        segments = np.array([[1] * 5 + [2] * 4 + [0]])
        np.savez(tmp_path / "b.npz", tokens=np.arange(1, 11)[None] * (segments != 0), segment_ids=segments)
    else:
        mask = (np.arange(16)[None] < np.array([16, 4, 4, 4])[:, None]).astype(np.float32)
        np.savez(tmp_path / "b.npz", tokens=np.ones((4, 16), int), loss_mask=mask)
    for variant, wanted in (("bad", [rule]), ("good", [])):
        args = json.dumps({"path": str(path), "variant": variant})
        step = f'step: {{ train: {{ entry: "cases:{build}", args: {args} }} }}\n'
        head = "contract: 1\nname: c\ntargets: [cpu:1]\ndata: { packing: { kind: segments } }\n"
        (tmp_path / "c.contract.yaml").write_text(head + step)
        done = cli("batch", "check", "b.npz", "--contract", "c.contract.yaml", "--probe", "--format", "json")
        assert [each["code"] for each in json.loads(done.stdout)["findings"]] == wanted, (variant, done.stdout)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--probe",), "--probe needs --contract FILE"),
        (("--probe", "--contract", "toy.contract.yaml", "--step", "eval"), "has no step `eval`"),
        (("--probe", "--contract", "toy.contract.yaml", "--target", "tpu:v5e:2x2"), "can be executed here"),
    ],
)
def test_wrong_usage(cli: Run, tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    (tmp_path / "toy.contract.yaml").write_text(HEAD.format(args="{}"))
    _batch(tmp_path / "b.npz")
    done = cli("batch", "check", "b.npz", *arguments)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
