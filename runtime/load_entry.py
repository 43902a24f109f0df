"""From `module:function` to the function: the import of user code, and what is wrong where there is none."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Sequence
from typing import Any

from .errors import failure
from .frames import FramePaths
from .request import StepFailure


def load_entry(
    entry: str,
    path: Sequence[str],
    paths: FramePaths,
    key: tuple[str, ...],
    path_key: str,
    fallback_path: Sequence[str] = (),
) -> Any:
    """Import `module:function`; `path` goes before Python's own folders, `fallback_path` behind them. `key` is where
    the contract names the entry, `path_key` where folders are named. Raises StepFailure with the user's own frames."""
    for folder in reversed(path):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    sys.path.extend(folder for folder in fallback_path if folder not in sys.path)
    module_name, _, attribute = entry.partition(":")
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(error.name + ".")):
            folders = ", ".join(paths.printed(f + "/") or "." for f in (*path, *fallback_path)) or "none"
            raise StepFailure(
                f"cannot import `{module_name}`: there is no module `{error.name}`",
                help=f"put its folder under {path_key} (searched beside Python's own: {folders})",
                key=key,
            ) from None
        raise failure(error, paths, f"importing `{module_name}`", key) from None
    except BaseException as error:  # SystemExit and the like end the user's code here, not this process
        raise failure(error, paths, f"importing `{module_name}`", key) from None
    builder = getattr(module, attribute, None)
    if builder is None:
        near = difflib.get_close_matches(attribute, [n for n, v in vars(module).items() if callable(v)], 1)
        hint = f"did you mean `{module_name}:{near[0]}`?" if near else None
        raise StepFailure(f"the module `{module_name}` has no attribute `{attribute}`", help=hint, key=key)
    if not callable(builder):
        raise StepFailure(f"`{entry}` is a {type(builder).__name__}, which cannot be called", key=key)
    return builder
