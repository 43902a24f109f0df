"""A folder of data: what its manifest says, and what is there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...contracts.data_manifest import DataFile, DataManifest
from ...contracts.finding import Finding, Location
from ..rule import Rule


@dataclass(frozen=True)
class FolderData:
    """The files of a folder as promised and as found, by what happened to them."""

    folder: str
    promised: DataManifest
    there: DataManifest

    @cached_property
    def listed(self) -> dict[str, DataFile]:
        """The files of the manifest by path."""
        return {entry.path: entry for entry in self.promised.files}

    @cached_property
    def found(self) -> dict[str, DataFile]:
        """The files of the folder by path."""
        return {entry.path: entry for entry in self.there.files}

    @cached_property
    def changed(self) -> list[tuple[DataFile, DataFile]]:
        """Files whose content is another: as listed and as found, by path."""
        pairs = [(entry, self.found[path]) for path, entry in self.listed.items() if path in self.found]
        return [(was, now) for was, now in pairs if was.sha256 != now.sha256]

    @cached_property
    def moved(self) -> dict[str, str]:
        """Listed path -> where the same content lies now, for listed files that are gone."""
        new = {entry.sha256: path for path, entry in self.found.items() if path not in self.listed}
        gone = {path: entry.sha256 for path, entry in self.listed.items() if path not in self.found}
        taken: dict[str, str] = {}
        for path, digest in gone.items():
            if digest in new:
                taken[path] = new.pop(digest)
        return taken

    def finding(self, rule: Rule, message: str, *, path: str, **fields: Any) -> Finding:
        """A finding on one file; where it is listed is evidence."""
        entry = self.listed.get(path)
        if entry is not None and entry.place is not None:
            fields["evidence"] = (*fields.pop("evidence", ()), f"listed at {entry.place}")
        return rule.finding(message, subject=path, location=Location(f"{self.folder}/{path}"), **fields)
