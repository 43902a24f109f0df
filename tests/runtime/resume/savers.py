"""Ways to save a step, as projects might write them, with numpy alone: some can be torn, some cannot."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

Saved = tuple[dict[str, Any], dict[str, int]]
ARRAYS, ABOUT, MARK = "arrays.npz", "about.json", "DONE"


def _write(at: Path, arrays: Mapping[str, Any], about: Mapping[str, int]) -> None:
    np.savez(at / ARRAYS, **arrays)
    (at / ABOUT).write_text(json.dumps(about))


def _read(at: Path) -> Saved:
    with np.load(at / ARRAYS) as saved:
        return dict(saved), json.loads((at / ABOUT).read_text())


class Renamed:
    """Beside its place, and renamed."""

    def save(self, folder: Path, step: int, arrays: Mapping[str, Any], about: Mapping[str, int]) -> None:
        partial = folder / f"{step}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        _write(partial, arrays, about)
        os.rename(partial, folder / str(step))

    def steps(self, folder: Path) -> list[int]:
        return [int(path.name) for path in folder.iterdir() if path.name.isdigit()]

    def load(self, folder: Path, step: int) -> Saved:
        return _read(folder / str(step))


class Bare(Renamed):
    """Right into its place."""

    def save(self, folder: Path, step: int, arrays: Mapping[str, Any], about: Mapping[str, int]) -> None:
        (folder / str(step)).mkdir(exist_ok=True)
        _write(folder / str(step), arrays, about)


class Marked(Bare):
    """Right into its place, with a marker behind it: what has none is not taken up."""

    def save(self, folder: Path, step: int, arrays: Mapping[str, Any], about: Mapping[str, int]) -> None:
        super().save(folder, step, arrays, about)
        (folder / str(step) / MARK).touch()

    def steps(self, folder: Path) -> list[int]:
        return [step for step in super().steps(folder) if (folder / str(step) / MARK).exists()]


class Unread(Marked):
    """With a marker that nobody looks at."""

    steps = Bare.steps


class Stuck(Marked):
    """With a marker; what was torn is in the way of the next save."""

    def save(self, folder: Path, step: int, arrays: Mapping[str, Any], about: Mapping[str, int]) -> None:
        (folder / str(step)).mkdir()
        super().save(folder, step, arrays, about)


class Lenient(Bare):
    """Right into its place, an array each; what is not there is begun anew."""

    def save(self, folder: Path, step: int, arrays: Mapping[str, Any], about: Mapping[str, int]) -> None:
        at = folder / str(step)
        at.mkdir(exist_ok=True)
        (at / ABOUT).write_text(json.dumps(about))
        for name, array in arrays.items():
            np.save(at / f"{name}.npy", array)

    def load(self, folder: Path, step: int) -> Saved:
        at = folder / str(step)
        files = [path for path in at.glob("*.npy") if path.stat().st_size]
        text = (at / ABOUT).read_text() or json.dumps({"step": step, "cursor": step})
        return {path.stem: np.load(path) for path in files}, json.loads(text)


class Pointed(Bare):
    """Right into its place, and then a file that says which step is whole is renamed."""

    def save(self, folder: Path, step: int, arrays: Mapping[str, Any], about: Mapping[str, int]) -> None:
        super().save(folder, step, arrays, about)
        (folder / "latest.partial").write_text(str(step))
        os.replace(folder / "latest.partial", folder / "latest")

    def steps(self, folder: Path) -> list[int]:
        latest = folder / "latest"
        return [int(latest.read_text())] if latest.exists() else []


class Both(Pointed):
    """Renamed, and then what points to it; what an earlier save left is no matter."""

    def save(self, folder: Path, step: int, arrays: Mapping[str, Any], about: Mapping[str, int]) -> None:
        shutil.rmtree(folder / str(step), ignore_errors=True)
        Renamed.save(self, folder, step, arrays, about)
        (folder / "latest.partial").write_text(str(step))
        os.replace(folder / "latest.partial", folder / "latest")


class Tokens(Renamed):
    """Renamed to the number of tokens seen; a step has 1,024."""

    def save(self, folder: Path, step: int, arrays: Mapping[str, Any], about: Mapping[str, int]) -> None:
        super().save(folder, 1024 * step, arrays, about)

    def steps(self, folder: Path) -> list[int]:
        return [number // 1024 for number in super().steps(folder)]

    def load(self, folder: Path, step: int) -> Saved:
        return super().load(folder, 1024 * step)


class Forked(Renamed):
    """In a process of its own."""

    def save(self, folder: Path, step: int, arrays: Mapping[str, Any], about: Mapping[str, int]) -> None:
        child = os.fork()
        if not child:
            super().save(folder, step, arrays, about)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            raise RuntimeError("the saver did not end")


class Halves(Renamed):
    """Two files that belong together, each renamed."""

    def save(self, folder: Path, step: int, arrays: Mapping[str, Any], about: Mapping[str, int]) -> None:
        parts = {"w": {"w": arrays["w"], **about}, "m": {"m": arrays["m"]}}
        for name, part in parts.items():
            np.savez(folder / f"{name}.partial.npz", **part)
        for name in parts:
            os.replace(folder / f"{name}.partial.npz", folder / f"{name}.npz")

    def steps(self, folder: Path) -> list[int]:
        return [int(np.load(folder / "w.npz")["step"])] if (folder / "m.npz").exists() else []

    def load(self, folder: Path, step: int) -> Saved:
        w, m = np.load(folder / "w.npz"), np.load(folder / "m.npz")
        return {"w": w["w"], "m": m["m"]}, {"step": step, "cursor": int(w["cursor"])}


class Flat(Bare):
    """One file for each step, right into its place."""

    def save(self, folder: Path, step: int, arrays: Mapping[str, Any], about: Mapping[str, int]) -> None:
        np.savez(folder / f"{step}.npz", **arrays, **{f"about/{name}": value for name, value in about.items()})

    def steps(self, folder: Path) -> list[int]:
        return [int(path.stem) for path in folder.glob("*.npz")]

    def load(self, folder: Path, step: int) -> Saved:
        with np.load(folder / f"{step}.npz") as saved:
            about = {name.partition("/")[2]: int(saved[name]) for name in saved.files if "/" in name}
            return {name: saved[name] for name in saved.files if "/" not in name}, about


class Unheard(Renamed):
    """By names within an open folder, as native code writes: no path is heard."""

    def save(self, folder: Path, step: int, arrays: Mapping[str, Any], about: Mapping[str, int]) -> None:
        above = os.open(folder, os.O_RDONLY)
        os.mkdir(str(step), dir_fd=above)
        for name in (ARRAYS, ABOUT):
            at = os.open(f"{step}/{name}", os.O_CREAT | os.O_WRONLY, dir_fd=above)
            with os.fdopen(at, "wb") as file:
                if name == ARRAYS:
                    np.savez(file, **arrays)
                else:
                    file.write(json.dumps(about).encode())
        os.close(above)


SAVERS: dict[str, Renamed] = {
    each.__name__.lower(): each()
    for each in (Renamed, Bare, Marked, Unread, Stuck, Lenient, Pointed, Both, Tokens, Forked, Halves, Flat, Unheard)
}
