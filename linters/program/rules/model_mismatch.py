"""The step's parameters are not those of the contract's model.

## What it does
Compares the planned parameters of `model` with the program's, name by name, and names the key whose dimension
differs.

## Why is this bad?
Every closed form rests on the model section. If it describes another model, all that follows is about a program that
nobody runs.

## Example
```yaml
# layers/mlp/w_up is [4, 128, 1024] in the program
model: { kind: dense, d_ff: 512 }
```

## Use instead
Correct the contract, or the configuration that built the step.

## References
- https://docs.jax.dev/en/latest/pytrees.html
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ....contracts.errors import ContractLintError
from ....contracts.finding import Finding
from ....contracts.model import DenseModel, ListedModel
from ....contracts.plan.parameters import parameters_of
from ...cut import shown
from ...evidence import StepEvidence
from ...rule import Rule

Shapes = Mapping[str, Sequence[int]]


def check(evidence: StepEvidence) -> Iterable[Finding]:
    model = evidence.contract.model
    if model is None:
        return
    try:
        planned = {parameter.path: parameter for parameter in parameters_of(model)}
    except ContractLintError:
        return
    found = {row.path: row.global_shape for row in evidence.tensors.rows if row.class_ == "parameter"}
    pairs = {name: path for name in planned if (path := _path_of(name, found)) is not None}
    wrong: dict[str, list[str]] = defaultdict(list)
    numbers: dict[str, tuple[str, int, int]] = {}
    for name, path in pairs.items():
        dims, have = planned[name].dims, found[path]
        line = f"{path}: {list(have)}, promised {list(planned[name].shape)}"
        if len(dims) != len(have):
            wrong["model"].append(line)
            continue
        for dim, size in zip(dims, have, strict=True):
            if dim.value != size:
                key = _key(model, name, dim.text)
                wrong[key].append(line)
                numbers.setdefault(key, (_formula(model, dim.text), dim.value, size))
    known = set(pairs.values())
    odd = [f"{name}: promised {list(planned[name].shape)}, not in the program" for name in planned if name not in pairs]
    odd += [f"{path}: {list(shape)}, not promised" for path, shape in found.items() if path not in known]
    if odd:
        wrong[_key_of_set(odd)] += odd
    if isinstance(model, DenseModel) and not odd and (alone := _explains_all(model, numbers, pairs, found)):
        wrong = {alone: [line for lines in wrong.values() for line in lines]}
    for key, lines in wrong.items():
        formula, expected, size = numbers.get(key, (None, None, None))
        text = f": {formula} is {expected:,} in the contract, {size:,} in the program" if formula else ""
        text += _other_heads(model, size) if isinstance(model, DenseModel) and key == "model.kv_heads" and size else ""
        yield RULE.finding(
            f"the step's parameters do not fit {key}{text} ({len(lines)} parameter{'s' if len(lines) != 1 else ''})",
            subject=key,
            location=evidence.place(key),
            key=key,
            expected=None if expected is None else f"{expected}",
            found=None if size is None else f"{size}",
            evidence=shown(lines),
            help="correct the contract's model, or the configuration that built the step",
            details={"unpromised": [path for path in found if path not in known]} if odd else {},
        )


def _explains_all(
    model: DenseModel, numbers: dict[str, tuple[str, int, int]], pairs: dict[str, str], found: Shapes
) -> str | None:
    """The one key whose correction makes every shape fit: the others follow from it, as the head width does from
    `d_model`."""
    for key, (formula, _, size) in numbers.items():
        field = key.removeprefix("model.")
        if formula != field:
            continue
        try:
            planned = parameters_of(model.model_copy(update={field: size}))
        except ContractLintError:
            continue
        if all(parameter.shape == tuple(found[pairs[parameter.path]]) for parameter in planned):
            return key
    return None


def _other_heads(model: DenseModel, size: int) -> str:
    """Where the head width is derived, shapes show only how many query heads share a key: another `heads` fits too."""
    heads, rest = divmod(model.kv_heads * model.d_model, size)
    fits = model.head_dim is None and not rest and heads % model.kv_heads == 0 and model.d_model % heads == 0
    return f", or model.heads is {heads:,} there" if fits else ""


def _path_of(name: str, found: Iterable[str]) -> str | None:
    """The parameter a planned name stands for: the shortest path that ends with it, so that `norm/scale` is not taken
    for `blocks/norm/scale` where both exist."""
    return min((path for path in found if path == name or path.endswith(f"/{name}")), key=len, default=None)


def _key(model: DenseModel | ListedModel, name: str, symbol: str) -> str:
    """The contract key of a dimension: the first factor of its formula, or the listed parameter itself."""
    return f"model.{symbol.split(' ')[0]}" if isinstance(model, DenseModel) else f"model.parameters.{name}"


def _formula(model: DenseModel | ListedModel, symbol: str) -> str:
    """The dimension's formula in contract keys, with a derived head width written out."""
    if not isinstance(model, DenseModel):
        return "the dimension"
    return symbol if model.head_dim is not None else symbol.replace("head_dim", "d_model / heads")


def _key_of_set(odd: list[str]) -> str:
    """The key that decides whether these parameters exist at all."""
    names = " ".join(odd)
    if "lm_head" in names:
        return "model.tied"
    return "model.mlp" if "w_gate" in names else "model"


RULE = Rule(code="SEM203", name="model-mismatch", severity="error", evidence="program", doc=__doc__ or "", check=check)
