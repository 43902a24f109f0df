"""A module that would stay: it starts a process in its group and one in a session of its own, and never ends.

`lingering PIDS`: the file that gets the numbers of all three processes, then anything goes to `$TMPDIR/left`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DAEMON = """
import os, time
if os.fork():
    os._exit(0)
os.setsid()
print(os.getpid(), flush=True)
os.close(1)
time.sleep(600)
"""

if __name__ == "__main__":
    pids = Path(sys.argv[1])
    tied = subprocess.Popen(["sleep", "600"])
    free = subprocess.Popen([sys.executable, "-c", DAEMON], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert free.stdout is not None
    (Path(tempfile.gettempdir()) / "left").write_text("behind")
    partial = pids.with_suffix(".partial")
    partial.write_text(f"{os.getpid()} {tied.pid} {free.stdout.readline()}")
    partial.rename(pids)
    time.sleep(600)
