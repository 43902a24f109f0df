"""Child process: which names on stdin the installed packages have, one JSON object from name to true or false.

`jax.numpy.clip:a_min` asks for a parameter of a function.

The word `alone` as first argument looks them up as attributes after `import jax` alone, without importing more.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import sys
import warnings

os.environ["JAX_PLATFORMS"] = "cpu"
warnings.simplefilter("ignore")


def there(name: str, alone: bool) -> bool:
    name, _, parameter = name.partition(":")
    first, *rest = name.split(".")
    found = importlib.import_module(first)
    for at, part in enumerate(rest, 1):
        try:
            found = getattr(found, part)
        except AttributeError:
            if alone:
                return False
            try:
                found = importlib.import_module(".".join([first, *rest[:at]]))
            except ImportError:
                return False
    return not parameter or parameter in inspect.signature(found).parameters


if __name__ == "__main__":
    alone = sys.argv[1:] == ["alone"]
    versions = {
        name: importlib.import_module(name).__version__ for name in (["jax"] if alone else ["jax", "flax", "optax"])
    }
    names = json.loads(sys.stdin.read())
    told = {name: there(name, alone) for name in names}
    print(json.dumps({"versions": versions, "there": told}))
