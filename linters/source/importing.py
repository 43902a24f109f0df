"""Which files of a program import which, when they are imported themselves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from .summary import FileSummary
from .text import is_test_path


class Importing:
    """The part of `Program` about who imports whom. Tests count for nothing."""

    files: dict[str, FileSummary]
    module: Any

    @property
    def paths(self) -> set[str]:
        return {each.path for each in self.files.values()}

    def importers(self, module: str) -> list[str]:
        """The modules that import this one."""
        return self.importing.get(module, [])

    @cached_property
    def importing(self) -> Mapping[str, list[str]]:
        """The importers of each module that has any."""
        importers: dict[str, list[str]] = {}
        for name, file in self.files.items():
            if is_test_path(file.path):
                continue
            named = {value[1] for value in file.data["exports"].values() if value[0] == "n"}
            found = {each.module for wanted in (*file.data["imports"], *named) if (each := self.module(wanted))}
            # What `import pkg.part` runs on its way.
            for wanted in file.data["imports"]:
                while "." in wanted:
                    wanted = wanted.rpartition(".")[0]
                    if (each := self.module(wanted)) is not None:
                        found.add(each.module)
            for other in sorted(found - {name}):
                importers.setdefault(other, []).append(name)
        return importers

    def distributed_in(self, module: str) -> str | None:
        """The path of a file that calls `jax.distributed.initialize` and imports this module, through others or not."""
        seen, stack = {module}, [module]
        while stack:
            for name in self.importers(stack.pop()):
                if name in seen:
                    continue
                seen.add(name)
                if self.files[name].data.get("distributed"):
                    return self.files[name].path
                stack.append(name)
        return None
