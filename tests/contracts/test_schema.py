"""The JSON Schema: valid itself, complete in its descriptions, and of one mind with the models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.load import load_contract
from contract_lint.contracts.schema import DIALECT, contract_json_schema

jsonschema = pytest.importorskip("jsonschema")

HEAD: dict[str, Any] = {"contract": 1, "name": "n", "step": {"train": {"entry": "m:build"}}}


@pytest.fixture(scope="module")
def validator() -> Any:
    schema = contract_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_dialect() -> None:
    assert contract_json_schema()["$schema"] == DIALECT


def _properties(schema: Any, path: str = "") -> list[tuple[str, Any]]:
    found = []
    if isinstance(schema, dict):
        for name, value in schema.items():
            if name == "properties":
                found += [(f"{path}.{key}", each) for key, each in value.items()]
            found += _properties(value, f"{path}.{name}")
    elif isinstance(schema, list):
        found += [each for index, item in enumerate(schema) for each in _properties(item, f"{path}[{index}]")]
    return found


def test_every_key_is_described() -> None:
    properties = _properties(contract_json_schema())
    assert len(properties) > 60
    assert [path for path, each in properties if not each.get("description")] == []


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"targets": ["cpu:8", {"target": "tpu:v5e:4x4", "mesh": {"axes": {"data": 16}}}]},
        {"batch": {"size": {"from": "base#b"}, "axes": ["data"]}},
        {"model": {"from": "base#model"}},
        {"memory": {"hbm": "16GiB", "classes": {"output": 3}}},
        {"parameters": {"logical_axes": {"a": None, "b": ["x", "y"]}, "rules": [{"match": "a", "axes": ["a", None]}]}},
        {"deviations": [{"rule": "SHD204", "reason": "r", "until": "2027-03-01"}]},
        {"model": {"kind": "listed", "parameters": {"w": [1, 2]}}},
        {"collectives": {"expect": [{"kind": "all-reduce", "axes": None, "count": 1, "ring_bytes": "3MiB"}]}},
        {"extends": ["base.yaml"]},
        {"memory": {"padding_max": "12.5 %", "offload": ["activations", "optimizer_slot"]}},
        {"memory": {"padding_max": 0.25}, "graph": {"kernels": ["tpu_custom_call"]}},
        {"collectives": {"dcn_max": "64MiB"}, "accumulation": {"reduce": "once"}, "graph": {"kernels": "forbid"}},
    ],
)
def test_accepts(validator: Any, more: dict[str, Any]) -> None:
    assert [error.message for error in validator.iter_errors(HEAD | more)] == []


@pytest.mark.parametrize(
    "more",
    [
        {"memry": {}},
        {"contract": 2},
        {"batch": {"size": 0}},
        {"batch": {"size": 1, "axis": "a"}},
        {"batch": {"size": {"from": "no hash"}}},
        {"model": {"kind": "dens"}},
        {"step": {"train": {"entry": "m"}}},
        {"graph": {"host_callbacks": "no"}},
        {"mesh": {"axes": {"data": 0}}},
        {"memory": {"padding_max": "25"}},
        {"memory": {"padding_max": -0.1}},
        {"memory": {"offload": ["batch"]}},
        {"graph": {"kernels": "some"}},
        {"accumulation": {"reduce": "twice"}},
    ],
)
def test_refuses_what_loading_refuses(validator: Any, tmp_path: Path, more: dict[str, Any]) -> None:
    import json

    assert list(validator.iter_errors(HEAD | more))
    path = tmp_path / "t.contract.yaml"
    path.write_text(json.dumps(HEAD | more))
    assert load_contract(path, root=tmp_path).contract is None


def test_a_file_that_extends_may_leave_out_the_rest(validator: Any) -> None:
    assert list(validator.iter_errors({"contract": 1, "extends": ["base.yaml"]})) == []
