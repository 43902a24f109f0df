"""A folder of checkpoints belongs to one run until its process ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from contract_lint.runtime.trainer.alone import Taken, alone_in

HOLDS = """\
import sys
from contract_lint.runtime.trainer.alone import alone_in
alone_in(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no flock: nothing is locked there")
def test_another_run_is_refused_until_the_first_one_ends(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "run"
    command = [sys.executable, "-c", HOLDS, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None and first.stdout.readline() == "held\n"
        with pytest.raises(Taken, match="another run writes its checkpoints to"):
            alone_in(str(folder))
        alone_in(str(tmp_path / "other"))
        first.kill()
    alone_in(str(folder))
    assert not list(folder.iterdir())


def test_a_folder_that_cannot_be_made_is_left_to_the_save(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    alone_in(str(tmp_path / "file" / "run"))
