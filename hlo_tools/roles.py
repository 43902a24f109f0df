"""What each argument of a training step is: parameter, optimizer slot, batch, counter or random key.

Nothing marks an array as a parameter, so this is inference, by these rules in this order. Paths are
`<argument>/<pytree path>`; an *array* has at least one dimension, a *scalar* none.

1. A typed key (dtype `key<...>`), or an unsigned integer array under a name like `rng` or `key`, is `rng`.
2. An integer or boolean scalar is a `counter`.
3. *State arguments* are the donated ones, those the step's `carry` replaces, those with a parameter or slot name in
   their paths (rule 5), and those whose name says so (`state`, ...). Where none is, the first argument is, if it holds
   floating-point arrays only.
4. Every array of another argument is `batch`. So is an integer or boolean array of a state argument that no name in
   its path speaks for.
5. Names: below `params`, `model`, `weights`, ... an array is a `parameter`; below `opt_state`, `mu`, `nu`, ... an
   `optimizer_slot`. The first such name in the path decides, but an argument that is itself called `optimizer` and
   holds both a model and an optimizer state (flax nnx before 0.11) is read one level deeper. An array that is itself
   called `params`, `mu`, `nu` and the like counts where the argument's name says that it is a state.
6. An array without such a name whose path ends with the whole path of a named parameter, of the same shape, under
   another root is an `optimizer_slot` (a copy of the parameters kept beside them: moments, an average).
7. Where no parameter is named, arrays are slots if they are copies (same tails of paths, same shapes) and the copies
   make up the whole state: several equal subtrees, of which the first is the parameters, or `root/more/tail` beside
   `root/tail`. Subtrees whose names differ only in digits are layers. All other floating-point arrays are parameters.
8. Whatever is left, floating-point scalars of the state included, is `other`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from ..contracts.manifest import Leaf, StepFacts

TensorClass = Literal["parameter", "optimizer_slot", "batch", "counter", "rng", "other"]
Path = tuple[str, ...]

_PARAMETER_NAMES = """
params param parameters model module weights variables graphstate master_params lora lora_params trainable
"""
_SLOT_NAMES = """
opt_state opt_states optimizer optimizer_state opt optim inner_state inner_opt_state tx_state mu nu trace momentum
velocity moments first_moment second_moment exp_avg exp_avg_sq sum_of_squares v_row v_col ema ema_params average slots
acc_grads accumulated_grads grad_accum preconditioner
"""
PARAMETER_NAMES = frozenset(_PARAMETER_NAMES.split())
SLOT_NAMES = frozenset(_SLOT_NAMES.split())
# What a single array of a state is called, not only what holds several.
_ARRAY_NAMES = frozenset(("params", "parameters", "mu", "nu", "momentum", "velocity", "exp_avg", "exp_avg_sq"))
STATE_NAMES = frozenset(("state", "train_state", "training_state", "ts"))
_RNG_NAME = re.compile(r"(?:.*_)?(?:rngs?|prng|keys?|prng_?key|seed)")
_MAX_DEPTH = 64
_DIGITS = re.compile(r"\d+")


def leaf_path(leaf: Leaf) -> Path:
    """`<argument>/<path>` as components; of a path deeper than any real one, the outermost."""
    return (leaf.argument, *(part for part in leaf.path.split("/") if part))[:_MAX_DEPTH]


def names_tell(leaves: Sequence[Leaf]) -> bool:
    """Whether some argument is called what parameters, optimizer slots or the state of a training step are called."""
    paths = [leaf_path(leaf) for leaf in leaves]
    return any(_named(path) is not None or path[0].lower() in STATE_NAMES for path in paths)


def classify(facts: StepFacts) -> list[TensorClass]:
    """The class of every argument leaf, in the order of `facts.arguments`; the rules are those of this module."""
    leaves = facts.arguments
    paths = [leaf_path(leaf) for leaf in leaves]
    classes: list[TensorClass | None] = [by_type(leaf, path) for leaf, path in zip(leaves, paths, strict=True)]
    roots = [_named(path) for path in paths]
    state = _state_arguments(facts, paths, roots)
    open_arrays: list[int] = []
    for position, (leaf, root) in enumerate(zip(leaves, roots, strict=True)):
        if classes[position] is not None:
            continue
        if leaf.argument not in state:
            classes[position] = "batch"
        elif not leaf.shape:
            classes[position] = "other"
        elif root is not None:
            classes[position] = root[0]
        elif not is_float(leaf):
            classes[position] = "batch"
        else:
            open_arrays.append(position)
    parameters = {
        (path[root[1] :], tuple(leaf.shape))
        for leaf, path, root, kind in zip(leaves, paths, roots, classes, strict=True)
        if root is not None and kind == "parameter"
    }
    if parameters:
        for position in open_arrays:
            classes[position] = "optimizer_slot" if _copies(paths[position], leaves[position], parameters) else "other"
    else:
        slots = _unnamed_slots([(paths[p], tuple(leaves[p].shape)) for p in open_arrays])
        for position in open_arrays:
            classes[position] = "optimizer_slot" if paths[position] in slots else "parameter"
    return [kind or "other" for kind in classes]


def by_type(leaf: Leaf, path: Path) -> TensorClass | None:
    """What type and shape alone say, with the name of a key; None where they leave it open."""
    if leaf.dtype.startswith("key<"):
        return "rng"
    if leaf.dtype.startswith("uint") and leaf.shape and any(_RNG_NAME.fullmatch(part) for part in path):
        return "rng"
    if not leaf.shape and not is_float(leaf):
        return "counter"
    return None


def is_float(leaf: Leaf) -> bool:
    """Whether its elements are floating-point or complex numbers."""
    return leaf.dtype.startswith(("float", "bfloat", "complex"))


def _named(path: Path) -> tuple[Literal["parameter", "optimizer_slot"], int] | None:
    """What the first telling name in the path says, and how many components the root has that it names."""
    found: list[tuple[Literal["parameter", "optimizer_slot"], int]] = []
    of_state = path[0].lower() in STATE_NAMES
    for depth, part in enumerate(path):
        name = part.lower()
        holds = depth + 1 < len(path) or (of_state and depth > 0 and name in _ARRAY_NAMES)
        if name in PARAMETER_NAMES and (holds or len(path) == 1):
            found.append(("parameter", depth + 1))
        elif name in SLOT_NAMES and holds:
            found.append(("optimizer_slot", depth + 1))
    if not found:
        return None
    if found[0] == ("optimizer_slot", 1) and len(found) > 1 and all(kind == "parameter" for kind, _ in found[1:]):
        return found[1]
    return found[0]


def _state_arguments(facts: StepFacts, paths: Sequence[Path], roots: Sequence[object]) -> set[str]:
    state = {leaf.argument for leaf in facts.arguments if leaf.donated}
    state |= set(facts.donate) | set(facts.carry.values())
    state |= {path[0] for path, root in zip(paths, roots, strict=True) if root is not None}
    state |= {path[0] for path in paths if path[0].lower() in STATE_NAMES}
    present = {path[0] for path in paths}
    if state & present:
        return state
    floating: dict[str, bool] = {}
    for leaf in facts.arguments:
        if leaf.shape:
            floating[leaf.argument] = floating.get(leaf.argument, True) and is_float(leaf)
    return {argument for argument, only in list(floating.items())[:1] if only}


def _copies(path: Path, leaf: Leaf, parameters: set[tuple[Path, tuple[int, ...]]]) -> bool:
    """Whether some proper tail of the path is the path of a parameter of the same shape."""
    shape = tuple(leaf.shape)
    return any((path[start:], shape) in parameters for start in range(1, len(path)))


def _unnamed_slots(arrays: Sequence[tuple[Path, tuple[int, ...]]]) -> set[Path]:
    """Paths of the arrays that are copies of others, where copies make up the whole of `arrays` (rule 7)."""
    below: dict[Path, list[tuple[Path, tuple[int, ...]]]] = {}
    for path, shape in arrays:
        for depth in range(1, len(path) + 1):
            below.setdefault(path[:depth], []).append((path[depth:], shape))
    groups: dict[frozenset[tuple[Path, tuple[int, ...]]], list[Path]] = {}
    for root, content in below.items():
        groups.setdefault(frozenset(content), []).append(root)
    for content, roots in groups.items():
        if len(roots) > 1 and len(content) * len(roots) == len(arrays):
            return {root + tail for root in roots[1:] if not _same_but_digits(root, roots[0]) for tail, _ in content}
    return _extensions(arrays)


def _extensions(arrays: Sequence[tuple[Path, tuple[int, ...]]]) -> set[Path]:
    """The longer one of `root/tail` and `root/more/tail`, if every shorter one has equally many of them."""
    known = set(arrays)
    base_of: dict[Path, Path] = {}
    for path, shape in arrays:
        for start in range(1, len(path) - 1):
            for behind in range(start + 1, len(path)):
                base = path[:start] + path[behind:]
                if (base, shape) in known:
                    base_of.setdefault(path, base)
    bases = [path for path, _ in arrays if path not in base_of]
    copies = [base_of[path] for path, _ in arrays if path in base_of]
    tally = Counter(copies)
    counts = {tally[base] for base in bases}
    return set(base_of) if len(counts) == 1 and 0 not in counts and set(copies) <= set(bases) else set()


def _same_but_digits(one: Path, other: Path) -> bool:
    return _DIGITS.sub("#", "/".join(one)) == _DIGITS.sub("#", "/".join(other))
