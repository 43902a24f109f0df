"""Reports to render: a clean one, one with folded, accepted and hostile findings, and one that is far too large."""

from __future__ import annotations

from dataclasses import replace

import pytest
from contract_lint.contracts.finding import Edit, Finding, Fix, Location
from contract_lint.plugins.pipeline.not_checked import NotChecked
from contract_lint.plugins.pipeline.report import Report, report
from contract_lint.plugins.pipeline.tables import (
    CollectiveRow,
    ComparisonRow,
    MemoryTable,
    RunTable,
    StepTables,
    TensorRow,
)

HOSTILE = (
    "bad\x1b[31m ]]> & <script>alert(1)</script> %0A::error::x\r\n::warning::y | `code` @everyone #1 \u202e \udcff"
)


def tables(target: str = "cpu:8") -> StepTables:
    return StepTables(
        target=target,
        step="train",
        devices=8,
        device_kind="cpu",
        mesh=(("data", 2), ("fsdp", 4)),
        collectives=(
            CollectiveRow(
                kind="all-gather",
                axes=("fsdp",),
                plan_count=72,
                plan_elements=25_165_824,
                partitioned_count=72,
                partitioned_elements=25_165_824,
                partitioned_ring_bytes=75_497_472,
                optimized_count=72,
                optimized_elements=25_165_824,
                optimized_ring_bytes=75_497_472,
            ),
            CollectiveRow(
                kind="all-gather",
                axes=("data",),
                partitioned_count=8,
                partitioned_elements=1_048_576,
                partitioned_ring_bytes=2_097_152,
                optimized_count=8,
                optimized_elements=1_048_576,
                optimized_ring_bytes=4_194_304,
                verdict="unplanned",
            ),
            CollectiveRow(
                kind="reduce-scatter",
                axes=("fsdp",),
                plan_count=36,
                plan_elements=12_582_912,
                partitioned_count=34,
                partitioned_elements=12_400_000,
                partitioned_ring_bytes=37_200_000,
                optimized_count=0,
                optimized_elements=0,
                optimized_ring_bytes=0,
                verdict="differs",
            ),
            CollectiveRow(
                kind="all-reduce",
                axes=("data", "fsdp"),
                partitioned_count=3,
                partitioned_elements=3,
                partitioned_ring_bytes=21,
                optimized_count=37,
                optimized_elements=12_400_003,
                optimized_ring_bytes=74_400_021,
                verdict="allowed",
            ),
        ),
        rewrites=("reduce-scatter printed as all-reduce: 34 executions, 12,400,000 elements",),
        memory=MemoryTable(
            need_bytes=1_234_567_890,
            peak_bytes=1_100_000_000,
            argument_bytes=400_000_000,
            output_bytes=400_000_100,
            alias_bytes=400_000_000,
            temp_bytes=834_000_000,
            code_bytes=567_790,
            state_bytes=399_000_000,
            state_plan_bytes=399_000_000,
            hbm_bytes=1_073_741_824,
            by_class=(("activation_saved", 300_000_000, None), ("optimizer_slot", 266_000_000, 200_000_000)),
        ),
        tensors=(
            TensorRow(cls="parameter", count=12, bytes=133_000_000, replicated_bytes=4_096, plan_bytes=133_000_000),
            TensorRow(
                cls="optimizer_slot", count=25, bytes=266_000_000, replicated_bytes=8_192, plan_bytes=260_000_000
            ),
            TensorRow(cls="batch", count=3, bytes=3_072, replicated_bytes=0),
        ),
        run=RunTable(
            steps=3,
            compiles=("compile at step 0: first call",),
            compiles_promised=1,
            transfers=(),
            losses=(6.25, 6.2, 6.1),
            comparisons=(
                ComparisonRow(
                    role="loss",
                    path="loss",
                    ratio=0.25,
                    error=1e-7,
                    bound=4e-7,
                    floor=8e-7,
                    method="norm-wise, float64",
                ),
                *(
                    ComparisonRow(
                        role="gradient",
                        path=f"params/layers/w{n}",
                        ratio=0.1 * n,
                        error=1e-6,
                        bound=4e-6,
                        floor=8e-6,
                        method="norm-wise, float64",
                    )
                    for n in range(12)
                ),
            ),
            not_compared=(("params", "after a normalised update"),),
        ),
    )


