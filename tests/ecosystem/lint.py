"""What `contract-lint check` says of one folder, as rows that can be compared with a table."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OPTIONS = ("--jobs", "1")
# A file in the grammar of a newer Python is no matter of judgement; one that the tool itself failed at ends the run.
UNPARSEABLE = "JIT100"
FAILED = "contract-lint failed at this file"


@dataclass(frozen=True, slots=True)
class Row:
    """One finding: `nth` tells apart those of one rule on lines that read alike in one file."""

    package: str
    code: str
    path: str
    line: int
    text: str
    nth: int
    confidence: str
    severity: str
    message: str
    fingerprint: str

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What stays when lines shift or the package's next release changes other lines."""
        return (self.package, self.code, self.path, self.text, self.nth)


def findings(folder: Path, package: str, options: Sequence[str] = (), *, cache: bool = False) -> list[Row]:
    """Everything the command line finds at or below `folder`, in the order of the places.

    Without `cache`, as what is kept from an earlier run may be that of an earlier rule. Raises RuntimeError with the
    tool's own words where it ends in any other way than with a report.
    """
    command = [sys.executable, "-m", "contract_lint", "check", ".", "--format", "json", "--exit-zero"]
    command += [*OPTIONS, *options, *(() if cache else ("--no-cache",))]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0 or "Traceback" in done.stderr:
        raise RuntimeError(f"{package}: check ended with {done.returncode}\n{done.stderr[-4000:]}")
    found = json.loads(done.stdout)["findings"]
    if failed := [f"{each['path']}: {each['message']}" for each in found if each["message"].startswith(FAILED)]:
        raise RuntimeError(f"{package}: {len(failed)} files, the first {failed[0]}")
    return rows((each for each in found if each["code"] != UNPARSEABLE), folder, package)


def rows(found: Iterable[dict[str, Any]], folder: Path, package: str) -> list[Row]:
    """Findings in the published JSON shape, each with the text of its line."""
    texts: dict[str, list[str]] = {}
    seen: Counter[tuple[str, str, str]] = Counter()
    result = []
    for each in sorted(found, key=lambda f: (f["path"] or "", f["line"] or 0, f["column"] or 0, f["code"])):
        path, line = each["path"] or "", each["line"] or 0
        if path not in texts:
            texts[path] = _lines(folder / path)
        text = texts[path][line - 1].strip() if 0 < line <= len(texts[path]) else ""
        place = (each["code"], path, text)
        facts = (each["confidence"], each["severity"], each["message"], each["fingerprint"])
        result.append(Row(package, each["code"], path, line, text, seen[place], *facts))
        seen[place] += 1
    return result


def _lines(path: Path) -> list[str]:
    """The lines of a file; none of a notebook, whose places count within a cell."""
    if path.suffix != ".py":
        return []
    return path.read_bytes().decode("utf-8", "replace").splitlines() if path.is_file() else []
