"""What the collective formulas share: the contract of a dense model on one mesh, checked and in symbols."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..model import Contract, DenseModel, DtypesSection, MeshSection, OptimizerSection, as_axes
from .error import PlanError
from .parameters import Parameter, parameters_of
from .placement import Placement, check_spec, place_parameter
from .quantity import ONE, Quantity, product
from .tensors import mesh_of, required, slot_spec


@dataclass(frozen=True, slots=True)
class Weight:
    """A parameter and the mesh axes of its two kinds of dimensions: `embed` (FSDP) and the inner one (tensor parallel).

    Axes of size one are left out: they never communicate. `size` is the part one use needs: a single layer, whole
    along `embed`, divided by the tensor-parallel axes. `slots` are the axes of the `embed` dimension of its optimizer
    slots.
    """

    parameter: Parameter
    embed: tuple[str, ...]
    inner: tuple[str, ...]
    slots: tuple[str, ...]
    size: Quantity

    @property
    def path(self) -> str:
        return self.parameter.path

    @property
    def is_scale(self) -> bool:
        """A norm's scale: used and differentiated in the master dtype, as the statistics are."""
        return self.path.endswith("scale")


@dataclass(frozen=True, slots=True)
class Layout:
    """A dense model on a mesh. `batch_axes`, `heads`, `mlp` and `vocab` are mesh axes in mesh order without those of
    size one; `jax` is the version that lowers the step, () where none is known."""

    model: DenseModel
    mesh: MeshSection
    dtypes: DtypesSection
    optimizer: OptimizerSection
    weights: tuple[Weight, ...]
    batch_axes: tuple[str, ...]
    heads: tuple[str, ...]
    mlp: tuple[str, ...]
    vocab: tuple[str, ...]
    layers: Quantity
    microbatches: Quantity
    local_batch: Quantity
    sequence: Quantity
    d_model: Quantity
    jax: tuple[int, ...] = ()

    @property
    def activation(self) -> Quantity:
        """Elements of one microbatch's residual stream on one device: b * s * d."""
        return self.local_batch * self.sequence * self.d_model

    def uses(self, weight: Weight, forward: bool) -> Quantity:
        """How often one step uses a parameter: once a microbatch, once a layer where layers are stacked, and in the
        forward pass once more where `remat: full` repeats the layer (Chen et al. 1604.06174)."""
        times = self.microbatches * self.layers if weight.parameter.per_layer else self.microbatches
        if forward and weight.parameter.per_layer and self.model.remat == "full":
            return times * Quantity(2, "2")
        return times

    def grad_dtype(self, weight: Weight) -> str:
        """Weights are cast to the compute dtype before use, so their gradients are reduced in it. Scales, and the
        output head whose logits are kept in the master dtype, reduce in the master dtype."""
        wide = weight.is_scale or weight.path == "lm_head/kernel"
        return self.dtypes.master if wide else self.dtypes.compute

    def use_dtype(self, weight: Weight) -> str:
        return self.dtypes.master if weight.is_scale else self.dtypes.compute


def ways(axes: tuple[str, ...], mesh: MeshSection) -> Quantity:
    """The number of devices along some axes, as `n(data) * n(fsdp)`."""
    return product(*(Quantity(mesh.axes[axis], f"n({axis})") for axis in axes)) if axes else ONE


def live(axes: tuple[str, ...], mesh: MeshSection) -> tuple[str, ...]:
    """The axes that have more than one device, in mesh order."""
    return tuple(axis for axis in mesh.axes if axis in axes and mesh.axes[axis] > 1)


