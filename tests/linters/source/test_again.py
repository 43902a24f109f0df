"""A run after an edit says, byte for byte, what a run that knows nothing says."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from contract_lint.linters.source import quick, unread
from contract_lint.linters.source.files import find_sources
from contract_lint.linters.source.findings import pack_findings
from contract_lint.linters.source.options import SourceOptions
from contract_lint.linters.source.program import Program
from contract_lint.linters.source.read import read_sources
from contract_lint.linters.source.run import Run, analysed, kept_in
from pytest import MonkeyPatch

# Random edits of a project, as people make them.

DEF = re.compile(r"^( *)def (\w+)\(", re.MULTILINE)
IMPORT = re.compile(r"^(?:from [\w.]+ import .+|import [\w.]+.*)$", re.MULTILINE)
BODIES = (
    "return x + {number}",
    "return jnp.sum(x)",
    "return {name}(x)",
    "for i in range(3):\n        {name}(x)\n    return x",
    "return jax.jit({name})(x)",
    "return logging.getLogger('{name}')",
    "return jax.random.normal(x)",
    "while jnp.any(x > 0):\n        x = {name}(x)\n    return x",
    "return jax.devices()",
    "with pytest.raises(TypeError):\n        {name}(x)",
    "with pytest.raises(TypeError):\n        jax.jit({name})(x)\n    return {name}(x)",
)


def edit(draw: random.Random, root: Path) -> str:
    """Makes one edit somewhere below `root`; what was done."""
    files = sorted(root.rglob("*.py"))
    path = draw.choice(files)
    text = path.read_text()
    made = draw.choice(EDITS)(draw, text, [each.read_text() for each in draw.sample(files, min(3, len(files)))])
    if made is None:
        if len(files) > 3 and draw.random() < 0.1:
            path.unlink()
            return f"delete {path.name}"
        made = text + f"# {draw.random()}\n"
    path.write_text(made)
    # A clock with ticks that are short enough for what writes here.
    os.utime(path, ns=(draw.getrandbits(60), draw.getrandbits(60)))
    return f"{path.name}"


def add_function(draw: random.Random, text: str, others: list[str]) -> str:
    names = [each[1] for other in (text, *others) for each in DEF.findall(other)] or ["len"]
    # Now and then a name that is there, or that something may ask for already.
    name = draw.choice([f"added_{draw.randint(0, 4)}", f"added_{draw.randint(0, 4)}", draw.choice(names)])
    body = draw.choice(BODIES).format(
        number=draw.randint(0, 9), name=draw.choice([*names, f"added_{draw.randint(0, 4)}"])
    )
    decorator = draw.choice(["", "", "@jax.jit\n"])
    made = f"{decorator}def {name}(x):\n    {body}\n"
    if draw.random() < 0.5:
        return f"{text}\n\n{made}"
    at = draw.choice([0, *(found.start() for found in re.finditer(r"^(?=def |@|class )", text, re.MULTILINE))])
    return f"{text[:at]}{made}\n\n{text[at:]}"


def remove_function(draw: random.Random, text: str, others: list[str]) -> str | None:
    found = [each for each in DEF.finditer(text) if not each[1]]
    if not found:
        return None
    start = draw.choice(found).start()
    end = re.compile(r"^\S", re.MULTILINE).search(text, start + 1)
    return text[:start] + (text[end.start() :] if end else "")


def decorate(draw: random.Random, text: str, others: list[str]) -> str | None:
    if "@jax.jit\n" in text and draw.random() < 0.5:
        return text.replace("@jax.jit\n", "", 1)
    found = list(DEF.finditer(text))
    if not found:
        return None
    chosen = draw.choice(found)
    return f"{text[: chosen.start()]}{chosen[1]}@jax.jit\n{text[chosen.start() :]}"


def rename(draw: random.Random, text: str, others: list[str]) -> str | None:
    names = [each[1] for each in DEF.findall(text)]
    return re.sub(rf"\b{draw.choice(names)}\b", f"added_{draw.randint(0, 4)}", text) if names else None


def change_import(draw: random.Random, text: str, others: list[str]) -> str | None:
    found, theirs = IMPORT.findall(text), [each for other in others for each in IMPORT.findall(other)]
    if not theirs:
        return None
    new = draw.choice(theirs)
    return text.replace(draw.choice(found), new, 1) if found and draw.random() < 0.5 else f"{new}\n{text}"


def use(draw: random.Random, text: str, others: list[str]) -> str | None:
    """A call of something in the middle of a body."""
    returns = list(re.finditer(r"^( +)return ", text, re.MULTILINE))
    names = [each[1] for other in (text, *others) for each in DEF.findall(other)] + ["added_1", "print", "jnp.sum"]
    if not returns:
        return None
    chosen = draw.choice(returns)
    return f"{text[: chosen.start()]}{chosen[1]}{draw.choice(names)}(1)\n{text[chosen.start() :]}"


def argument(draw: random.Random, text: str, others: list[str]) -> str | None:
    """What some call is given."""
    found = list(re.finditer(r"\(x\)(?!:)|\(1\)", text))
    if not found:
        return None
    chosen = draw.choice(found)
    new = draw.choice(["(x)", "(1)", "(x + 1)", "(jnp.sum(x))", f"(x, k={draw.randint(0, 3)})"])
    return f"{text[: chosen.start()]}{new}{text[chosen.end() :]}"


def shift(draw: random.Random, text: str, others: list[str]) -> str:
    return "# a line\n" + text


def assign(draw: random.Random, text: str, others: list[str]) -> str:
    names = [each[1] for other in (text, *others) for each in DEF.findall(other)] or ["None"]
    return f"{text}\nadded_{draw.randint(0, 4)} = {draw.choice([*names, '3', 'jax.jit(len)'])}\n"


def break_syntax(draw: random.Random, text: str, others: list[str]) -> str | None:
    if text.endswith("(\n"):
        return text[:-2]
    return text + "(\n" if draw.random() < 0.3 else None


Edit = Callable[[random.Random, str, list[str]], str | None]
EDITS: tuple[Edit, ...] = (
    add_function, add_function, add_function, remove_function, decorate, rename, change_import, use, use, shift, assign,
    argument, argument, break_syntax,
)  # fmt: skip


HEAD = "import jax\nimport jax.numpy as jnp\n"
PROJECT = {
    "pkg/__init__.py": "from .model import *\nfrom .loss import loss as objective\n",
    "pkg/base.py": (
        f"{HEAD}\n\nclass Base:\n    def __call__(self, x):\n        return self.forward(x)\n\n"
        "    def forward(self, x):\n        return x\n\n\n"
        "def apply(f, x):\n    return f(x)\n"
    ),
    "pkg/model.py": (
        f"{HEAD}from .base import Base, apply\n\n\nclass Model(Base):\n"
        "    def forward(self, x):\n        if jnp.any(x > 0):\n            return added_1(x)\n"
        "        return apply(helper, x)\n\n\n"
        "def helper(x):\n    return jnp.sum(x)\n"
    ),
    "pkg/loss.py": (
        f"{HEAD}from pkg import model\n\n\ndef loss(key, x):\n    noise = jax.random.normal(key)\n"
        "    while jnp.all(x > 0):\n        x = model.helper(x)\n    return x + noise\n\n\n"
        "def place(x):\n    return [added_2(y) for y in x]\n"
    ),
    "train.py": (
        f"{HEAD}import pkg\nfrom pkg.loss import loss\nfrom pkg import added_3\n\nmodel = pkg.Model()\n\n\n"
        "@jax.jit\ndef step(key, x):\n    return pkg.objective(key, model(x)) + added_3(x)\n\n\n"
        "def main(key, x):\n    for i in range(9):\n        x = step(key, x)\n        x = jax.jit(loss)(key, x)\n"
        "    return loss(key, x)\n"
    ),
    "serve.py": (
        f"{HEAD}import train\nfrom pkg.base import *\n\nfor i in range(3):\n    train.main(i, apply(train.step, 1))\n"
    ),
}


def checked(cache: str | None = None) -> list[Any]:
    kept = kept_in(cache, SourceOptions()) if cache else None
    there = find_sources(["."])
    texts = read_sources(there.files, real=there.real, known=kept.state if kept else None)
    found = analysed(texts.sources, (), Run(SourceOptions(), kept))
    places = [each.location.path if each.location else "" for each in found]
    return list(zip(places, pack_findings(found), strict=True))


def compared(seed: int, edits: int, monkeypatch: MonkeyPatch) -> int:
    """Checks the project here after each of some edits; how often the whole program was left alone."""
    draw = random.Random(seed)
    alone = 0
    real = quick.relinked

    def counted(*args: Any) -> Program | None:
        nonlocal alone
        program = real(*args)
        alone += program is not None
        return program

    monkeypatch.setattr(quick, "relinked", counted)
    monkeypatch.setattr(unread, "SETTLED", -(1 << 62))
    cache = os.path.abspath(".contract-lint/source.cache")
    checked(cache)
    done: list[str] = []
    for _ in range(edits):
        done += [edit(draw, Path()) for _ in range(draw.choice([1, 1, 1, 2]))]
        assert checked(cache) == checked(), done
    return alone


@pytest.mark.parametrize("seed", range(6))
def test_after_random_edits(seed: int, tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in PROJECT.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    assert compared(seed, 30, monkeypatch) > 0


ECOSYSTEM = Path(__file__).parents[3] / ".ecosystem"


@pytest.mark.slow
@pytest.mark.parametrize("package", ["chex", "optax", "rlax", "jaxopt", "brax"])
def test_after_random_edits_of_a_real_package(package: str, tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    there = sorted(ECOSYSTEM.glob(f"{package}-*"))
    if not there:
        pytest.skip("the packages of tests/ecosystem were not fetched")
    shutil.copytree(there[0], tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    compared(1, 12, monkeypatch)
