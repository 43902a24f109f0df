"""What is asked of every line, read of a whole computation by one expression.

What it says is only trusted where it says that all is well; a line that looks otherwise is read in full.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..module import Computation

# Name; sizes of an array; operands up to the first bracket, and the bracket where it ends them; dimension numbers.
_ROW = re.compile(
    r"\n[ \t\n]*+(?:ROOT )?+%?+([A-Za-z0-9_.\-]++) = (?:[a-z][a-z0-9]*+\[([^\]\s]*+)[^\s]*+|b?\([^\n]*?\))"
    r" [a-z][a-z0-9\-]*+\(([^\n()]*+)(?:(\))((?:, [a-z_]*dim[a-z_]*+=(?:\{[\d,]*+\}|\d++))*+))?+[^\n]*+"
)
_READ = re.compile(r"%([A-Za-z0-9_.\-]+)")


@dataclass(slots=True, frozen=True)
class Rows:
    """Of each line: its name, sizes of its array, operands as printed, `)` where these are all of them, and the
    dimension numbers right after."""

    of: list[tuple[str, str, str, str, str]]

    def names(self) -> list[str]:
        return [row[0] for row in self.of]


def rows_of(computation: Computation) -> Rows | None:
    """None for a computation that was not read from text."""
    printed = computation.printed
    return None if printed is None else Rows(_ROW.findall(computation.module.text, *printed.extent()))


def read_by(operands: str) -> list[str]:
    """The names in a list of operands as compilers print them; of other lists, what are no names."""
    return _READ.findall(operands) or operands.split(", ")
