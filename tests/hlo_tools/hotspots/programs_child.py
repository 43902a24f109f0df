"""Compiles each hot spot and its twin without one for the CPU, and prints their texts as JSON by name."""

from __future__ import annotations

import json
import os

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
from sizes import TOKENS, VOCAB, WIDTH, B, D, H, S

jax.config.update("jax_enable_compilation_cache", False)


def f32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def s32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.int32)


def attention(q, k, v):
    scores = jnp.einsum("bhsd,bhtd->bhst", q, k) / D**0.5
    return jnp.einsum("bhst,bhtd->bhsd", jax.nn.softmax(scores), v)


def linear_attention(q, k, v):
    return jnp.einsum("bhst,bhtd->bhsd", jnp.einsum("bhsd,bhtd->bhst", q, k) / D**0.5, v)


def loss(x, w, labels):
    logits = x @ w
    return jnp.mean(jax.nn.logsumexp(logits, axis=1) - jnp.take_along_axis(logits, labels[:, None], 1)[:, 0])


def square_loss(x, w, labels):
    return jnp.mean(jnp.square(x @ w - labels[:, None]))


def softmax(x):
    return jax.nn.softmax(x, axis=-1)


def sigmoid(x):
    return jax.nn.sigmoid(x)


def norm(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-6) * scale


def scaled(x, scale):
    return jnp.maximum(x, 0) * scale


def grouped_product(x, rows, w):
    return jnp.tanh(x)[rows] @ w


def product(x, rows, w):
    return jnp.tanh(x) @ w


def table_gradient(table, tokens, g):
    return jax.vjp(lambda table: table[tokens], table)[1](g)[0]


def one_hot_gradient(table, tokens, g):
    return jax.nn.one_hot(tokens, table.shape[0]).T @ g


QKV = (f32(B, H, S, D),) * 3
PROGRAMS = {
    "attention": (attention, linear_attention, QKV),
    "attention backward": (
        lambda *qkv: jax.grad(lambda *a: attention(*a).sum(), (0, 1, 2))(*qkv),
        lambda *qkv: jax.grad(lambda *a: linear_attention(*a).sum(), (0, 1, 2))(*qkv),
        QKV,
    ),
    "cross-entropy": (loss, square_loss, (f32(TOKENS, WIDTH), f32(WIDTH, VOCAB), s32(TOKENS))),
    "softmax": (softmax, sigmoid, (f32(TOKENS, VOCAB),)),
    "norm": (norm, scaled, (f32(TOKENS, VOCAB), f32(VOCAB))),
    "gathered-product": (grouped_product, product, (f32(TOKENS, WIDTH), s32(3 * TOKENS), f32(WIDTH, VOCAB))),
    "embedding-gradient": (table_gradient, one_hot_gradient, (f32(VOCAB, WIDTH), s32(TOKENS), f32(TOKENS, WIDTH))),
}


def main() -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    texts = {
        name: [jax.jit(each).lower(*arguments).compile().as_text() for each in (hot, twin)]
        for name, (hot, twin, arguments) in PROGRAMS.items()
    }
    out.write(json.dumps(texts))
    out.flush()


if __name__ == "__main__":
    main()
