# SPDX-License-Identifier: Apache-2.0
"""What is told of each path: at which size, of what, and who is first."""

import msgspec
import pytest

from nearpeak.identity import Who
from nearpeak.report.headlines import Figure, Group, groups
from nearpeak.report.summary import default_curves
from nearpeak.results.model import Cell, Results
from nearpeak.study.model import staging

PATH = "host-host same-numa"
OPENMPI, MPICH = Who("openmpi"), Who("mpich")


def _group(results: Results, path: str = PATH) -> Group:
    return next(group for group in groups(results) if group.place.path == path)


def _figure(results: Results, name: str) -> Figure:
    return _group(results).figures[name]


def _cells(results: Results, name: str, size: int) -> dict[Who, Cell]:
    return {
        cell.who: cell
        for cell in results.cells
        if (cell.place.path, cell.case.figure, cell.case.x) == (PATH, name, size)
    }


def _judge(results: Results, verdict: str) -> None:
    for one in results.comparisons:
        one.verdict = verdict


def test_a_time_is_told_near_8_bytes_and_a_rate_at_the_largest_size(plain: Results) -> None:
    group = _group(plain)
    assert list(group.figures) == ["bw", "bibw", "latency"]
    assert group.figures["latency"].case.x == 4
    assert group.figures["bw"].case.x == 1 << 26
    for cell in plain.cells:
        if cell.case.x == 1:
            cell.case = msgspec.structs.replace(cell.case, x=8)
    assert _figure(plain, "latency").case.x == 8


def test_all_are_told_at_one_size(plain: Results) -> None:
    plain.cells = [
        cell for cell in plain.cells if cell.who != MPICH or cell.case.x in (0, 64, 1 << 20)
    ]
    assert {one.cell.case.x for row in _group(plain).rows for one in row.reached.values()} == {
        64,
        1 << 20,
    }


def test_a_size_that_was_left_out_for_a_reason_is_not_compared_at(plain: Results) -> None:
    cell = _cells(plain, "bw", 1 << 26)[MPICH]
    cell.median, cell.status = None, "skipped"
    assert _figure(plain, "bw").case.x == 1 << 24


def test_a_failure_counts_against_who_failed(plain: Results) -> None:
    cells = _cells(plain, "bw", 1 << 26)
    crashed = cells[OPENMPI]
    crashed.median, crashed.launch_medians, crashed.blocks = None, [], []
    crashed.status = "crashed"
    figure = _figure(plain, "bw")
    assert figure.case.x == 1 << 26
    assert figure.first == (MPICH,)
    rows = {row.who: row.reached["bw"].cell for row in _group(plain).rows}
    assert rows[OPENMPI].status == "crashed"


def test_a_rate_is_held_against_the_plateau_too(plain: Results) -> None:
    figure = _figure(plain, "bw")
    points = [
        point for point in plain.ceilings if (point.place.path, point.case.figure) == (PATH, "bw")
    ]
    best = max(points, key=lambda point: point.value)
    assert figure.plateau == best
    assert figure.ceiling is not None
    assert figure.ceiling.case.x == figure.case.x
    reached = next(row.reached["bw"] for row in _group(plain).rows if row.who == OPENMPI)
    assert reached.of_plateau is not None
    assert reached.of_plateau.value == pytest.approx((reached.cell.median or 0) / best.value)
    assert reached.of_plateau.ci95 is not None
    assert _figure(plain, "latency").plateau is None
    # A point of the ceiling alone, beyond the sizes of the libraries, counts.
    more = msgspec.structs.replace(best, value=99.0, values=[99.0] * 6)
    more.case = msgspec.structs.replace(best.case, x=1 << 28)
    plain.ceilings.append(more)
    assert _figure(plain, "bw").plateau == more
    assert _figure(plain, "bw").case.x == 1 << 26


def test_first_is_who_is_first_beyond_doubt(plain: Results) -> None:
    _judge(plain, "slower")
    assert _figure(plain, "bw").first == (OPENMPI,)
    _judge(plain, "undecided")  # however often it is ahead
    assert _figure(plain, "bw").first == (OPENMPI, MPICH)


