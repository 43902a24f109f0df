"""The parameters of a model, by path, symbolic shape and logical axes."""

from __future__ import annotations

from dataclasses import dataclass

from ..model import DenseModel, ListedModel
from .error import PlanError
from .quantity import Quantity, product


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter. `axes` are its conventional logical axes, one for each dimension; empty where only a rule can
    tell."""

    path: str
    dims: tuple[Quantity, ...]
    axes: tuple[str | None, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(dim.value for dim in self.dims)

    @property
    def per_layer(self) -> bool:
        """Whether the leading dimension stacks the layers of a scan."""
        return bool(self.axes) and self.axes[0] == "layer"

    @property
    def size(self) -> Quantity:
        """Elements of the whole array."""
        return product(*self.dims)


def head_dim(model: DenseModel) -> int:
    """Width of one attention head: `head_dim`, by default d_model / heads. Raises PlanError where that is not whole."""
    if model.head_dim is not None:
        return model.head_dim
    if model.d_model % model.heads:
        raise PlanError(
            "model.heads",
            f"d_model {model.d_model} is not a multiple of {model.heads} heads, and head_dim is not given",
        )
    return model.d_model // model.heads


def parameters_of(model: DenseModel | ListedModel) -> tuple[Parameter, ...]:
    """Every parameter of the model, in a fixed order. Raises PlanError for an impossible head count."""
    return _dense(model) if isinstance(model, DenseModel) else _listed(model)


def _listed(model: ListedModel) -> tuple[Parameter, ...]:
    return tuple(
        Parameter(path, tuple(Quantity(size, str(size)) for size in shape), ())
        for path, shape in model.parameters.items()
    )


def _dense(model: DenseModel) -> tuple[Parameter, ...]:
    """A pre-norm decoder with grouped-query attention, stacked over layers (Vaswani 1706.03762; GQA 2305.13245;
    SwiGLU 2002.05202)."""
    if model.heads % model.kv_heads:
        raise PlanError("model.kv_heads", f"{model.heads} heads are not a multiple of {model.kv_heads} key/value heads")
    width = head_dim(model)
    layer = Quantity(model.layers, "layers")
    embed = Quantity(model.d_model, "d_model")
    queries = Quantity(model.heads * width, "heads * head_dim")
    keys = Quantity(model.kv_heads * width, "kv_heads * head_dim")
    mlp = Quantity(model.d_ff, "d_ff")
    vocab = Quantity(model.vocab, "vocab")
    column, row = ("layer", "embed", "heads"), ("layer", "heads", "embed")
    table = [
        Parameter("embed/table", (vocab, embed), ("vocab", "embed")),
        Parameter("layers/attn/wq", (layer, embed, queries), column),
        Parameter("layers/attn/wk", (layer, embed, keys), column),
        Parameter("layers/attn/wv", (layer, embed, keys), column),
        Parameter("layers/attn/wo", (layer, queries, embed), row),
        Parameter("layers/attn_norm/scale", (layer, embed), ("layer", "embed")),
        Parameter("layers/mlp/w_up", (layer, embed, mlp), ("layer", "embed", "mlp")),
        Parameter("layers/mlp/w_down", (layer, mlp, embed), ("layer", "mlp", "embed")),
        Parameter("layers/mlp_norm/scale", (layer, embed), ("layer", "embed")),
        Parameter("final_norm/scale", (embed,), ("embed",)),
    ]
    if model.mlp == "gated":
        table.append(Parameter("layers/mlp/w_gate", (layer, embed, mlp), ("layer", "embed", "mlp")))
    if not model.tied:
        table.append(Parameter("lm_head/kernel", (embed, vocab), ("embed", "vocab")))
    return tuple(table)
