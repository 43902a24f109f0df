"""What crosses the border between a leg and its parent."""

from __future__ import annotations

import math

from contract_lint.runtime.resume.request import LegReport, LossSeen


def test_a_loss_that_is_not_finite_comes_through() -> None:
    seen = LossSeen(loss=math.nan, dtype="float32", roundoff=1e-7, moved=[math.inf, -math.inf, 1.5])
    came = LegReport.model_validate_json(LegReport(loss=seen).model_dump_json()).loss
    assert came is not None and math.isnan(came.loss) and came.moved == [math.inf, -math.inf, 1.5]
