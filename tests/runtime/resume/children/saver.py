"""`saver.py FOLDER UNTIL EVENT MOST`: take up the newest step, look at its values, save one step after the other; be
killed at the act number EVENT on files (0: never). MOST: bytes that a file may have (0: any number)."""

import os
import resource
import signal
import sys

import numpy as np
import orbax.checkpoint as ocp

folder, until, event, most = sys.argv[1], *map(int, sys.argv[2:])
acts = 0
armed = False


def heard(name: str, args: tuple) -> None:
    global acts
    if not armed or name not in ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "open"):
        return
    if not str(args[0]).startswith(folder) or (name == "open" and not any(c in str(args[1]) for c in "wax+")):
        return
    acts += 1
    if acts == event:
        os.kill(os.getpid(), signal.SIGKILL)


def state(step: int) -> dict:
    rng = np.random.default_rng(step)
    return {"params": {"w": rng.standard_normal((64, 33)), "b": rng.standard_normal(7)}, "step": np.asarray(step)}


sys.addaudithook(heard)
options = ocp.CheckpointManagerOptions(max_to_keep=2, cleanup_tmp_directories=True)
manager = ocp.CheckpointManager(folder, options=options, item_names=("state", "data"))
latest = manager.latest_step()
if latest is not None:
    wanted = ocp.args.Composite(state=ocp.args.StandardRestore(state(0)), data=ocp.args.JsonRestore())
    found = manager.restore(latest, args=wanted)
    same = all(np.array_equal(found["state"]["params"][name], state(latest)["params"][name]) for name in ("w", "b"))
    assert same and found["data"] == {"next": latest}, "what was restored is not what was saved"
print("restored", latest or 0, flush=True)
armed = True
if most:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
for step in range((latest or 0) + 1, until + 1):
    kept = {"state": ocp.args.StandardSave(state(step)), "data": ocp.args.JsonSave({"next": step})}
    manager.save(step, args=ocp.args.Composite(**kept))
    manager.wait_until_finished()
    print("saved", step, flush=True)
