# SPDX-License-Identifier: Apache-2.0
"""Published machines beside a study: matched by path, and each fraction says of what."""

import msgspec
import pytest

from nearpeak.errors import UserError
from nearpeak.report import beside
from nearpeak.report.beside import Beside, MpiPair, Published
from nearpeak.results import peaks
from nearpeak.results.results import Results
from nearpeak.terms.identity import Who


def _machine(name: str) -> Published:
    return beside.choose([name])[0]


def _row(found: Beside, path: str, case: str) -> MpiPair:
    (row,) = [row for row in found.table_two if (row.path, row.case) == (path, case)]
    return row


def _move(results: Results, old: str, new: str) -> None:
    """Gives a path another id."""
    for item in [*results.cells, *results.ceilings]:
        if item.place.path == old:
            item.place = msgspec.structs.replace(item.place, path=new)
    results.peaks = peaks.find(results)


def test_an_unknown_machine_is_one_line_with_what_is_like_it() -> None:
    with pytest.raises(UserError) as error:
        beside.choose(["lassen-2019", "lassen"])
    assert str(error.value) == (
        "--beside: nothing is known of 'lassen'; did you mean 'lassen-2019'?"
    )


def test_a_machine_stands_there_once() -> None:
    assert [
        published.id for published in beside.choose(["summit-2019", "lassen-2019", "summit-2019"])
    ] == [
        "summit-2019",
        "lassen-2019",
    ]


@pytest.mark.parametrize("machine", beside.published(), ids=lambda machine: machine.id)
def test_the_published_fractions_agree_with_their_denominators(machine: Published) -> None:
    """Printed figures are rounded; the 41 GB/s of CUDA IPC are "about"."""
    for link in machine.link:
        peaks = {
            "theoretical": link.theoretical_gbs,
            "achievable": link.achievable_gbs,
            "other": link.other_gbs,
        }
        slack = 0.02 if link.printed_of == "other" else 0.01
        for library in link.mpi:
            if library.printed_percent is not None:
                part = 100 * library.gbs / peaks[link.printed_of]
                assert part == pytest.approx(library.printed_percent, rel=slack, abs=0.005)
        assert link.fraction < 1
        assert set(link.table_two) <= set(link.table_one)
    assert machine.source


def test_table_one_stands_beside_by_path(gpu: Results) -> None:
    found = beside.beside(gpu, _machine("lassen-2019"))
    rows = {pair.path: pair for pair in found.table_one}
    assert list(rows) == [
        "gpu-gpu same-gpu",
        "gpu-gpu same-gpu mps",
        "gpu-gpu nvlink",
        "host-gpu near",
    ]
    nvlink = rows["gpu-gpu nvlink"]
    assert nvlink.own is not None
    assert (nvlink.figure, nvlink.own.case.buffers) == ("bw", "D,D")
    assert nvlink.own_theoretical_gbs == 478.0
    assert nvlink.link.fraction == pytest.approx(0.9408)
    near = rows["host-gpu near"].own
    assert near is not None
    assert near.case.buffers == "H,D"
    assert "X-Bus" in found.missing
    lines = list(beside.lines(found))
    assert any("450 and 384 GB/s" in line for line in lines)
    assert "Shafie Khorassani" in lines[-1]


def test_every_fraction_of_table_two_says_of_what(gpu: Results) -> None:
    found = beside.beside(gpu, _machine("lassen-2019"))
    nvlink = _row(found, "gpu-gpu nvlink", "bw D,D")
    assert beside.study_text(nvlink) == "openmpi, 90.0 % of the measured ceiling at 128 MiB"
    assert beside.published_text(nvlink) == (
        "Open MPI 4.0.1 + UCX 1.6, 95.4 % of the achievable 70.6 GB/s (as printed)"
    )
    same = _row(found, "gpu-gpu same-gpu", "bw D,D")
    assert "43.4 % of the theoretical 900 GB/s, taken as read and written (as printed)" in (
        beside.published_text(same)
    )
    summit = beside.beside(gpu, _machine("summit-2019"))
    row = _row(summit, "gpu-gpu nvlink", "bw D,D")
    assert "94.5 % of the achievable 47.0 GB/s (worked out here)" in beside.published_text(row)


def test_the_cross_socket_fraction_names_cuda_ipc(gpu: Results) -> None:
    _move(gpu, "gpu-gpu nvlink", "gpu-gpu cross-socket")
    found = beside.beside(gpu, _machine("lassen-2019"))
    words = beside.published_text(_row(found, "gpu-gpu cross-socket", "bw D,D"))
    assert words == (
        "MVAPICH2-GDR 2.3.2, 95.0 % of the 41.0 GB/s that CUDA IPC reaches across the sockets"
        " (as printed)"
    )


def test_neither_staged_cells_nor_defects_stand_for_a_library(gpu: Results) -> None:
    for cell in gpu.cells:
        if cell.place.path == "gpu-gpu nvlink" and cell.who == Who("openmpi"):
            cell.fraction, cell.fraction_ci95 = 1.5, (1.4, 1.6)
    found = beside.beside(gpu, _machine("lassen-2019"))
    row = _row(found, "gpu-gpu nvlink", "bw D,D")
    assert row.cell is None
    assert beside.study_text(row) == "not measured"


def test_figures_at_a_size_stand_beside_the_same_size(gpu: Results) -> None:
    found = beside.beside(gpu, _machine("prace-2013"))
    row = _row(found, "host-gpu near", "latency H,D at 8 B")
    assert row.cell is not None
    assert (row.cell.case.x, row.cell.who, row.value) == (8, Who("openmpi"), 9.11)
    assert row.unit == "us"
    assert found.table_one == []
    assert "gpu-gpu two-nodes" in found.missing


def test_what_stands_beside_is_of_the_same_benchmark_and_metric(gpu: Results) -> None:
    for item in [*gpu.cells, *gpu.ceilings]:
        if item.case.metric == "bw":
            item.case = msgspec.structs.replace(item.case, metric="other")
    gpu.peaks = peaks.find(gpu)
    found = beside.beside(gpu, _machine("lassen-2019"))
    assert all(pair.own is None for pair in found.table_one)
    assert all(pair.cell is None for pair in found.table_two)


def test_staged_stands_beside_staged(gpu: Results) -> None:
    _move(gpu, "gpu-gpu nvlink", "gpu-gpu two-nodes")
    found = beside.beside(gpu, _machine("k20-fdr-2013"))
    row = _row(found, "gpu-gpu two-nodes", "bw D,D, staged by the benchmark")
    assert row.value == 1.89
    assert beside.study_text(row) == (
        "mpich, staged by the benchmark (pinned), 20.0 % of the measured ceiling at 128 MiB"
    )


def test_both_tables_say_whose_figures_are_whose(gpu: Results) -> None:
    table, two = beside.tables(beside.beside(gpu, _machine("lassen-2019")))
    assert table.spans == [("this study", 3), ("Lassen", 3)]
    row = next(row for row in table.groups[0].rows if row.head == "gpu-gpu nvlink")
    assert [row.values[column.key].text for column in table.columns] == [
        "478",
        "387",
        "81.0",
        "75.0",
        "70.6",
        "94.1",
    ]
    rows = [row for group in two.groups for row in group.rows]
    assert [row.values["machine"].text for row in rows[:2]] == ["this study", "Lassen"]
    assert [row.head for row in rows[:2]] == ["gpu-gpu same-gpu, bw D,D", ""]
    assert [row.values["best"].text for row in rows[:2]] == ["170 GB/s", "391 GB/s"]
