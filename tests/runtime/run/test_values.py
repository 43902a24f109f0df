"""Host values: drawn the same every time, and the same after a trip through a file."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.runtime.run.draw import draw
from contract_lint.runtime.run.values import HostValue, load, save, to_host
from contract_lint.runtime.step import NormalisedStep, as_step


def shape(*dims: int, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(dims, dtype)


@pytest.fixture
def step() -> NormalisedStep:
    params = {"dense": {"kernel": shape(64, 32), "bias": shape(32)}, "norm": {"scale": shape(32)}}
    state = {
        "params": params,
        "opt_state": [{"mu": params, "nu": params}],
        "step": shape(dtype=jnp.int32),
        "hyperparams": {"b2": shape()},
    }
    batch = {
        "tokens": shape(16, 24, dtype=jnp.int32),
        "loss_mask": shape(16, 24),
        "x": shape(16, 8, dtype=jnp.bfloat16),
        "valid": shape(16, dtype=jnp.bool_),
    }

    def train(state: Any, batch: Any, rate: Any, deep: Any) -> Any:
        return state, rate

    given = SimpleNamespace(fn=train, args=(state, batch, shape(), 3), donate=("state",), static=("deep",))
    return as_step(given)


def test_drawn_values_have_the_declared_types(step: NormalisedStep) -> None:
    values = draw(step, 0, {"tokens": (0, 100)})
    assert "deep" not in values
    assert values["batch/x"].array.dtype == jnp.bfloat16
    tokens = values["batch/tokens"].array
    assert tokens.dtype == np.int32 and tokens.min() >= 0 and 50 < tokens.max() < 100
    assert values["state/step"].array == 0
    assert values["rate"].array == np.float32(1e-3)


def test_state_starts_like_a_state(step: NormalisedStep) -> None:
    values = draw(step, 0)
    assert not values["state/opt_state/0/mu/dense/kernel"].array.any()
    assert not values["state/opt_state/0/nu/norm/scale"].array.any()
    assert 0.1 < values["state/params/dense/kernel"].array.std() * 8 < 2
    assert abs(values["state/params/norm/scale"].array.mean() - 1) < 0.2


def test_a_number_the_state_keeps_is_an_array_and_positive(step: NormalisedStep) -> None:
    """Rates and decays live there: below zero they make a clean step diverge, and a scalar is placed nowhere."""
    value = draw(step, 0)["state/hyperparams/b2"]
    assert not value.is_python and value.array > 0


def test_more_than_the_machine_holds_is_refused_before_it_is_made() -> None:
    given = SimpleNamespace(fn=lambda w: w, args=(shape(1 << 24, 1 << 24, dtype=jnp.bfloat16),))
    with pytest.raises(ContractLintError, match="this machine has"):
        draw(as_step(given), 0)


def test_masks_keep_a_different_share_of_every_quarter(step: NormalisedStep) -> None:
    mask = draw(step, 0)["batch/loss_mask"].array
    assert set(np.unique(mask)) == {0.0, 1.0}
    counts = mask.reshape(4, -1).sum(axis=1)
    assert len(set(counts)) == 4 and mask.reshape(16, -1).sum(axis=1).min() >= 1


def test_the_batch_changes_with_the_step_and_nothing_with_time(step: NormalisedStep) -> None:
    first, again, second = draw(step, 0), draw(step, 0), draw(step, 1)
    for name, value in first.items():
        assert np.array_equal(value.array, again[name].array)
    assert not np.array_equal(first["batch/tokens"].array, second["batch/tokens"].array)
    assert np.array_equal(first["state/params/dense/kernel"].array, second["state/params/dense/kernel"].array)


def test_a_file_holds_any_dtype_and_no_pickle(tmp_path: Path) -> None:
    import ml_dtypes

    values = {
        "a/b": HostValue(np.arange(6, dtype=np.float32).reshape(2, 3), spec=[["data", "fsdp"], []]),
        "half": HostValue(np.array([1.5, -2.0], ml_dtypes.bfloat16)),
        "scalar": HostValue(np.array(7, np.int64)),
        "empty": HostValue(np.zeros((0, 3))),
        "flag": HostValue(True),
        "rate": HostValue(0.1),
        "key": HostValue(np.array([0, 42], np.uint32), key="fry"),
    }
    path = tmp_path / "values.npz"
    save(path, values)
    read = load(path)
    assert list(read) == list(values)
    for name, value in values.items():
        assert read[name].key == value.key and read[name].spec == value.spec
        if value.is_python:
            assert read[name].array == value.array and type(read[name].array) is type(value.array)
        else:
            assert read[name].array.dtype == value.array.dtype
            assert np.array_equal(read[name].array, value.array)
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as members:
        assert all(b"O'" not in members.read(name)[:128] for name in members.namelist())


def test_a_leaf_that_is_no_array_is_refused() -> None:
    with pytest.raises(ContractLintError, match="holds a str where an array is needed"):
        to_host("text")
