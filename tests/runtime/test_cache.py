"""The cache of captures, with other runs at work in it."""

from __future__ import annotations

import os
from pathlib import Path

from contract_lint.runtime.cache import ABANDONED, CaptureCache


def stored(cache: CaptureCache, text: str) -> Path:
    fresh = cache.fresh()
    fresh.mkdir()
    (fresh / "manifest.json").write_text(text)
    return cache.store("key", fresh, [])


def test_a_capture_that_another_run_stored_first_is_kept(tmp_path: Path) -> None:
    """Somebody may be reading it, and it was made from the same files."""
    cache = CaptureCache(tmp_path)
    first = stored(cache, "{}")
    inode = (first / "manifest.json").stat().st_ino
    assert stored(cache, "{} ") == first
    assert (first / "manifest.json").stat().st_ino == inode
    assert not list(cache.folder.glob("new-*"))


def test_half_a_stored_capture_is_replaced(tmp_path: Path) -> None:
    cache = CaptureCache(tmp_path)
    first = stored(cache, "{}")
    (first / "manifest.json").unlink()
    assert cache.find("key") is None
    assert stored(cache, "{}") == first and cache.find("key") == first


def test_what_killed_runs_left_is_removed_after_a_day(tmp_path: Path) -> None:
    cache = CaptureCache(tmp_path)
    old, young = cache.fresh().parent, cache.fresh().parent
    before = old.stat().st_mtime - ABANDONED - 60
    os.utime(old, (before, before))
    cache.fresh()
    assert not old.exists() and young.exists()
