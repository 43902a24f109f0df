"""Packed documents have segment ids, and the attention does not get them.

## What it does
Reports an attention call in a function that has segment ids at hand (a parameter, `batch["segment_ids"]`), where
neither they nor anything made of them goes into the call, and no mask does either but a causal one.

## Why is this bad?
Where several documents share a row, attention without segment ids looks across their borders. The loss goes down as
usual, on a model that has learned to read its neighbours (https://github.com/marin-community/marin/issues/7087,
https://github.com/huggingface/nanoVLM/issues/204).

## Example
    def block(q, k, v, segment_ids):
        return jax.nn.dot_product_attention(q, k, v, is_causal=True)

## Use instead
    def block(q, k, v, segment_ids):
        same = segment_ids[:, None, :, None] == segment_ids[:, None, None, :]
        return jax.nn.dot_product_attention(q, k, v, mask=same, is_causal=True)

## What stays clean
Calls that get the segment ids, a mask or bias made of them, a mask from elsewhere, the lengths or starts of the
documents, or weights that were masked before; calls with starred arguments;
functions with a second attention that does get them; tests. Whether documents really stay apart only a run shows:
change one of them, and look whether the outputs of another move.

## References
- https://docs.jax.dev/en/latest/_autosummary/jax.nn.dot_product_attention.html
- https://flax.readthedocs.io/en/latest/api_reference/flax.linen/layers.html#flax.linen.make_attention_mask
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..formulas import alike, applied, inside
from ..pattern import Pattern
from ..records import Call, Function
from ..rule import Example, SourceRule
from ..values.value import Value

_SEGMENTS = Pattern(r"(^|_)(segment_?ids?|segmentations?|segments|doc(ument)?_ids?|sequence_ids)(_|$)", re.I)
_ATTENDS = Pattern(
    r"^_?((self_|causal_|multi_?head_|grouped_query_)?(attention|attn|mha|sdpa)|\w*(dot_product|flash|splash)_attention)$",
    re.I,
)
_MASKS = Pattern(r"mask|bias|segment|causal_offset|lengths?|seq_?lens|start_loc|cu_seq|indptr", re.I)
_WEIGHED = Pattern(r"(^|_)(probs|probabilities|scores|logits)$|att(entio)?n_weights$", re.I)
_CAUSAL = frozenset({"make_causal_mask", "tril", "tri"})


def check(facts: FileFacts) -> Iterable[Finding]:
    for function in facts.functions:
        calls = [call for call in function.calls if _attends(facts, call)]
        if not calls:
            continue
        segments = list(_segments(function))
        if not segments:
            continue
        told = [_is_told(facts, call, segments) for call in calls]
        if any(told):
            continue
        for call in calls:
            if _is_masked(facts, call):
                continue
            yield facts.finding(
                RULE,
                call.node,
                "segment ids are at hand, and this attention does not get them: documents in one row see each other",
                subject=f"{function.name}: {facts.text(call.node)}",
                because=facts.why(function),
                help="pass the segment ids, or a mask made of them",
            )


def _attends(facts: FileFacts, call: Call) -> bool:
    """Whether a call attends: by its name, or since what is called is an attention module."""
    if call.decorates is not None or not (call.args or call.keywords):
        return False
    name = facts.callee(call).name or ""
    if name.endswith(".__call__"):
        return "attention" in name.rpartition(".")[0].rpartition(".")[2].lower()
    last = name.rpartition(".")[2]
    if last[:1].isupper():
        return False
    written = call.func.data if call.func.op == "attr" else last
    return bool(_ATTENDS.search(last) or (isinstance(written, str) and _ATTENDS.search(written)))


def _segments(function: Function) -> Iterator[Value]:
    """The segment ids that a function has: parameters, items and fields of parameters."""
    for each in function.reads:
        if each.value.op == "param" and _SEGMENTS.search(each.value.data.name):
            yield each.value
    for parameter in function.parameters:
        if _SEGMENTS.search(parameter.name):
            yield Value("param", None, (), parameter)
    for item in function.items:
        if item.value.op == "item" and item.value.args[1].op == "const":
            key = item.value.args[1].data
            if isinstance(key, str) and _SEGMENTS.search(key):
                yield item.value
    for value in function.attributes:
        if isinstance(value.data, str) and _SEGMENTS.search(value.data):
            yield value


def _is_told(facts: FileFacts, call: Call, segments: list[Value]) -> bool:
    """Whether segment ids, what holds them, or something made of them goes into a call."""
    if None in call.keywords or any(each.op == "star" for each in call.args):
        return True
    holders = [each.args[0] for each in segments if each.op in ("item", "attr")]
    for given in (*call.args, *call.keywords.values()):
        if any(given is each for each in holders):
            return True
        if any(alike(part, each) for part in inside(facts, given) for each in segments):
            return True
    return False


def _is_masked(facts: FileFacts, call: Call) -> bool:
    """Whether a mask or bias that is more than causal goes into a call, or weights that masks went into before."""
    for name, value in call.keywords.items():
        if name is not None and _MASKS.search(name) and not _is_causal(facts, value):
            return True
    written = [getattr(each, "attr", None) or getattr(each, "id", "") for each in getattr(call.node, "args", ())]
    if any(_MASKS.search(name) or _WEIGHED.search(name) for name in written):
        return True
    return any(_is_mask_argument(facts, each) for each in call.args)


def _is_mask_argument(facts: FileFacts, value: Value) -> bool:
    """Whether a positional argument is made as a mask, and not as a causal one."""
    made = applied(facts, value)
    return made is not None and "mask" in made.name and made.name not in _CAUSAL


def _is_causal(facts: FileFacts, value: Value) -> bool:
    """Whether a mask is None, or one that only hides what comes later."""
    if value.op == "const":
        return True
    made = applied(facts, value)
    return made is not None and made.name in _CAUSAL


BAD = (
    Example(
        "a parameter that is not used",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def block(q, k, v, segment_ids):
            return jax.nn.dot_product_attention(q, k, v, is_causal=True)  # bad
        """,
        run=(
            "ids = jnp.array([[0, 0, 1, 1]])\n"
            "x = jax.random.normal(jax.random.key(0), (1, 4, 1, 8))\n"
            "other = x.at[:, :2].set(0.0)\n"
            "assert (block(x, x, x, ids)[:, 2:] != block(x, other, other, ids)[:, 2:]).any()"
        ),
    ),
    Example(
        "a helper of another file, a batch, a causal mask",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp
        from heads import attention

        def layer(scale, x, batch):
            weights = batch["segment_ids"] > 0
            mask = jnp.tril(jnp.ones((4, 4), bool))
            return attention(x, x, x, mask=mask) * weights[..., None] * scale  # bad

        fast = jax.jit(partial(layer, 2.0))
        """,
        files={
            "heads.py": """
            import jax.numpy as jnp

            def attention(q, k, v, mask=None):
                scores = jnp.where(mask, q @ jnp.swapaxes(k, -1, -2), -1e9)
                return jnp.exp(scores - scores.max(-1, keepdims=True)) @ v
            """
        },
        run="fast(jnp.ones((1, 4, 2)), {'segment_ids': jnp.ones((1, 4), int)})",
    ),
    Example(
        "a module of flax, by an alias",
        """
        from flax import linen as nn
        from flax.linen import MultiHeadDotProductAttention as Heads
        import jax.numpy as jnp

        class Block(nn.Module):
            @nn.compact
            def __call__(self, x, inputs_segmentation):
                x = nn.LayerNorm()(x)
                return x + Heads(num_heads=2)(x, x)  # bad
        """,
        run="import jax\nBlock().init(jax.random.key(0), jnp.ones((1, 4, 4)), jnp.ones((1, 4), int))",
    ),
)

GOOD = (
    Example(
        "a mask made of the segment ids",
        """
        import jax
        import jax.numpy as jnp

        def same_document(ids):
            return ids[:, None, :, None] == ids[:, None, None, :]

        @jax.jit
        def block(q, k, v, segment_ids):
            mask = same_document(segment_ids)
            return jax.nn.dot_product_attention(q, k, v, mask=mask, is_causal=True)
        """,
        run="x = jnp.ones((1, 4, 1, 8))\nblock(x, x, x, jnp.array([[0, 0, 1, 1]]))",
    ),
    Example(
        "the ids, the batch, or all arguments are passed on",
        """
        import jax

        def layer(attention, x, batch):
            ids = batch["segment_ids"]
            return attention(x, segment_ids=ids)

        def block(attention, x, batch, **options):
            weights = batch["segment_ids"] > 0
            return attention(x, batch) * weights, attention(x, **options)
        """,
    ),
    Example(
        "a mask from elsewhere",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def block(q, k, v, mask, segment_ids):
            return jax.nn.dot_product_attention(q, k, v, mask=mask) * (segment_ids > 0)[..., None, None]

        def weighed(compute_local_attention, scores, v, segment_ids):
            scores = jnp.where(segment_ids == segment_ids.T, scores, -1e9)
            return compute_local_attention(jax.nn.softmax(scores), v)

        def in_two_steps(compute_local_attention, qk_product, apply_mask, q, k, v, segment_ids):
            attn_weights = apply_mask(qk_product(q, k), segment_ids)
            return compute_local_attention(attn_weights, v)

        def ragged(run_attention, q, k, v, batch, metadata):
            weights = batch["segment_ids"] > 0
            query_start_loc = jnp.pad(metadata.starts, 1)
            return run_attention(q, k, v, query_start_loc) * weights
        """,
        run=("x = jnp.ones((1, 4, 1, 8))\nblock(x, x, x, jnp.ones((1, 1, 4, 4), bool), jnp.ones((1, 4)))"),
    ),
    Example(
        "no attention, and no segment ids",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def pooled(values, segment_ids):
            return jax.ops.segment_sum(values, segment_ids, num_segments=2)

        @jax.jit
        def block(q, k, v):
            return jax.nn.dot_product_attention(q, k, v, is_causal=True)
        """,
        run="pooled(jnp.ones(4), jnp.array([0, 0, 1, 1]))",
    ),
)

RULE = SourceRule(
    code="DAT101",
    name="packed-sequence-without-segments",
    severity="info",
    confidence="likely",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
