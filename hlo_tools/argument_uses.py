"""What the arguments of a bare program are, where no name tells or not enough: by what the program does with them.

A training step has a backward pass. What it returns an array of the same shape and type for is state: a parameter if
the differentiated function reads it, else, where it has a parameter's shape, an optimizer slot. The shape is one
device's or, where the result is not split as the argument is, that over all devices. A gradient that is returned as it
is stands for an argument too, and not for the one that the product which makes it multiplies: in a product's backward
pass the gradient of one factor is made with the other. Other arguments are its batch, unless a product of the forward
pass multiplies something computed with one of them: a frozen weight. A product that has no name, as the compiler leaves
some that it makes anew, is in the forward pass only where something reads it there.

In any other program an argument is a parameter if a product multiplies something computed with it, or if rows of it are
looked up. Of a product of two arguments neither is known by that alone: one is the input where the other is a
parameter, or where it is multiplied with several, which are parameters then. What is multiplied with a constant is an
input too. What a program updates and hands back (a cache), and what none of this tells of, is `other`: an argument, and
no more is said.

Where names tell of the parameters, an argument without such a name is a set of slots if the program returns every array
of it, each has a parameter's shape, and the differentiated function reads none: momentum by whatever name, donated or
not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..contracts.manifest import Leaf, StepFacts
from .proto import InstructionProto, ModuleProto
from .provenance import Provenance
from .roles import TensorClass, by_type, classify, is_float, leaf_path
from .scope import is_backward, is_forward, is_recomputed
from .shape import numpy_dtype

_PRODUCTS = frozenset(("dot", "convolution", "ragged-dot"))
_PRIMITIVES = ("/dot_general", "/conv_general_dilated", "/ragged_dot_general", "/ragged_dot")
"""Ends of the names of products, for those that a library's kernel works out."""
_SUMS = frozenset(("all-reduce", "all-reduce-done", "all-reduce-start", "reduce-scatter"))
_MAX_STEPS = 64
_FIXED = frozenset(("constant", "iota"))
_FRAMES = frozenset(("fusion", "call", "while", "conditional", "tuple", "get-tuple-element", "async-start"))


@dataclass(slots=True)
class Uses:
    """Numbers of the entry's parameters, by what is done with them.

    `weighing`: multiplied, outside a backward pass, with something computed. `weighed`: multiplied with a constant.
    `looked_up`: rows are taken out by index. `factors`: those that a product takes together with another argument, and
    which. `modelled`: read in the differentiated function or its backward pass.
    """

    is_training: bool = False
    weighing: set[int] = field(default_factory=set)
    weighed: set[int] = field(default_factory=set)
    looked_up: set[int] = field(default_factory=set)
    factors: dict[int, set[int]] = field(default_factory=dict)
    modelled: set[int] = field(default_factory=set)


def uses_of(module: ModuleProto) -> Uses:
    """What one program does with its arguments."""
    found, provenance = Uses(), Provenance(module)
    unnamed: list[InstructionProto] = []
    for computation in module.computations:
        for made in computation.instructions:
            if made.opcode in _FRAMES or made.opcode == "parameter":
                continue
            operands = [module.instruction_by_id.get(identity) for identity in made.operand_ids]
            backward = is_backward(made.op_name)
            found.is_training |= backward
            if backward or is_forward(made.op_name) or is_recomputed(made.op_name):
                numbers = (provenance.argument(operand) for operand in operands if operand is not None)
                found.modelled |= {number for number in numbers if number is not None}
            if made.opcode == "gather" and operands and operands[0] is not None:
                table = provenance.argument(operands[0])
                found.looked_up |= {table} if table is not None else set()
            if len(operands) > 1 and _multiplies(made):
                if made.op_name:
                    _product(found, provenance, operands[:2], backward)
                else:
                    unnamed.append(made)
    read_by = _names_of_readers(module, unnamed)
    for made in unnamed:
        operands = [module.instruction_by_id.get(identity) for identity in made.operand_ids]
        names = read_by.get(made.id, ())
        backward = found.is_training and all(is_backward(name) for name in names)
        _product(found, provenance, operands[:2], backward)
    return found


def _names_of_readers(module: ModuleProto, products: Sequence[InstructionProto]) -> dict[int, set[str]]:
    """Product -> the names of the instructions that read it; names of those in a fusion where that has none itself."""
    names: dict[int, set[str]] = {made.id: set() for made in products}
    for computation in module.computations if names else ():
        for user in computation.instructions:
            for identity in user.operand_ids:
                if identity in names:
                    callee = module.computation_by_id.get(user.called_ids[0]) if user.called_ids else None
                    inside = [made.op_name for made in callee.instructions] if callee is not None else []
                    names[identity].update(name for name in ([user.op_name] if user.op_name else inside) if name)
    return names


def _multiplies(made: InstructionProto) -> bool:
    return made.opcode in _PRODUCTS or (made.opcode == "custom-call" and made.op_name.endswith(_PRIMITIVES))


def _product(found: Uses, provenance: Provenance, factors: Sequence[InstructionProto | None], backward: bool) -> None:
    one, other = (None if each is None else provenance.argument(each) for each in factors)
    if one is not None and other is not None:
        if one != other:
            found.factors.setdefault(one, set()).add(other)
            found.factors.setdefault(other, set()).add(one)
        return
    sources = [provenance.source(each) for each in factors if each is not None]
    fixed = any(source is not None and source[0].opcode in _FIXED for source in sources)
    numbers = {number for number in (one, other) if number is not None}
    if fixed:
        found.weighed |= numbers
    elif not backward:
        found.weighing |= numbers


