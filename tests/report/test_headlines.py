# SPDX-License-Identifier: Apache-2.0
"""What is shown first of each path: headlines of the results, with the cells and ceilings there."""

from collections.abc import Callable

import msgspec

from nearpeak.report.headlines import Group, groups
from nearpeak.results.order import default_curves
from nearpeak.results.results import Headline, Results
from nearpeak.terms.axes import staging
from nearpeak.terms.identity import Who

PATH = "host-host same-numa"
OPENMPI, MPICH = Who("openmpi"), Who("mpich")


def _group(results: Results, path: str = PATH) -> Group:
    return next(group for group in groups(results) if group.place.path == path)


def _figure(results: Results, name: str) -> Headline:
    return _group(results).figures[name]


Tell = Callable[[Results], None]


def test_a_figure_is_that_of_its_headline(plain: Results) -> None:
    group = _group(plain)
    assert list(group.figures) == ["bw", "bibw", "latency"]
    figure = group.figures["bw"]
    (headline,) = [
        headline
        for headline in plain.headlines
        if (headline.place.path, headline.case.figure) == (PATH, "bw")
    ]
    assert figure == headline
    best = group.rows[0].reached["bw"]
    assert (figure.best, figure.value, figure.fraction) == (best.who, best.median, best.fraction)
    assert {row.reached["bw"].case for row in group.rows} == {headline.case}


def test_a_rate_is_held_against_the_plateau_too(plain: Results, tell: Tell) -> None:
    figure = _figure(plain, "bw")
    points = [
        point for point in plain.ceilings if (point.place.path, point.case.figure) == (PATH, "bw")
    ]
    best = max(points, key=lambda point: point.value)
    assert figure.plateau is not None
    assert (figure.plateau.value, figure.plateau.x) == (best.value, best.case.x)
    assert figure.ceiling is not None
    assert figure.ceiling.x == figure.case.x
    assert _figure(plain, "latency").plateau is None
    # A point of the ceiling alone, beyond the sizes of the libraries, counts.
    more = msgspec.structs.replace(best, value=99.0, values=[99.0] * 6)
    more.case = msgspec.structs.replace(best.case, x=1 << 28)
    plain.ceilings.append(more)
    tell(plain)
    figure = _figure(plain, "bw")
    assert figure.plateau is not None
    assert (figure.plateau.value, figure.plateau.x) == (99.0, more.case.x)
    assert _figure(plain, "bw").case.x == 1 << 26


def test_another_curve_does_not_enter(results: Results) -> None:
    def mine() -> float | None:
        rows = {row.who: row for row in _group(results).rows}
        return rows[MPICH].reached["bw"].median

    before = mine()
    for cell in results.cells:
        if cell.case.axes["calls"] == "nonblocking":
            cell.median = 1e6
    assert mine() == before


def test_a_library_that_only_failed_still_has_its_row(plain: Results) -> None:
    plain.cells = [cell for cell in plain.cells if cell.who != MPICH]
    assert {row.who: row.reached for row in _group(plain).rows}[MPICH] == {}


def test_buffers_are_kept_apart(plain: Results, tell: Tell) -> None:
    for cell in plain.cells[::2]:
        cell.case = msgspec.structs.replace(cell.case, buffers="D,D")
    tell(plain)
    titles = [group.title for group in groups(plain)]
    assert titles[:2] == ["host-host same-numa (D,D)", "host-host same-numa (H,H)"]


def test_a_ceiling_of_other_axes_holds_for_none(results: Results, tell: Tell) -> None:
    assert all(figure.ceiling for figure in _group(results).figures.values())
    for point in results.ceilings:
        point.case = msgspec.structs.replace(point.case, axes={"reuse": "rotating"})
    tell(results)
    assert not any(figure.ceiling for figure in _group(results).figures.values())


def test_the_staged_baseline_has_rows_of_its_own(gpu: Results) -> None:
    nvlink = _group(gpu, "gpu-gpu nvlink")
    rows = {row.label: row for row in nvlink.rows}
    assert rows["mpich"].reached == {}
    assert rows["mpich, staged by the benchmark (pinned)"].reached["bw"].who == MPICH
    assert [row.staging for row in nvlink.rows] == [None, None, "pinned"]
    assert nvlink.title == "gpu-gpu nvlink (D,D)"
    assert nvlink.figures["bw"].standing == "alone"


def test_a_staged_curve_is_the_default_only_where_there_is_no_other(
    gpu: Results, tell: Tell
) -> None:
    assert all(staging(curve.axes) is None for curve in default_curves(gpu))
    gpu.cells = [cell for cell in gpu.cells if cell.who == MPICH]
    tell(gpu)
    kinds = {curve.buffers: staging(curve.axes) for curve in default_curves(gpu)}
    assert kinds == {"H,H": None, "D,D": "pinned", "H,D": "pinned", "D,H": "pinned"}
    rows = _group(gpu, "gpu-gpu nvlink").rows
    assert [row.reached == {} for row in rows] == [True, True, False]


def test_what_is_no_mpi_library_has_rows_where_it_was_measured_alone(
    plain: Results, tell: Tell
) -> None:
    plain.cells = [cell for cell in plain.cells if cell.who == MPICH or cell.place.path != PATH]
    tell(plain)
    (library,) = (library for library in plain.libraries if library.name == OPENMPI.library)
    for library.mpi, known in {True: {OPENMPI, MPICH}, False: {MPICH}}.items():
        assert {row.who for row in _group(plain).rows} == known
