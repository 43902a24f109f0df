"""A run with a cache, or in several processes, says what a run without says."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from contract_lint.contracts.finding import Finding
from contract_lint.linters.source import run, workers
from contract_lint.linters.source.options import SourceOptions
from contract_lint.linters.source.read import read_sources
from contract_lint.linters.source.rule import SourceRule
from contract_lint.linters.source.run import Run, analysed, kept_in

HEAD = "import jax\nimport jax.numpy as jnp\n"
VARIANTS = {
    "serve.py": [
        f"{HEAD}\n\ndef run(x):\n    return jax.jit(lambda y: y + 1)(x)\n",
        f"{HEAD}\nzero = jnp.zeros(3)\n\n\ndef run(f, x):\n    return jax.jit(f)(x)\n",
    ],
    "main.py": [
        "import serve\n\nfor i in range(9):\n    serve.run(i)\n",
        "import serve\n\nserve.run(1)\n",
        "import jax\nimport serve\n\njax.distributed.initialize()\n\n\ndef build():\n    serve.run(1)\n",
        "import serve\nfrom pkg.kernel import kernel\n\nserve.run(kernel, 1)\n",
        "",
    ],
    "pkg/__init__.py": ["", "from .loss import loss\n"],
    "pkg/loss.py": [
        f"{HEAD}from .kernel import kernel\n\n\ndef loss(x):\n    return kernel(x)\n",
        f"{HEAD}\n\ndef loss(x):\n    while jnp.all(x > 0):\n        x = x - 1\n    return x\n",
        f"{HEAD}from .kernel import kernel as loss\n",
        "x = (\n",
    ],
    "pkg/kernel.py": [
        f"{HEAD}\n\ndef kernel(x):\n    if jnp.sum(x) > 0:\n        return x\n    return -x\n",
        f"# a line\n{HEAD}\n\ndef kernel(x):\n    if jnp.sum(x) > 0:\n        return x\n    return -x\n",
        f"{HEAD}from .loss import loss\n\n\ndef kernel(x):\n    return loss(x) if x is None else x\n",
    ],
    "train.py": [
        f"{HEAD}from pkg.loss import loss\n\nstep = jax.jit(loss)\n",
        f"{HEAD}from pkg.loss import loss\n\nstep = loss\n",
        f"{HEAD}from pkg.loss import loss\n\nstep = jax.jit(loss, static_argnums=0)\n",
        f"{HEAD}import pkg\n\n\n@jax.jit\ndef step(key):\n    x = jax.random.normal(key)\n"
        "    return pkg.loss(x) + jax.random.normal(key)\n",
    ],
}


def put(name: str, text: str) -> None:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(text)


def checked(cache: str | None = None, jobs: int = 1) -> list[Finding]:
    texts = read_sources(sorted(VARIANTS))
    return analysed(
        texts.sources, (), Run(SourceOptions(jobs=jobs), kept_in(cache, SourceOptions()) if cache else None)
    )


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, (text, *_) in VARIANTS.items():
        put(name, text)
    return tmp_path


@pytest.mark.parametrize("seed", range(3))
def test_warm_is_cold_after_any_change(seed: int, tree: Path) -> None:
    draw = random.Random(seed)
    seen = set()
    for _ in range(12):
        for name in draw.sample(sorted(VARIANTS), draw.randint(0, 2)):
            put(name, draw.choice(VARIANTS[name]))
        cold, warm = checked(), checked("cache/source.cache")
        assert warm == cold
        assert checked("cache/source.cache") == cold
        seen |= {finding.name for finding in cold}
    assert "tracer-branch" in seen


def test_processes_change_nothing(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = checked()
    monkeypatch.setattr(workers, "ENOUGH", 2)
    assert workers.processes(4, 2) == 2
    assert checked(jobs=2) == alone != []


def test_a_process_that_is_killed_costs_time_only(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = checked()
    monkeypatch.setattr(workers, "ENOUGH", 2)
    monkeypatch.setattr(workers, "_call", _killed)
    assert checked(jobs=2) == alone


def _killed(index: int) -> None:
    import os
    import signal

    os.kill(os.getpid(), signal.SIGKILL)


def test_a_bug_of_ours_is_a_finding_on_that_file_and_is_not_kept(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from contract_lint.linters.source import analyse

    real = analyse.check_file

    def broken(facts: analyse.FileFacts, selected: Sequence[SourceRule]) -> list[Finding]:
        if facts.path == "pkg/loss.py":
            raise KeyError("x")
        return real(facts, selected)

    monkeypatch.setattr(analyse, "check_file", broken)
    found = checked("cache/source.cache")
    assert [f.message[:45] for f in found if f.name == "unparseable-file"] == [
        "contract-lint failed at this file: KeyError: "
    ]
    assert "tracer-branch" in {f.name for f in found}
    monkeypatch.setattr(analyse, "check_file", real)
    assert checked("cache/source.cache") == checked()
    monkeypatch.setattr(analyse, "check_file", broken)
    monkeypatch.setenv("CONTRACT_LINT_DEBUG", "1")
    with pytest.raises(KeyError):
        checked()


def test_context_is_read_and_not_reported(tree: Path) -> None:
    texts = read_sources(sorted(VARIANTS)).sources
    kernel = [each for each in texts if each.path == "pkg/kernel.py"]
    others = [each for each in texts if each.path != "pkg/kernel.py"]
    assert analysed(kernel, (), Run(SourceOptions())) == []
    (found,) = analysed(kernel, others, Run(SourceOptions()))
    assert found.name == "tracer-branch" and found.location and found.location.path == "pkg/kernel.py"
    assert run.understood(texts, Run(SourceOptions()))[1] == []
