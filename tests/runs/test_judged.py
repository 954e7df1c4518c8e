# SPDX-License-Identifier: Apache-2.0
"""A recorded study, judged again; with the calls of an application, findings have another order."""

from pathlib import Path

import msgspec

from nearpeak.runs.judged import judged
from nearpeak.trace.trace import SCHEMA, Entry, Rank, Trace

STUDY = Path(__file__).parents[2] / "examples" / "h200x2-families"


def rank(number: int) -> Rank:
    return Rank(
        rank=number,
        host="host",
        process=number + 1,
        run_seconds=1.0,
        mpi_seconds=1.0,
        threads=1,
        finalized=True,
        world=2,
        launched=2,
        calls=1000,
        bytes=16000,
        waiting_seconds=0.0,
    )


def test_the_calls_of_an_application_order_the_findings(tmp_path: Path) -> None:
    called = Entry(
        operation="MPI_Alltoallv",
        size_bytes=16,  # of both blocks
        memory="device",
        peer="none",
        calls=1000,
        bytes=16000,
        seconds=1.0,
        longest_seconds=1.0,
    )
    trace = Trace(
        schema=SCHEMA,
        nearpeak="0",
        command=["app"],
        library="alpha 1",
        exit_status=0,
        expected=2,
        missing=[],
        wall_seconds=1.0,
        ranks=[rank(0), rank(1)],
        entries=[called],
    )
    file = tmp_path / "trace.json"
    file.write_bytes(msgspec.json.encode(trace))
    usual, ordered = judged(STUDY).findings, judged(STUDY, (), file).findings
    assert [finding.case.benchmark for finding in usual[:2] if finding.case] == [
        "scatter",
        "alltoallv",
    ]
    first, *others = ordered
    assert first.case is not None
    assert first.case.benchmark == "alltoallv"
    assert first.weighted_us > usual[1].weighted_us
    assert {finding.weighted_us for finding in others} == {0.0}
    assert {finding.kind for finding in ordered} == {finding.kind for finding in usual}
