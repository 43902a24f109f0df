"""Where every buffer of a scheduled program lives, worked out from the program alone.

XLA prints no buffer assignment with its text. These are its rules (xla/service: hlo_dataflow_analysis, hlo_live_range,
buffer_assignment, heap_simulator), applied to the schedule: `values` says which instructions hold one value, `ranges`
how long each lives and which must share memory (`in_place`), `sharing` and `fusions` which may, `assign` what is put
where.
"""

from .assign import assigned

__all__ = ["assigned"]
