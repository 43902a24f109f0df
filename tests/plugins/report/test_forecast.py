"""The forecast in text and Markdown: inside its width, the binding resource named, never a prediction."""

from __future__ import annotations

from dataclasses import replace

import pytest
from contract_lint.contracts.manifest import MeshFact
from contract_lint.contracts.target_name import parse_target
from contract_lint.hlo_tools.collectives import collectives
from contract_lint.hlo_tools.cost import cost
from contract_lint.hlo_tools.module import parse_hlo
from contract_lint.hlo_tools.roofline import Roofline, roofline
from contract_lint.plugins.pipeline.forecast import as_table
from contract_lint.plugins.pipeline.report import Report
from contract_lint.plugins.report.forecast import duration, multiplied, si
from contract_lint.plugins.report.json import as_json
from contract_lint.plugins.report.ledgers import render_ledger
from contract_lint.plugins.report.markdown import render as markdown
from contract_lint.plugins.report.text import render

PROGRAM = """HloModule jit_step, num_partitions=16

ENTRY e {
  x = bf16[1024,64] parameter(0)
  g = bf16[1024,1024] all-gather(x), channel_id=1, replica_groups=[1,16]<=[16], dimensions={1},
    use_global_device_ids=true
  k = bf16[64,64] custom-call(x), custom_call_target="un|known<kernel>"
  ROOT y = f32[1024,1024] dot(g, g), lhs_contracting_dims={1}, rhs_contracting_dims={0},
    metadata={op_name="jit(step)/mlp/dot_general" source_file="/src/model.py" source_line=12}
}
"""


def made(target: str | None = "cuda:h100:2x8") -> Roofline:
    module = parse_hlo(PROGRAM)
    mesh = MeshFact(axes={"data": 2, "fsdp": 8}, device_ids=list(range(16)))
    found = roofline(cost(module), collectives(module, mesh), parse_target(target) if target else None, 1 << 30)
    found.tokens, found.model_flops, found.model_formula = 2048, 16 * 2 * 1024**3, "6 * N"
    found.recomputed_flops = 0
    return found


def with_forecast(report: Report, target: str | None = "cuda:h100:2x8") -> Report:
    return replace(report, tables=(replace(report.tables[0], forecast=as_table(made(target))),))


@pytest.mark.parametrize("width", [80, 100, 120])
def test_the_block_of_verify_stays_inside_its_width(width: int, clean: Report) -> None:
    text = render(with_forecast(clean), width)
    assert max(map(len, text.splitlines())) <= width
    said = " ".join(text.split())
    assert "Forecast per device: a bound" in said
    assert "network over data,fsdp" in said
    assert "1.00 GiB must fit in 80.00 GiB (1.2 %)" in said
    assert "the program multiplies exactly that" in said
    assert "FLOPs of custom calls are not counted: un|known<kernel> (1)" in said
    assert "https://www.nvidia.com/en-us/data-center/h100/" in said
    assert "predict" not in said


def test_what_collectives_send_is_told_as_run_beside_what_was_asked(clean: Report) -> None:
    report = with_forecast(clean)
    for text in (render(report, 120), markdown(report)):
        assert "sent by collectives, as run: data,fsdp" in text
    assert "sent by collectives: data,fsdp" in render_ledger(made(), "text", 120)


def test_exactly_one_resource_binds_and_it_is_the_longest(clean: Report) -> None:
    forecast = with_forecast(clean).tables[0].forecast
    assert forecast is not None
    binding = [row for row in forecast.resources if row.binds]
    assert [row.name for row in binding] == [forecast.binding]
    assert binding[0].seconds == max(row.seconds for row in forecast.resources) == forecast.bound_seconds
    assert render(with_forecast(clean), 100).count(" binds") == 1


def test_a_cpu_gets_its_counts_and_no_time(clean: Report) -> None:
    said = " ".join(render(with_forecast(clean, "cpu:16"), 100).split())
    assert "2.15 GFLOP in matrix products (bf16)" in said
    assert "no time bound: a cpu has no published peak" in said
    assert "at least" not in said and "tokens/s" not in said


def test_markdown_escapes_what_the_program_names(clean: Report) -> None:
    text = markdown(with_forecast(clean))
    assert "un\\|known&lt;kernel&gt;" in text or "un\\|known\\<kernel" in text
    assert "<kernel>" not in text
    assert "| binds |" in text
    assert "what the forecast rests on" in text


def test_json_has_the_numbers(clean: Report) -> None:
    (target,) = as_json(with_forecast(clean))["targets"]
    forecast = target["forecast"]
    assert forecast["bound_seconds"] == max(row["seconds"] for row in forecast["resources"])
    assert forecast["binding"] == "NVLink over data,fsdp"
    assert forecast["tokens_per_second_max"] == pytest.approx(2048 / forecast["bound_seconds"])
    assert {row["link_bytes"] + row["network_bytes"] for row in forecast["collectives"]} == {2 * 1024**2 * 15 // 16}


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_the_ledger_names_the_largest_products(form: str) -> None:
    text = render_ledger(made(), "text" if form == "text" else "markdown", 100)
    assert "at least" in text.splitlines()[0] and "bound by NVLink" in text.splitlines()[0]
    assert "/src/model.py:12" in text
    assert max(map(len, render_ledger(made(), "text", 80).splitlines())) <= 80


def test_the_ledger_without_a_target_says_what_to_name() -> None:
    assert "no time bound: no target is named" in render_ledger(made(None), "text", 100).splitlines()[0]


def test_a_program_that_multiplies_more_says_how_much() -> None:
    table = as_table(made())
    assert multiplied(replace(table, recomputed_flops=5)).endswith("1.000 times that")
    half = replace(table, model_flops=16 * 1024**3)
    assert "34.4 GFLOP on all devices, 2.000 times that" in multiplied(half)
    assert "and 17.2 GFLOP that rematerialisation repeats" in multiplied(replace(half, recomputed_flops=16 * 1024**3))


def test_numbers_as_people_read_them() -> None:
    assert [si(value) for value in (0, 999.4, 999.6, 35.87e12, 1e30)] == ["0 ", "999 ", "1 k", "35.9 T", "1e+06 Y"]
    assert [duration(value) for value in (2, 0.644, 12.3e-6, 5e-9)] == ["2 s", "644 ms", "12.3 us", "5 ns"]