def test_blocks_that_disagree_make_a_tie(plain: Results) -> None:
    _judge(plain, "slower")
    cells = _cells(plain, "bw", 1 << 26)
    cells[OPENMPI].launch_medians = [10.0, 9.0, 10.0, 9.0, 10.0, 9.0]
    cells[MPICH].launch_medians = [9.0, 10.0, 9.0, 10.0, 9.1, 10.0]
    assert set(_figure(plain, "bw").first) == {OPENMPI, MPICH}


def test_few_launches_have_no_order(plain: Results) -> None:
    for cell in plain.cells:
        cell.launch_medians, cell.blocks = cell.launch_medians[:5], cell.blocks[:5]
    assert _figure(plain, "bw").first == ()


def test_a_session_with_few_blocks_has_no_order(plain: Results) -> None:
    """Verdicts rest on one session: where they are undecided for want of blocks, nobody ties."""
    _judge(plain, "undecided")
    for one in plain.comparisons:
        one.blocks = 5
    assert len(_cells(plain, "bw", 1 << 26)[OPENMPI].blocks) >= 6
    assert _figure(plain, "bw").first == ()


def test_the_ceiling_in_the_place_of_a_library_is_in_no_ranking(plain: Results) -> None:
    _judge(plain, "slower")
    plain.libraries[0].native = True
    assert plain.libraries[0].name == "openmpi"
    assert _figure(plain, "bw").first == ()
    assert "openmpi" in [row.label for row in _group(plain).rows]


def test_another_curve_does_not_enter(results: Results) -> None:
    def mine() -> float | None:
        rows = {row.who: row for row in _group(results).rows}
        return rows[MPICH].reached["bw"].cell.median

    before = mine()
    for cell in results.cells:
        if cell.case.axes["calls"] == "nonblocking":
            cell.median = 1e6
    assert mine() == before


def test_a_library_that_only_failed_still_has_its_row(plain: Results) -> None:
    plain.cells = [cell for cell in plain.cells if cell.who != MPICH]
    assert {row.who: row.reached for row in _group(plain).rows}[MPICH] == {}


def test_buffers_are_kept_apart(plain: Results) -> None:
    for cell in plain.cells[::2]:
        cell.case = msgspec.structs.replace(cell.case, buffers="D,D")
    titles = [group.title for group in groups(plain)]
    assert titles[:2] == ["host-host same-numa (D,D)", "host-host same-numa (H,H)"]


def test_a_ceiling_of_other_axes_holds_for_none(results: Results) -> None:
    assert all(figure.ceiling for figure in _group(results).figures.values())
    for point in results.ceilings:
        point.case = msgspec.structs.replace(point.case, axes={"reuse": "rotating"})
    assert not any(figure.ceiling for figure in _group(results).figures.values())


def test_the_staged_baseline_has_rows_of_its_own(gpu: Results) -> None:
    nvlink = _group(gpu, "gpu-gpu nvlink")
    rows = {row.label: row for row in nvlink.rows}
    assert rows["mpich"].reached == {}
    assert rows["mpich, staged by the benchmark (pinned)"].reached["bw"].cell.who == MPICH
    assert [row.staging for row in nvlink.rows] == [None, None, "pinned"]
    assert nvlink.title == "gpu-gpu nvlink (D,D)"
    assert nvlink.figures["bw"].first == ()  # one library alone


def test_a_staged_curve_is_the_default_only_where_there_is_no_other(gpu: Results) -> None:
    assert all(staging(curve.axes) is None for curve in default_curves(gpu))
    gpu.cells = [cell for cell in gpu.cells if cell.who == MPICH]
    kinds = {curve.buffers: staging(curve.axes) for curve in default_curves(gpu)}
    assert kinds == {"H,H": None, "D,D": "pinned", "H,D": "pinned", "D,H": "pinned"}
    rows = _group(gpu, "gpu-gpu nvlink").rows
    assert [row.reached == {} for row in rows] == [True, True, False]


def test_what_is_no_mpi_library_has_rows_where_it_was_measured_alone(plain: Results) -> None:
    plain.cells = [cell for cell in plain.cells if cell.who == MPICH or cell.place.path != PATH]
    families = {"openmpi": {OPENMPI, MPICH}, "nccl": {MPICH}, "ceiling": {MPICH}}
    (library,) = (one for one in plain.libraries if one.name == OPENMPI.library)
    for library.family, known in families.items():
        assert {row.who for row in _group(plain).rows} == known
