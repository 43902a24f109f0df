"""The table of judged findings, verdicts.jsonl: one line for each, sorted, so that a change shows as a change.

package, path, line, code   where it is; the line is that of the pinned release
text, nth                   the line itself, and its number among those of the rule that read alike in the file
verdict                     true, or false where the code is right, harmless or the matter debatable
reason                      why, in one line
second                      the verdict of a second reading without sight of the first; only for a random hundred
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

TABLE = Path(__file__).with_name("verdicts.jsonl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One judged finding."""

    package: str
    path: str
    line: int
    code: str
    text: str
    nth: int = 0
    verdict: bool
    reason: str
    second: bool | None = None

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        return (self.package, self.code, self.path, self.text, self.nth)


def read(table: Path = TABLE) -> list[Verdict]:
    """The whole table; empty where there is none yet."""
    if not table.is_file():
        return []
    return [Verdict(**json.loads(line)) for line in table.read_text().splitlines()]


def write(verdicts: list[Verdict], table: Path = TABLE) -> None:
    """Sorted by place, one JSON object a line, absent second readings left out."""
    ordered = sorted(verdicts, key=lambda v: (v.package, v.path, v.line, v.code, v.nth))
    kept = ({name: value for name, value in asdict(each).items() if value is not None} for each in ordered)
    table.write_text("".join(json.dumps(each, ensure_ascii=True) + "\n" for each in kept))
