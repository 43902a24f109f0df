"""One leg of the smoke test, in a process of its own: restore, go on, save, perhaps be killed.

`python -m contract_lint.runtime.resume.leg REQUEST REPORT FD`, as `worker` says; REQUEST is a LegRequest.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from ...contracts.resume import Failed, StepSeen
from ..worker import Progress, leave, require, serve
from .kill import Killer, Listener
from .log import leg_of
from .request import LegReport, LegRequest, LossSeen

if TYPE_CHECKING:
    from ..run.loop import Arguments


def run_leg(request: LegRequest, progress: Progress) -> LegReport:
    """Do it. Raises StepFailure for what the user's code raises."""
    child = request.child
    require(child.target, child.effort)
    progress(f"starting {child.target}")
    import jax

    from .. import build
    from ..errors import failure
    from ..requested import configure
    from ..targets import target

    chosen = target(child.target, child.effort)
    paths = configure(chosen, child)
    # Every leg on one mesh runs the same program: it is compiled once for all.
    jax.config.update("jax_enable_compilation_cache", True)
    jax.config.update("jax_compilation_cache_dir", request.cache)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    asked = child.steps[0]
    mesh = build.make_mesh(child.mesh, chosen) if child.mesh else None
    progress(f"{asked.name}: build")
    builder = build.load_builder(asked, paths)
    try:
        step = build.call_build(builder, asked, asked.args, mesh, asked.static)
        return _Leg(request, step, mesh, paths, progress).run()
    except BaseException as error:  # SystemExit and the like end the user's code here, not this process
        raise failure(error, paths, "resuming the step", ("step", asked.name)) from None


class _Leg:
    def __init__(self, request: LegRequest, step: Any, mesh: Any, paths: Any, progress: Progress) -> None:
        from ..run.loop import Loop
        from .carried import Carried
        from .hook import Hook

        self.request, self.step, self.mesh, self.paths, self.progress = request, step, mesh, paths, progress
        self.own = step.resumable is not None
        loop = Loop(step, mesh, paths, {})
        self.empty = not os.listdir(request.folder)
        run = step.resumable(request.folder) if self.own else Carried(step, loop, request.folder)
        self.hook = Hook(run, step, paths, request.child.steps[0].name, self._failed)
        self.listener = Listener(request.folder)
        self.saved: int | None = None
        self.first = self.open = False
        self.compared: dict[str, Any] = {}

    def run(self) -> LegReport:
        from .held import lacking

        request, name = self.request, self.request.child.steps[0].name
        self.progress(f"{name}: restore")
        done = restored = self.hook.restore(self.empty)
        self._say(restored=done, state=self.hook.state())
        loss = None
        while True:
            if done in (*request.save, request.begin) and done not in (restored, self.saved):
                self.progress(f"{name}: save step {done}")
                self._save(done)
            if done in request.loss_at:  # behind the save: it takes the next batch, and the cursor moves on
                given = self.hook.arguments()
                loss = self._loss(given, request.against if done == request.loss_at[0] else None)
                if not restored:
                    self._say(lacking=lacking(self.step, given, self.hook.arrays()) if self.own else [])
            if done >= request.until:
                break
            self.progress(f"{name}: step {done + 1}")
            values = self.hook.advance()
            self._settle()
            done += 1
            seen = StepSeen(step=done, values=values, state=self.hook.state())
            self._say(seen=seen.model_dump())
        self._settle()
        self._say(**self.compared)
        return LegReport(leg=leg_of(request), loss=loss, own=self.own)

    def _save(self, done: int) -> None:
        """Begin to save, and be heard; or be killed on the way."""
        request = self.request
        killed = done == request.begin and request.kill is not None
        if killed:
            assert request.kill is not None
            self.listener = Killer(request.folder, request.kill, request.like, self._killed)
            self._say(begun=done)
        self.listener.arm()
        self.hook.save()
        self.listener.returned()
        self.first, self.saved, self.open = self.saved is None, done, True
        if killed:
            self._settle()

    def _settle(self) -> None:
        """Wait for a save that was begun: behind the next step, as a loop does that saves in the background. What reads
        the arrays too late saves those of another step."""
        if not self.open:
            return
        self.hook.wait()
        self.listener.disarm()
        self._say(saved=self.saved, **({"save": self.listener.seen.model_dump()} if self.first else {}))
        self.open = False

    def _failed(self, failed: Failed) -> None:
        error = failed.error.replace(f"{self.request.folder}{os.sep}", "")  # that is another folder each time
        self._say(failed=failed.model_copy(update={"error": error}).model_dump())

    def _killed(self, path: str) -> None:
        self._say(killed=self.request.kill, killed_at=path)

    def _loss(self, given: Arguments | None, before: LossSeen | None) -> LossSeen | None:
        """The loss of the next step on the arrays as they are; compared where there is something to compare with."""
        import jax
        import numpy as np

        from ..run.compare import LongestSum, Runs, judge, roundoff_of
        from ..run.evaluate import evaluate
        from ..run.session import MOVES
        from ..run.values import host_values

        if given is None:
            self.compared = {"not_compared": "the step's `resumable` has no `arguments()`"}
            return None
        args, kwargs = given
        values = host_values(self.step, args, kwargs)
        found = evaluate(self.step, values, self.mesh, self.paths, moves=MOVES)
        losses = [key for key in found.values if key[0] == "loss"]
        key = ("loss", "loss") if ("loss", "loss") in losses else losses[0] if losses else None
        if key is None:
            self.compared = {"not_compared": "the step returns no loss"}
            return None
        value, longest = found.values[key], found.longest.get(key, LongestSum())
        made = LossSeen(
            loss=float(value),
            dtype=value.dtype.name,
            moved=[float(run[key]) for run in found.moved],
            roundoff=roundoff_of(jax.numpy.dtype(found.product)),
            terms=longest.terms,
            sum_roundoff=longest.roundoff,
        )
        if before is not None:
            dtype = jax.numpy.dtype(before.dtype)
            runs = Runs(value, np.asarray(before.loss, dtype), None, [np.asarray(each, dtype) for each in before.moved])
            said = judge("loss", "loss", runs, before.roundoff, LongestSum(before.terms, before.sum_roundoff))
            self.compared = {"not_compared": said} if isinstance(said, str) else {"compared": said.model_dump()}
        return made

    def _say(self, **said: Any) -> None:
        with open(self.request.log, "a", encoding="utf-8") as log:
            log.write(json.dumps(said) + "\n")
            log.flush()
            os.fsync(log.fileno())


if __name__ == "__main__":
    leave(serve(sys.argv[1:], LegRequest, run_leg, lambda _, failure: LegReport(failure=failure)))
