# SPDX-License-Identifier: Apache-2.0
"""A recorded study, judged again; with the calls of an application, findings have another order."""

from pathlib import Path

import msgspec
from made_trace import entry, ran, trace

from nearpeak.runs.judged import judged, without_findings

STUDY = Path(__file__).parents[2] / "examples" / "h200x2-families"


def test_the_calls_of_an_application_order_the_findings(tmp_path: Path) -> None:
    # Of both blocks: 8 B each.
    called = entry("MPI_Alltoallv", 16, memory="device", calls=1000)
    traced = trace(called, ranks=[ran(rank, world=2) for rank in (0, 1)])
    file = tmp_path / "trace.json"
    file.write_bytes(msgspec.json.encode(traced))
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


def test_that_no_finding_is_about_the_application_is_said(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    for operation, text in (("MPI_Alltoallv", ""), ("MPI_Bcast", "No finding is about a call in ")):
        called = entry(operation, 16, memory="device", calls=1000)
        traced = trace(called, ranks=[ran(rank, world=2) for rank in (0, 1)])
        file.write_bytes(msgspec.json.encode(traced))
        assert without_findings(judged(STUDY, (), file), file).startswith(text)
        assert bool(without_findings(judged(STUDY, (), file), file)) == bool(text)
