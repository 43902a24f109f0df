"""What holds for a path, as a table that a pyproject.toml could hold, and the files that say it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from ..pipeline.settings import Settings
from ..pipeline.settings_file import TABLE


def render(path: str, settings: Settings) -> str:
    """The settings that hold for `path`, options of the command line among them."""
    files = [_seen(file) for file in settings.files]
    said = f"from {' and '.join(files)}" if files else "no file says any: defaults"
    lines = [f"# {Path(path).as_posix()}: {said}", f"[{TABLE}]"]
    lines += [
        f"{key} = {_toml(value)}"
        for key, value in (
            ("select", settings.select),
            ("ignore", settings.ignore),
            ("exclude", settings.exclude),
            ("fail-on", settings.fail_on),
            ("preview", settings.preview),
            ("certain", settings.certain),
            ("baseline", settings.baseline and _seen(settings.baseline)),
            ("traced", settings.traced),
            ("module-methods", settings.module_methods),
            ("context", [_seen(each) for each in settings.context]),
            ("cache-dir", settings.cache_dir and _seen(settings.cache_dir)),
        )
        if value is not None
    ]
    if settings.per_file_ignores:
        lines.append(f"[{TABLE}.per-file-ignores]")
    for entry in settings.per_file_ignores:
        lines.append(f"{_toml(entry.pattern)} = {_toml(entry.rules)}  # seen from {_seen(entry.folder)}")
    if settings.requirements:
        required = ", ".join(
            f"{name}{f' {specifier}' if specifier else ''}" for name, specifier in settings.requirements
        )
        lines.append(f"# the project requires {required}")
    return "\n".join(lines) + "\n"


def _seen(path: str) -> str:
    return Path(os.path.relpath(path)).as_posix()


def _toml(value: str | bool | Sequence[str]) -> str:
    if isinstance(value, (bool, str)):
        return json.dumps(value, ensure_ascii=False)
    return f"[{', '.join(json.dumps(each, ensure_ascii=False) for each in value)}]"
