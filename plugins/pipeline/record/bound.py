"""The files that a record binds: named relative to one folder, hashed once."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ....contracts.data_manifest import MAX_FILES, read_manifest
from ....contracts.errors import ContractLintError, visible
from ....contracts.finding import Location
from ....contracts.load import LoadedContract
from ....contracts.observations import METRICS, numbered
from ....contracts.promised_manifest import MANIFEST_KEY, promised_manifest
from ....contracts.record import CheckpointState, DataState, FileDigest, StepRange
from ....linters.checkpoint.folder import Folder
from ....linters.checkpoint.read import read_checkpoint
from ....linters.record.files import digest_below, lies_beside, tree_digest

Say = Callable[[str], None]


class Bound:
    """Files below `root`. Raises ContractLintError for what lies outside, for links and for what is no file."""

    def __init__(self, root: Path, say: Say | None = None) -> None:
        self.root = root
        self.files: dict[str, FileDigest] = {}
        self.results: list[Path] = []
        """Files and folders that a run wrote: they are no source of it."""
        self._say: Say = say or (lambda _: None)

    def name(self, path: str | os.PathLike[str]) -> str:
        """A path relative to the root."""
        absolute = Path(os.path.abspath(path))
        if not absolute.is_relative_to(self.root):
            raise ContractLintError(
                "lies outside of the folder that the record is about",
                Location(Path(path).as_posix()),
                f"that folder is {visible(self.root.as_posix())}; name one that holds both with --root",
            )
        return absolute.relative_to(self.root).as_posix()

    def file(self, path: str | os.PathLike[str]) -> str:
        """Bind one file; its name in the record."""
        name = self.name(path)
        found = digest_below(self.root, name)
        if found is None:
            raise ContractLintError("is not there", Location(Path(path).as_posix()))
        self.files[name] = found
        if len(self.files) > MAX_FILES:
            raise ContractLintError(f"a record names at most {MAX_FILES:,} files", Location(Path(path).as_posix()))
        return name

    def folder(self, path: str | os.PathLike[str]) -> dict[str, FileDigest]:
        """Bind every file of a checkpoint's folder; by their path in it."""
        shown = Path(path).as_posix()
        if os.path.islink(path):
            raise ContractLintError("is a symbolic link", Location(shown), "name the folder itself")
        inside = Folder(Path(path), shown)
        self._say(f"reading {shown}")
        names = [name for name in sorted(inside.files()) if not lies_beside(name)]
        return {name: self.files[self.result(Path(path) / name)] for name in names}

    def observations(self, path: str | os.PathLike[str], steps: StepRange) -> None:
        """Bind what a run over these steps left in a folder: the files of single steps, and the lines that it ended
        with. A later run goes on in the same lines, and writes the configuration anew."""
        for name in sorted(os.listdir(path)) if os.path.isdir(path) else ():
            written = numbered(name)
            if written is not None and steps.first <= written[1] <= steps.last:
                self.result(Path(path) / name)
            elif name == METRICS:
                shown = self.result(Path(path) / name)
                self.files[shown] = self.files[shown].model_copy(update={"grows": True})

    def result(self, path: str | os.PathLike[str]) -> str:
        """Bind one file that a run wrote; its name in the record."""
        name = self.file(path)
        self.results.append(self.root / name)
        return name

    def checkpoint(self, path: str) -> CheckpointState:
        """Bind every file of a checkpoint's newest committed step, or of the step that is named."""
        found = read_checkpoint(path)
        if found.step.state != "committed":
            said = f"{found.step.folder} is not committed: {found.step.why}"
            raise ContractLintError(said, Location(path), "a record binds what is complete")
        folder = found.place
        if folder.is_file():
            raise ContractLintError("is a file, and a checkpoint is a folder", Location(path), "bind it with --file")
        self.results += [self.root / self.name(Path(path, each.folder)) for each in found.steps]
        files = self.folder(folder)
        return CheckpointState(folder=self.name(folder), root=tree_digest(files), files=len(files))

    def promised(self, loaded: LoadedContract) -> list[DataState]:
        """Bind the data manifest that a contract names, where it names one that lies below the root."""
        manifest = promised_manifest(loaded)
        node = loaded.document.node(MANIFEST_KEY)
        if manifest is None or node is None:
            return []
        path = (loaded.document.folder(MANIFEST_KEY) / str(node.value)).resolve()
        return [DataState(manifest=self.file(path), root=manifest.root)] if path.is_relative_to(self.root) else []

    def data(self, path: str) -> DataState:
        """Bind a data manifest; what it lists is bound by its root."""
        return DataState(manifest=self.file(path), root=read_manifest(path).root)
