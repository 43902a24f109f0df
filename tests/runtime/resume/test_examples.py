"""The example that saves itself resumes; what it does wrong on purpose here is found."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from contract_lint.plugins.pipeline.resume import Options, check_resume

EXAMPLE = Path(__file__).parents[3] / "examples/plain_flax"
FORGETS = {
    "nothing": ("self.done", "self.done", set()),
    "the cursor": (
        "self.example(self.done)[0][1]\n",
        "self.example(self.seen)[0][1]\n        self.seen += 1\n",
        {"CKP702"},
    ),
    "the optimizer": ('kept["state"]', 'kept["state"] | {"opt_state": self.arrays["opt_state"]}', {"CKP708"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", FORGETS)
def test_the_example(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder)
    before, after, codes = FORGETS[what]
    text = (folder / "resumable.py").read_text()
    assert before in text
    (folder / "resumable.py").write_text(
        text.replace(before, after).replace("self.done = 0", "self.done = self.seen = 0")
    )
    report = check_resume(str(folder / "resume.contract.yaml"), Options(steps=4))
    assert {each.code for each in report.findings if each.is_root} == codes
