"""Values of a drafted contract that a configuration of the project decides: written as `{from: "alias#key"}`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ....contracts.key import Key
from ....contracts.yaml_nodes import Node, Source, Unreadable, decode, plain, read_yaml


def bound(data: dict[str, Any], folder: Path, config: Mapping[str, str], bindings: Mapping[Key, str]) -> dict[str, Any]:
    """The contract with a `config` section, and every binding in place whose value the configuration says too.

    `config`: alias -> file relative to `folder`, the contract's. A file that cannot be read binds nothing.
    """
    if not config:
        return data
    after_name = list(data).index("name") + 1
    items = list(data.items())
    result = dict([*items[:after_name], ("config", dict(config)), *items[after_name:]])
    for alias, file in config.items():
        values = _values(folder / file)
        for key, name in bindings.items():
            if name in values and _at(result, key) == values[name] is not None:
                result = _replaced(result, key, {"from": f"{alias}#{name}"})
    return result


def _values(file: Path) -> dict[str, Any]:
    """The plain values at the top of a configuration file."""
    source = Source(file, file.as_posix())
    try:
        tree, _ = read_yaml(decode(file.read_bytes(), source), source, strict=False)
    except (OSError, Unreadable):
        return {}
    nodes: Mapping[str, Node] = tree.value if tree is not None and isinstance(tree.value, dict) else {}
    return {
        name: plain(node)
        for name, node in nodes.items()
        if node.tag is None and not isinstance(node.value, dict | list)
    }


def _at(data: Any, key: Key) -> Any:
    for part in key:
        if not isinstance(data, dict) or part not in data:
            return None
        data = data[part]
    return data


def _replaced(data: dict[str, Any], key: Key, value: Any) -> dict[str, Any]:
    first, rest = key[0], key[1:]
    return data | {str(first): _replaced(data[str(first)], rest, value) if rest else value}
