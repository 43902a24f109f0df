"""Everything that one run of `check` does with Python source: collect, analyse, set aside what is known, mend, show."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ...contracts.finding import Finding, Location
from ...linters.source.cache import NAME, cache_file
from ...linters.source.read import Texts
from ...linters.source.run import Run, kept_in
from ...linters.source.unread import Changed, Known
from .settings import Settings
from .source import Sources, collect, collect_input, examine, is_shown, located, options_of, unmatched_notes

Mode = Literal["none", "safe", "unsafe"]


@dataclass(frozen=True, slots=True)
class Swept:
    """The result: findings as they are shown, contracts' among them.

    `count` files were checked, of which `notebooks` are notebooks, and `mended` fixes applied; `diff` is what they
    change, where that was asked for, and `text` the fixed text of standard input. `unwritten` says that a file that was
    to be fixed could not be written.
    """

    findings: tuple[Finding, ...]
    count: int = 0
    notebooks: int = 0
    excerpts: Mapping[Location, tuple[tuple[int, str], ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    mended: int = 0
    diff: str | None = None
    text: str | None = None
    unwritten: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What is asked for. `stdin` is the name and content of the one text that takes the place of all files.

    `baseline` is the path of a file; `update` writes it from what is found. With `diff` no file is changed. `partial`:
    files are left out that the project does not leave out, so that nothing can be said to be found no more.
    """

    source: bool = True
    stdin: tuple[str, bytes] | None = None
    jobs: int = 0
    cache: bool = True
    baseline: str | None = None
    update: bool = False
    partial: bool = False
    fix: Mode = "none"
    diff: bool = False

    def run(
        self,
        paths: Sequence[str],
        settings: Settings,
        settings_of: Callable[[str], Settings],
        others: Sequence[Finding] = (),
        contracts: Sequence[str] = (),
    ) -> Swept:
        """The findings on source at `paths` together with `others`, those on the files `contracts`.

        Raises ContractLintError for a path that does not exist and a baseline that cannot be read or written.
        """
        # What is written afterwards rests on texts that were read.
        trusting = self.cache and self.fix == "none" and not self.diff and not self.update
        try:
            return self._run(paths, settings, settings_of, others, contracts, trusting)
        except Changed:
            return self._run(paths, settings, settings_of, others, contracts, trusting=False)

    def _run(
        self,
        paths: Sequence[str],
        settings: Settings,
        settings_of: Callable[[str], Settings],
        others: Sequence[Finding],
        contracts: Sequence[str],
        trusting: bool,
    ) -> Swept:
        options = options_of(settings, self.jobs)
        place = self._cache(settings) if self.source else None
        kept = kept_in(place, options) if place is not None else None
        known = kept.state if trusting and kept is not None else None
        sources = self._collected(paths, settings, settings_of, known)
        if not sources.count and not self.baseline and not settings.baseline:
            return Swept(tuple(others), notes=tuple(sources.notes))
        run = Run(options, kept)
        notes = list(sources.notes)
        if self.stdin is None:
            notes += unmatched_notes(sources, settings, paths)
        listed = self._listed(paths, settings, settings_of, sources, contracts, notes)
        found = listed([*others, *examine(sources, settings_of, run)])
        mended, diff, text, unwritten = 0, None, None, False
        if self.fix != "none" or self.diff:
            from .mending import mended_sources

            done = mended_sources(
                sources,
                found,
                lambda again: listed([*others, *examine(again, settings_of, run)]),
                unsafe=self.fix == "unsafe",
                write=not self.diff and self.stdin is None,
            )
            # A diff shows what would be changed; the findings stay those of the files as they are.
            if not self.diff:
                sources, found = done.sources, done.findings
            mended, diff, text, unwritten = done.count, done.diff, done.text, done.unwritten
            notes += done.notes
        placed, excerpts = located(found, sources.texts.sources)
        shown = diff if self.diff else None
        return Swept(
            tuple(placed),
            sources.count,
            sources.notebooks,
            excerpts,
            tuple(notes),
            mended,
            shown,
            text,
            unwritten,
        )

    def _collected(
        self, paths: Sequence[str], settings: Settings, settings_of: Callable[[str], Settings], known: Known | None
    ) -> Sources:
        if self.stdin is not None:
            name, data = self.stdin
            return collect_input(data, name, settings.context)
        return collect(paths, settings_of, settings.context, known) if self.source else Sources(Texts())

    def _cache(self, settings: Settings) -> str | None:
        if not self.cache:
            return None
        if settings.cache_dir is None:
            return cache_file(os.fspath(settings.root))
        from ...runtime.cache_places import first_place

        return os.fspath(first_place(settings.root, Path(settings.cache_dir)) / NAME)

    def _listed(
        self,
        paths: Sequence[str],
        settings: Settings,
        settings_of: Callable[[str], Settings],
        sources: Sources,
        contracts: Sequence[str],
        notes: list[str],
    ) -> Callable[[list[Finding]], list[Finding]]:
        """What marks the findings that are in the baseline; writes it first, from the first list, if that is asked, and
        adds what has changed in it to `notes`."""
        path = self.baseline or settings.baseline
        if path is None:
            return lambda findings: findings
        from ...linters.verdict import baseline

        folder = os.path.dirname(os.path.abspath(path))
        shown = Path(os.path.relpath(path)).as_posix()
        before = baseline.former(path, shown) if self.update else baseline.read_baseline(path, shown)
        listed: Sequence[baseline.Entry] | None = None if self.update else before.entries
        checked = [baseline.seen_from(folder, each) for each in paths]
        read = {baseline.seen_from(folder, each): each for each in (*sources.paths, *contracts)}

        def there(name: str) -> bool:
            return os.path.lexists(os.path.join(folder, name))

        # What is found in one file may hang on others: only a run over folders that hold all that the baseline was
        # written over can say that something is no longer found.
        whole = not self.partial and all(map(os.path.isdir, paths)) and before.covered(checked, there)

        def judged(entry: baseline.Entry) -> bool:
            """Whether what an entry is about was looked at: its file was read with all others, or is gone."""
            if settings.certain or self.stdin is not None:
                return False  # what is not certain was not looked at, and an entry does not say what it was
            gone = not there(entry.path) and any(baseline.is_below(entry.path, each) for each in checked)
            here = read.get(entry.path)
            return gone or (whole and here is not None and is_shown(entry.code, settings_of(here), here))

        def mark(findings: list[Finding]) -> list[Finding]:
            nonlocal listed
            if listed is None:
                found = baseline.entries(findings, folder)
                listed = baseline.merged(found, before.entries, judged)
                covers = before.covering(checked, there)
                baseline.write_baseline(path, shown, baseline.Baseline(tuple(listed), covers))
                notes.append(baseline.summary(shown, listed, found, before.entries))
            return baseline.apply_baseline(findings, listed, folder, shown, judged)

        return mark
