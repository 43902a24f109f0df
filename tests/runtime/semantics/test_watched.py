"""A watched configuration is a plain dict to its reader, and knows afterwards what was read."""

from __future__ import annotations

import json

import pytest
from contract_lint.runtime.semantics.watched import Watched, missed, unread, watched

CONFIG = {"model": {"layers": 2, "width": 8}, "seed": 0, "name": "a"}


def test_keys_that_nobody_reads() -> None:
    args = {"config": watched(CONFIG), "preset": "tiny"}
    config = args["config"]
    assert isinstance(config, Watched)
    assert config["model"]["layers"] == 2 and config.get("steps", 10) == 10 and "lr" not in config["model"]
    assert list(unread(args)) == ["config.model.width", "config.seed", "config.name"]
    assert list(missed(args)) == ["config.steps", "config.model.lr"]


def test_unpacking_and_dumping_read_everything() -> None:
    for read in (lambda c: (lambda **all: all)(**c), lambda c: dict(c.items()), lambda c: [*c.values()]):
        config = watched({"a": 1, "b": 2})
        read(config)
        assert list(unread({"config": config})) == []
    config = watched(CONFIG)
    assert json.loads(json.dumps(config)) == CONFIG and config == CONFIG


def test_it_fails_as_a_dict_does() -> None:
    config = watched({"a": 1})
    with pytest.raises(KeyError):
        config["b"]
    with pytest.raises(KeyError):
        config.pop("b")
    assert config.pop("b", 3) == 3 and config.pop("a") == 1 and not config
