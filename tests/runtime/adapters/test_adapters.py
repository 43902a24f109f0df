"""What `init maxtext:FILE key=value ...` asks for and writes, without MaxText."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.plugins.cli import boundary
from contract_lint.plugins.cli.init import command
from contract_lint.plugins.pipeline.init.bound import bound
from contract_lint.plugins.pipeline.init.logical import named_placements
from contract_lint.runtime.adapters import adapter_for
from contract_lint.runtime.step import as_step

CONFIG = "base_config: base.yml\ndtype: bfloat16\nici_fsdp_parallelism: 4\nici_tensor_parallelism: -1\n"


@pytest.mark.parametrize(
    ("entry", "config"),
    [
        ("maxtext:configs/base.yml", "configs/base.yml"),
        ("maxtext:tiny.yaml", "tiny.yaml"),
        ("maxtext:build", None),
        ("maxtext.adapters:build", None),
        ("train:build.yml", None),
    ],
)
def test_only_a_configuration_file_means_the_adapter(entry: str, config: str | None) -> None:
    found = adapter_for(entry)
    assert (found and found[1]) == config


def test_a_file_of_the_project_is_bound_relative_to_the_contract(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "contracts").mkdir()
    (tmp_path / "configs" / "my_model.yml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    found = adapter_for("maxtext:configs/my_model.yml")
    assert found is not None
    adapted = found[0].adapt(found[1], {"steps": 3}, "cpu:8", Path("contracts"))
    assert adapted.args == {"config": "../configs/my_model.yml", "overrides": {"steps": 3}}
    assert adapted.config == {"maxtext": "../configs/my_model.yml"}
    assert adapted.reference_args == {"devices": 8, "compute": "float32"}
    assert adapted.name == "maxtext-my-model"
    assert adapted.entry == "contract_lint.runtime.adapters.maxtext:build"


def test_what_is_only_compiled_has_no_twin_and_what_is_overridden_is_not_bound() -> None:
    found = adapter_for("maxtext:base.yml")
    assert found is not None
    adapted = found[0].adapt("base.yml", {"dtype": "float32"}, "tpu:v5e:4x2", Path())
    assert adapted.reference_args == {}
    assert ("dtypes", "compute") not in adapted.bindings and ("dtypes", "master") in adapted.bindings


def test_a_file_that_maxtext_brings_is_not_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = adapter_for("maxtext:configs/base.yml")
    assert found is not None
    adapted = found[0].adapt(found[1], {}, "cpu:8", Path())
    assert (adapted.args, adapted.config) == ({"config": "configs/base.yml"}, {})


def test_a_target_that_is_none_is_said() -> None:
    found = adapter_for("maxtext:base.yml")
    assert found is not None
    with pytest.raises(ContractLintError, match="`cpu:eight` is not a target"):
        found[0].adapt("base.yml", {}, "cpu:eight", Path())


def test_values_that_the_configuration_says_too_are_bound(tmp_path: Path) -> None:
    (tmp_path / "tiny.yml").write_text(CONFIG)
    data: dict[str, Any] = {
        "contract": 1,
        "name": "n",
        "mesh": {"axes": {"fsdp": 4, "tensor": 2}},
        "dtypes": {"master": "float32", "compute": "bfloat16"},
    }
    bindings: Any = {
        ("mesh", "axes", "fsdp"): "ici_fsdp_parallelism",
        ("mesh", "axes", "tensor"): "ici_tensor_parallelism",
        ("dtypes", "compute"): "dtype",
        ("dtypes", "master"): "weight_dtype",
        ("batch", "size"): "batch",
    }
    result = bound(data, tmp_path, {"maxtext": "tiny.yml"}, bindings)
    assert list(result) == ["contract", "name", "config", "mesh", "dtypes"]
    assert result["mesh"]["axes"] == {"fsdp": {"from": "maxtext#ici_fsdp_parallelism"}, "tensor": 2}
    assert result["dtypes"] == {"master": "float32", "compute": {"from": "maxtext#dtype"}}
    assert data["mesh"]["axes"]["fsdp"] == 4


def test_no_configuration_of_the_project_binds_nothing(tmp_path: Path) -> None:
    data = {"contract": 1, "name": "n"}
    assert bound(data, tmp_path, {}, {("name",): "dtype"}) is data
    assert bound(data, tmp_path, {"maxtext": "gone.yml"}, {("name",): "dtype"})["name"] == "n"


def test_names_of_dimensions_stand_for_mesh_axes_where_they_mean_one_thing() -> None:
    placements = {
        "a/kernel": (("fsdp",), (), ("tensor",)),
        "b/kernel": (("tensor",), ("fsdp",)),
        "c/kernel": (("tensor",), ()),
        "d/scale": (("fsdp",),),
    }
    names = {
        "a/kernel": ["embed", "layers", "mlp"],
        "b/kernel": ["mlp", "embed"],
        "c/kernel": ["odd", None],
        "d/scale": ["odd"],
        "gone": ["embed"],
    }
    named, used = named_placements(placements, names)
    assert named["a/kernel"] == (("embed",), ("layers",), ("mlp",))
    assert named["c/kernel"] == (("tensor",), ()) and named["d/scale"] == (("fsdp",),)
    assert used == {"embed": ["fsdp"], "layers": [], "mlp": ["tensor"]}


def test_names_that_do_not_fit_the_rank_are_left_aside() -> None:
    placements = {"a": (("fsdp",),)}
    assert named_placements(placements, {"a": ["embed", "mlp"]}) == (placements, {})


def test_a_step_may_bring_its_names_and_wrong_ones_are_said() -> None:
    class Given:
        fn = staticmethod(lambda state: state)
        args = (1.0,)
        logical_axes = {"params/w": ("embed", None)}  # noqa: RUF012

    assert as_step(Given()).logical_axes == {"params/w": ["embed", None]}
    Given.logical_axes = {"params/w": "embed"}  # type: ignore[dict-item]
    with pytest.raises(ContractLintError, match="logical_axes"):
        as_step(Given())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("train:build", "--target", "cpu:8", "layers=2"), "a build function takes --arg NAME=VALUE"),
        (("train:build",), "--target is needed"),
        (("maxtext:base.yml", "--mesh", "data=8"), "configuration's to say"),
        (("maxtext:base.yml", "no value"), "expected NAME=VALUE"),
        (("maxtext:base.yml", "a={"), "a: "),
    ],
)
def test_words_that_do_not_fit_are_usage_errors(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert boundary.run(command, list(words)) == 2
    assert said in capsys.readouterr().err


def test_the_adapters_load_neither_jax_nor_maxtext() -> None:
    code = "import sys, contract_lint.runtime.adapters; print(sorted({'jax', 'maxtext'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
