# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""GPU memory beside host memory, in words and as a table."""

import pytest

from nearpeak.report.gpu_memory import sentences, table
from nearpeak.results.results import Estimated, InGpuMemory, Results, SlowerInGpuMemory
from nearpeak.terms.identity import Case, Place, Who

PLACE = Place(path="gpu-gpu nvlink", ends=("gpu", "gpu"))


def at(x: int, **slower: float) -> InGpuMemory:
    """Of these operations, the slowest first, in 3 blocks."""
    operations = [
        SlowerInGpuMemory(
            case=Case(benchmark=name, metric=name, buffers="D,D", axes={}, x=x),
            slower=Estimated(value=value, ci95=None, range=(value / 2, value * 2)),
            blocks=3,
        )
        for name, value in slower.items()
    ]
    return InGpuMemory(
        who=Who("intel"),
        place=PLACE,
        host="host-host same-numa",
        x=x,
        slower=operations[0].slower.value,
        operations=operations,
    )


@pytest.fixture
def results(plain: Results) -> Results:
    plain.gpu_memory = [at(0, barrier=1.0), at(8, reduce=57.0, bcast=14.0), at(1 << 20, bcast=0.5)]
    return plain


def test_a_sentence_tells_the_median_and_both_ends(results: Results) -> None:
    assert sentences(results) == [
        "intel on gpu-gpu nvlink beside host-host same-numa: at 8 B 57.0 times slower, the median"
        " of 2 operations (14.0 bcast to 57.0 reduce)."
    ]


def test_the_table_has_each_operation_at_its_sizes(results: Results) -> None:
    found = table(results)
    assert [(column.title, column.over) for column in found.columns] == [
        ("8 B", "intel"),
        ("1 MiB", "intel"),
    ]
    (group,) = found.groups
    assert group.title == "gpu-gpu nvlink, beside host-host same-numa"
    every, bcast, reduced = group.rows
    assert (every.head, bcast.head, reduced.head) == ("median of all", "bcast", "reduce")
    small, large = (column.key for column in found.columns)
    assert (every.values[small].text, every.values[small].detail) == ("57.0", "of 2")
    assert (bcast.values[small].text, bcast.values[large].text) == ("14.0", "0.500")
    assert bcast.values[small].span == "range 7.00 to 28.0"
    assert large not in reduced.values


def test_a_study_without_both_has_no_table(plain: Results) -> None:
    assert not table(plain).groups
    assert not sentences(plain)
