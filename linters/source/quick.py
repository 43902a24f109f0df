"""A run after few files changed: those are judged again, with what is known of all others, if no other file can tell.

The program is not linked: of the files that the changed ones lead to, what the cache knows is read when it is asked
for. Whatever does not fit gives None, and the run begins anew; so this never says what a whole run would not.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from .links import Links, linked
from .packed import Packed
from .program import Program
from .summary import FileSummary
from .unseen import unseen_names
from .words import may_write

if TYPE_CHECKING:
    from .cache import Cache, Entry
    from .modules import Named
    from .options import SourceOptions
    from .text import SourceText

Damaged = (zlib.error, ValueError, LookupError)
"""What shows that a part of the cache cannot be read."""


def relinked(
    cache: Cache,
    sources: Sequence[SourceText],
    names: Sequence[Named],
    made: Mapping[int, FileSummary],
    words: Mapping[int, bytes],
    options: SourceOptions,
) -> Program | None:
    """The program with the new summaries `made`; None where other files can tell that these changed.

    `words` are those of the new texts.
    """
    entries: dict[str, Entry | None] = {}

    def entry(module: str) -> Entry | None:
        if module not in entries:
            entries[module] = cache.get(files[module]) if module in files else None
        return entries[module]

    files: dict[str, str] = {}
    summaries: list[FileSummary] = []
    for number, (source, (module, _)) in enumerate(zip(sources, names, strict=True)):
        file = source.file or source.path
        if number in made:
            summaries.append(made[number])
        elif (known := cache.short(file)) is not None and known[1] is not None:
            summaries.append(FileSummary(source.path, module, Packed(known[1][1], _reader(entry, module))))
        else:
            continue
        files[module] = file

    def read(module: str) -> bytes:
        found = entry(module)
        return found.linked if found is not None else b""

    links = Links(read)
    program = Program(summaries, options)
    linked(program, links)

    def written(number: int) -> bytes | None:
        return words[number] if number in words else cache.words(sources[number].file or sources[number].path)

    def is_linked(id: str) -> bool:
        return any(links.function(id, kind) is not None for kind in "tbc")

    for number, summary in made.items():
        before = entry(names[number][0])
        if before is None or before.small is None or before.small[0] != summary.module:
            return None
        old = FileSummary(summary.path, summary.module, Packed(before.small[1], before.summary))
        changed = unseen_names(old, summary, program, is_linked)
        if changed is None:
            return None
        # What is no name (that of a lambda) cannot be written elsewhere.
        wanted = [name for name in changed if name.isidentifier()]
        if wanted and any(may_write(written(other), wanted) for other in range(len(sources)) if other != number):
            return None
    program.begin()
    return program


def _reader(entry: Callable[[str], Entry | None], module: str) -> Callable[[], bytes]:
    def read() -> bytes:
        found = entry(module)
        return found.summary if found is not None else b""

    return read
