"""`killed.py FOLDER SAVER POINT`: a save of step 1 is listened to and said; and one of step 2 is killed at POINT, or at
none of its points (`none`)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from contract_lint.runtime.resume.kill import Killer, Listener
from savers import SAVERS

folder, saver, point = Path(sys.argv[1]), SAVERS[sys.argv[2]], sys.argv[3]
listener = Listener(folder)
listener.arm()
saver.save(folder, 1, {"w": np.ones(4), "m": np.ones(4)}, {"step": 1, "cursor": 1})
listener.disarm()
print(listener.seen.model_dump_json(), flush=True)
if point != "none":
    killer = Killer(folder, point, listener.seen, lambda path: print(path, flush=True))
    killer.arm()
    saver.save(folder, 2, {"w": np.ones(4), "m": np.ones(4)}, {"step": 2, "cursor": 2})
    print("not killed")
