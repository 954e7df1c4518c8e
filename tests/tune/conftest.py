# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""What came of a tuning that never was."""

import pytest
from made_libraries import made_evidence

from nearpeak.libraries.rules import Range, Table
from nearpeak.tune.tuned import Calibration, Ceiling, Free, Refused, Tried, Tuned

FASTER = made_evidence(
    "host-gpu near, latency H,D at 8 B", 60.0, 12.0, ci95=[4.5, 5.5], ceiling=2.3
)
SLOWER = made_evidence(
    "host-host, bw H,H at 1 MiB", 10.0, 5.0, unit="GB/s", times=0.5, verdict="slower"
)

HOST = made_evidence("host-host, latency H,H at 8 B", 0.6, 1.0, ci95=[0.5, 0.7])


@pytest.fixture
def tuned() -> Tuned:
    return Tuned(
        schema=1,
        nearpeak="0",
        started="2026-01-01",
        library="alpha",
        family="openmpi",
        version="5",
        base="default",
        path="host-gpu near",
        path_summary="",
        buffers="H,D",
        targets=["latency:8", "bw:16M"],
        host="here",
        candidates=12,
        launches=150,
        seconds=99.0,
        env={"UCX_TLS": "sm,self"},
        rules=[
            Table(
                name="allreduce",
                operation=2,
                ranks=2,
                ranges=[Range(first=0, algorithm=3, words="ring"), Range(first=16384)],
            )
        ],
        verdict="taken here alone",
        evidence=[FASTER],
        slower=[SLOWER],
        broken=[],
        breaks=["UCX_TLS: there is no network"],
        unguarded=[],
        guarded=40,
        uncertain=[SLOWER],
        detectable_loss=0.23,
        host_messages=[HOST],
        distances={},
        free=Free(
            env={"UCX_TLS": "sm"}, taken=True, evidence=[FASTER], slower=[], detectable_loss=0.31
        ),
        calibration=Calibration(
            ceilings=[Ceiling(name="kernel-copy", value=10.0, unit="GB/s")],
            env={"UCX_CMA_BW": "9537MBps"},
            rounds=6,
            times=[1.1, 0.99],
            ci95=[[1.05, 1.15], [0.97, 1.01]],
        ),
        lacking=["what of it is not needed"],
        tried=[
            Tried(setting="UCX_TLS=sm,self", launches=9, times=[5.0, 0.9]),
            Tried(setting="A=<b>", launches=2, times=[], failed="signal 11"),
            *(Tried(setting=f"Z={number}", launches=1, times=[1.0, 1.0]) for number in range(30)),
        ],
        refused=[Refused(setting=f"Y={number}", why="signal 11") for number in range(10)],
    )