def classify_by_use(module: ModuleProto, leaves: Sequence[Leaf]) -> list[TensorClass]:
    """The class of every argument, in the order of `leaves`; the rules are those of this module."""
    uses = uses_of(module)
    returned = _returned(module, leaves, [leaf.parameter in uses.modelled for leaf in leaves])
    classes: list[TensorClass | None] = [
        by_type(leaf, leaf_path(leaf)) or (None if is_float(leaf) and leaf.shape else "batch") for leaf in leaves
    ]
    open_ = [at for at, kind in enumerate(classes) if kind is None]
    if uses.is_training:
        _of_training(uses, leaves, returned, classes, open_)
    else:
        _of_inference(uses, leaves, returned, classes, open_)
    return [kind or "other" for kind in classes]


def classify_by_name(module: ModuleProto, leaves: Sequence[Leaf]) -> list[TensorClass]:
    """The class of every argument by names (`roles`); of one that no name speaks for, by what is done with it."""
    classes = classify(StepFacts(step="", entry="", arguments=list(leaves)))
    shapes = {tuple(leaf.shape) for leaf, kind in zip(leaves, classes, strict=True) if kind == "parameter"}
    arrays: dict[str, list[int]] = {}
    for at, leaf in enumerate(leaves):
        if is_float(leaf) and leaf.shape:
            arrays.setdefault(leaf.argument, []).append(at)
    open_ = [
        places
        for places in arrays.values()
        if all(classes[at] == "batch" and tuple(leaves[at].shape) in shapes for at in places)
    ]
    if open_:
        modelled = uses_of(module).modelled
        returned = _returned(module, leaves, [kind not in ("batch", "other") for kind in classes])
        for places in open_:
            if all(at in returned and leaves[at].parameter not in modelled for at in places):
                for at in places:
                    classes[at] = "optimizer_slot"
    return classes


def _of_training(
    uses: Uses, leaves: Sequence[Leaf], returned: set[int], classes: list[TensorClass | None], open_: list[int]
) -> None:
    for at in open_:
        number = leaves[at].parameter
        if number in uses.modelled and (at in returned or number in uses.weighing | uses.looked_up):
            classes[at] = "parameter"
        elif at not in returned:
            classes[at] = "batch"
    shapes = {tuple(leaves[at].shape) for at in open_ if classes[at] == "parameter"}
    for at in open_:
        if classes[at] is None and tuple(leaves[at].shape) in shapes:
            classes[at] = "optimizer_slot"


def _of_inference(
    uses: Uses, leaves: Sequence[Leaf], returned: set[int], classes: list[TensorClass | None], open_: list[int]
) -> None:
    updated = {leaves[at].parameter for at in open_ if at in returned and leaves[at].aliased}
    weights = (uses.weighing | uses.looked_up) - updated
    inputs = uses.weighed - weights
    factors = uses.factors.items()
    inputs |= {one for one, others in factors if one not in weights and (others & weights or len(others) > 1)}
    weights |= {other for one in inputs for other in uses.factors.get(one, ()) if other not in inputs} - updated
    for at in open_:
        number = leaves[at].parameter
        if number in weights:
            classes[at] = "parameter"
        elif number in inputs - updated:
            classes[at] = "batch"


def _returned(module: ModuleProto, leaves: Sequence[Leaf], first: Sequence[bool]) -> set[int]:
    """Places in `leaves` for which the program returns an array of the same shape and type, each for one.

    What is aliased comes first, then those that are true in `first`.
    """
    entry = module.entry
    root = module.instruction_by_id.get(entry.root_id) if entry is not None else None
    if root is None:
        return set()
    whole = module.shape(root)
    parts = [((at,), part) for at, part in enumerate(whole.parts)] if whole.is_tuple else [((), whole)]
    provenance = Provenance(module)
    open_ = [
        ((part.dims, numpy_dtype(part.dtype)), _multiplied(module, provenance, root, index)) for index, part in parts
    ]
    order = sorted(range(len(leaves)), key=lambda at: (not leaves[at].aliased, not first[at]))
    found: set[int] = set()
    for of_all in (False, True):
        for at in order:
            if at in found:
                continue
            leaf = leaves[at]
            dims = leaf.shape if of_all or leaf.local_shape is None else leaf.local_shape
            like = tuple(dims), leaf.dtype
            result = next((r for r in open_ if r[0] == like and (leaf.aliased or leaf.parameter not in r[1])), None)
            if result is not None:
                open_.remove(result)
                found.add(at)
    return found


def _multiplied(
    module: ModuleProto, provenance: Provenance, root: InstructionProto, index: tuple[int, ...]
) -> frozenset[int]:
    """The arguments that the backward product multiplies which makes a result, sums over devices aside."""
    place = provenance.source(root, index)
    for _ in range(_MAX_STEPS):
        if place is None or not place[0].operand_ids:
            break
        made, rest = place
        if made.opcode in _SUMS:
            at = rest[0] if rest and rest[0] < len(made.operand_ids) else 0
            operand = module.instruction_by_id.get(made.operand_ids[at])
            place = provenance.source(operand) if operand is not None else None
        elif _multiplies(made) and not is_forward(made.op_name):
            factors = [module.instruction_by_id.get(identity) for identity in made.operand_ids[:2]]
            numbers = {provenance.argument(factor) for factor in factors if factor is not None}
            return frozenset(number for number in numbers if number is not None)
        else:
            break
    return frozenset()
