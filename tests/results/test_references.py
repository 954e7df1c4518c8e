# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""The best of NCCL as the reference of MPI libraries."""

from typing import Any

import msgspec
import pytest

from nearpeak.results.references import find
from nearpeak.results.results import Cell, Results

BLOCKS = range(6)
ALPHA, NCCL = 9.0, 17.0  # us, of bcast at 8 B


def of(results: Results, library: str) -> list[Cell]:
    return [cell for cell in results.cells if cell.who.library == library]


def as_variant(cell: Cell, factor: float, operations: int, **axes: str) -> Cell:
    """The same operation in another way, whose launches take so many times as long."""
    case = msgspec.structs.replace(cell.case, axes={**cell.case.axes, **axes})
    medians = [factor * value for value in cell.launch_medians]
    return msgspec.structs.replace(
        cell,
        case=case,
        median=factor * (cell.median or 0.0),
        launch_medians=medians,
        operations=operations,
    )


@pytest.fixture
def both(make_study: Any) -> Results:
    """An MPI library, and NCCL called alone, in a row, and in a graph with symmetric windows."""
    study = make_study("alpha", "nccl")
    for block in BLOCKS:
        study.launch(block, "alpha", "bcast", {8: ALPHA + block})
        study.launch(block, "nccl", "bcast", {8: NCCL + block})
    results: Results = study.results()
    next(info for info in results.libraries if info.name == "nccl").mpi = False
    [alone] = of(results, "nccl")
    results.cells += [
        as_variant(alone, 0.6, 20, calls="enqueued"),
        as_variant(alone, 0.2, 20, calls="graph", register="symmetric"),
    ]
    return results


def test_the_fastest_way_is_the_reference_and_all_are_kept(both: Results) -> None:
    [record] = find(both)
    assert record.who.library == "nccl"
    assert record.best.case.axes["calls"] == "graph"
    assert record.best.case.axes["register"] == "symmetric"
    assert (record.best.operations, record.best.value) == (20, pytest.approx(0.2 * (NCCL + 2.5)))
    ways = [variant.case.axes["calls"] for variant in record.variants]
    assert ways == ["graph", "enqueued", "blocking"]


def test_operations_at_the_same_time_are_no_reference(both: Results) -> None:
    [alone, *_] = of(both, "nccl")
    both.cells.append(as_variant(alone, 0.05, 20, calls="grouped"))
    [record] = find(both)
    ways = [variant.case.axes["calls"] for variant in record.variants]
    assert ways == ["graph", "enqueued", "blocking", "grouped"]


def test_an_mpi_library_is_compared_within_blocks(both: Results) -> None:
    [record] = find(both)
    [alpha] = record.libraries
    assert (alpha.who.library, alpha.blocks) == ("alpha", len(BLOCKS))
    assert alpha.ratio is not None
    ratios = sorted((ALPHA + block) / (0.2 * (NCCL + block)) for block in BLOCKS)
    assert alpha.ratio.value == pytest.approx((ratios[2] + ratios[3]) / 2)
    assert alpha.ratio.ci95 is not None


def test_a_library_has_the_fastest_of_its_own_ways(both: Results) -> None:
    [alpha] = of(both, "alpha")
    both.cells.append(as_variant(alpha, 0.5, 1, calls="persistent"))
    [record] = find(both)
    assert [one.case.axes["calls"] for one in record.libraries] == ["persistent"]


def test_other_data_or_another_type_is_another_operation(both: Results) -> None:
    [alone, *_] = of(both, "nccl")
    both.cells.append(as_variant(alone, 0.1, 1, type="int"))
    assert [len(record.variants) for record in find(both)] == [3, 1]


def test_there_is_none_without_a_gpu_communication_library(make_study: Any) -> None:
    study = make_study("alpha", "beta")
    study.launch(0, "alpha", "bcast", {8: ALPHA})
    assert find(study.results()) == []


def test_imported_figures_are_no_reference(both: Results) -> None:
    next(info for info in both.libraries if info.name == "nccl").imported = True
    assert find(both) == []