PROVENANCE = {"tool": "contract-lint 0.1.0", "target": "cpu:8", "jax": "0.10.2", "contract_digest": "0" * 64}


@pytest.fixture
def clean() -> Report:
    return report(
        [],
        verb="verify",
        subject="dense-fsdp",
        targets=("cpu:8",),
        contracts=("train.contract.yaml",),
        captures=(PROVENANCE,),
        tables=(tables(),),
        proof="every promise holds",
    )


@pytest.fixture
def incomplete(clean: Report) -> Report:
    """Clean where it was looked at; two targets were not."""
    return replace(
        clean,
        not_checked=(
            NotChecked("tpu:v5e:2x4", "libtpu is not installed", help="pip install 'jax-contract-lint[tpu]'"),
            NotChecked("cuda:h100:1x8", HOSTILE, Location("train.contract.yaml", 7, 3)),
        ),
    )


@pytest.fixture
def broken() -> Report:
    root = Finding(
        code="SHD204",
        name="unplanned-collective",
        severity="error",
        step="train",
        targets=("cpu:8", "tpu:v5e:2x4"),
        message="all-gather over data is not promised: 8 executions, 1,048,576 elements, 2.00 MiB sent per step",
        subject="all-gather:data",
        location=Location("src/my model/train.py", 41, 9, 41, 30),
        key="collectives.expect",
        instruction="%all-gather.3",
        expected="none",
        found="8 executions, 1,048,576 elements",
        evidence=("%all-gather.3: f32, 8 executions, at train.py:41",),
        help="keep the batch axis in front of the reshape, or write the collective down in collectives.allow",
        fix=Fix("transpose", (Edit(Location("src/my model/train.py", 41, 9, 41, 30), "y"),)),
    )
    folded = [
        Finding(
            code="MEM202",
            name="hbm-over-budget",
            severity="error",
            step="train",
            targets=("cpu:8",),
            key="memory.hbm",
            message="the step needs 1.15 GiB of a budget of 1.00 GiB",
            subject="hbm",
            caused_by=root.fingerprint,
            location=Location("train.contract.yaml", 30, 3),
        ),
    ]
    accepted = Finding(
        code="SHD209",
        name="duplicate-collective",
        severity="warning",
        status="accepted",
        step="train",
        message="the embedding is gathered twice",
        subject="embed",
        targets=("cpu:8",),
        location=Location("src/my model/train.py", 50),
    )
    hostile = Finding(
        code="JIT203",
        name="large-constant",
        severity="warning",
        confidence="likely",
        message=HOSTILE,
        subject=HOSTILE,
        location=Location("dir, with:odd%chars/a|b.py", 3, 1, 5, 2),
        expected=HOSTILE,
        found=HOSTILE,
        help=HOSTILE,
        evidence=(HOSTILE,),
        key=HOSTILE,
        instruction=HOSTILE,
    )
    nowhere = Finding(code="EXP999", name="from-elsewhere", severity="info", message="no place at all", subject="x")
    return report(
        [nowhere, accepted, *folded, hostile, root],
        verb="verify",
        subject="dense-fsdp",
        targets=("cpu:8", "tpu:v5e:2x4"),
        contracts=("train.contract.yaml",),
        captures=(PROVENANCE,),
        tables=(tables(), tables("tpu:v5e:2x4")),
    )


@pytest.fixture
def huge() -> Report:
    findings = [
        Finding(
            code="SHD204",
            name="unplanned-collective",
            severity="error",
            message="|<@#`" * 2_000,
            subject=str(n),
            location=Location(f"src/{n}.py", n + 1),
            evidence=("`" * 5_000,) * 50,
            targets=("cpu:8",),
        )
        for n in range(300)
    ]
    return report(findings, verb="verify", subject="|" * 10_000, targets=("cpu:8",), contracts=("c.contract.yaml",))


@pytest.fixture
def hostile() -> str:
    return HOSTILE