def layout_of(contract: Contract, target: str, jax: str | None = None) -> Layout:
    """The contract of a dense model on one target's mesh.

    Raises PlanError where a section is missing, something does not divide, or a placement is outside what the
    formulas cover.
    """
    required(contract, "model", "dtypes", "optimizer", "parameters", "batch")
    mesh = mesh_of(contract, target)
    model, batch = contract.model, contract.batch
    assert contract.dtypes and contract.optimizer and batch
    if not isinstance(model, DenseModel):
        raise PlanError(
            "model.kind",
            "a listed model has no closed form for its collectives",
            help="list the promised collectives under `collectives.expect`; `contract-lint init` writes what it finds",
        )
    split = as_axes(batch.axes)
    check_spec("batch", (batch.size,), (split,), mesh, "batch.axes")
    placements = {p.path: place_parameter(p, contract, mesh) for p in parameters_of(model)}
    batch_axes = live(split, mesh)
    inner = {name: _inner(placements, name, mesh) for name in ("heads", "mlp", "vocab")}
    _check_heads(model, inner["heads"], mesh)
    weights = tuple(_weight(p, contract.optimizer, mesh, batch_axes) for p in placements.values())
    repeats = contract.microbatches
    if batch.size % repeats:
        raise PlanError(
            "accumulation.microbatches", f"a batch of {batch.size} does not split in {repeats} microbatches"
        )
    microbatches = Quantity(repeats, "microbatches")
    size = Quantity(batch.size, "batch") // microbatches
    if size.value % ways(batch_axes, mesh).value:
        raise PlanError(
            "accumulation.microbatches",
            f"a microbatch of {size.value} sequences does not divide over {ways(batch_axes, mesh)} devices",
        )
    return Layout(
        model=model,
        mesh=mesh,
        dtypes=contract.dtypes,
        optimizer=contract.optimizer,
        weights=weights,
        batch_axes=batch_axes,
        **inner,
        layers=Quantity(model.layers, "layers"),
        microbatches=microbatches,
        local_batch=size // ways(batch_axes, mesh),
        sequence=Quantity(model.sequence, "sequence"),
        d_model=Quantity(model.d_model, "d_model"),
        jax=tuple(int(part) for part in re.findall(r"\d+", jax or "")[:2]),
    )


def _inner(placements: dict[str, Placement], name: str, mesh: MeshSection) -> tuple[str, ...]:
    """The mesh axes of one tensor-parallel logical axis: the same for every parameter that has it."""
    found = {
        live(axes, mesh): placement
        for placement in placements.values()
        for conventional, axes in zip(placement.parameter.axes, placement.spec, strict=True)
        if conventional == name
    }
    if len(found) > 1:
        first, second = list(found.values())[:2]
        raise PlanError(
            second.key,
            f"`{second.parameter.path}` and `{first.parameter.path}` place their `{name}` dimension on different axes",
        )
    return next(iter(found))


def _check_heads(model: DenseModel, axes: tuple[str, ...], mesh: MeshSection) -> None:
    count = ways(axes, mesh).value
    for key in ("heads", "kv_heads"):
        if getattr(model, key) % count:
            raise PlanError(
                f"model.{key}", f"{getattr(model, key)} heads do not divide over {count} devices ({', '.join(axes)})"
            )


def _weight(
    placement: Placement, optimizer: OptimizerSection, mesh: MeshSection, batch_axes: tuple[str, ...]
) -> Weight:
    parameter = placement.parameter
    by_name = dict(zip(parameter.axes, placement.spec, strict=True))
    if live(by_name.get("layer", ()), mesh):
        raise PlanError(
            placement.key, f"`{parameter.path}` splits its layers over devices; pipeline plans have no formula yet"
        )
    embed = live(by_name["embed"], mesh)
    inner = live(tuple(a for name, axes in by_name.items() if name != "embed" for a in axes), mesh)
    if outside := [axis for axis in embed if axis not in batch_axes]:
        raise PlanError(
            placement.key,
            f"`{parameter.path}` is split over `{outside[0]}`, which does not split the batch",
        )
    if both := [axis for axis in inner if axis in batch_axes]:
        raise PlanError(placement.key, f"`{parameter.path}` and the batch are both split over `{both[0]}`")
    spec = slot_spec(placement, optimizer, mesh)
    slots = live(spec[parameter.axes.index("embed")], mesh)
    dims = parameter.dims[1:] if parameter.per_layer else parameter.dims
    return Weight(parameter, embed, inner, slots, product(*dims) // ways(inner, mesh))
