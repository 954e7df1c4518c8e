# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Device buffers beside copies by the application, in words and as a table."""

import pytest

from nearpeak.report.staged_or_aware import sentences, table
from nearpeak.results.results import AwareAgainstStaged, Estimated, Results, StagedOrAware
from nearpeak.terms.identity import Curve, Place, Who


def record(aware_from: int | None, faster: dict[int, float]) -> StagedOrAware:
    """Latencies of Intel MPI between GPUs, in three blocks."""
    points = [
        AwareAgainstStaged(
            x=x,
            faster=Estimated(value=value, ci95=None, range=(value / 2, value * 2)),
            blocks=3,
            carrier=Who("intel"),
            staging="pinned",
        )
        for x, value in faster.items()
    ]
    return StagedOrAware(
        who=Who("intel"),
        place=Place(path="gpu-gpu nvlink", ends=("gpu", "gpu")),
        curve=Curve(benchmark="latency", metric="latency", buffers="D,D", axes={}),
        aware_from=aware_from,
        sizes=points,
    )


@pytest.mark.parametrize(
    ("aware_from", "answer"),
    [
        (4096, "device buffers are faster from 4 KiB on"),
        (8, "device buffers are faster at every size measured"),
        (None, "copies by the application are not slower at 4 KiB"),
    ],
)
def test_a_sentence_names_the_size(plain: Results, aware_from: int | None, answer: str) -> None:
    plain.staged_or_aware = [record(aware_from, {8: 0.5, 4096: 2.0})]
    assert sentences(plain) == [f"intel on gpu-gpu nvlink, latency D,D: {answer}."]


def test_the_table_has_every_size(plain: Results) -> None:
    plain.staged_or_aware = [record(4096, {8: 0.5, 4096: 2.0}), record(None, {8: 0.4})]
    shown = table(plain)
    assert [column.title for column in shown.columns] == ["faster from", "8 B", "4 KiB"]
    (group,) = shown.groups
    crossing, never = group.rows
    assert (group.title, crossing.head) == ("gpu-gpu nvlink", "intel, latency D,D")
    assert [value.text for value in crossing.values.values()] == ["4 KiB", "0.500", "2.00"]
    assert [value.text for value in never.values.values()] == ["never", "0.400"]
    assert crossing.values["8"].detail == "pinned, intel"
    assert crossing.values["8"].span == "range 0.250 to 1.00"


def test_a_study_without_both_has_no_table(plain: Results) -> None:
    assert not table(plain).groups
    assert not sentences(plain)
