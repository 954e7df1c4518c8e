# SPDX-License-Identifier: Apache-2.0
"""The view of the results that terminal, page and exports share."""

import msgspec

from nearpeak.identity import CEILING, Place, Who
from nearpeak.report import summary
from nearpeak.results.model import Finding, Results, Skip
from nearpeak.results.names import detail
from nearpeak.study.model import staging


def _told(results: Results) -> dict[str, str]:
    """The headlines by the ids of the paths."""
    return {place.path: text for place, text in summary.headlines(results)}


def _place(results: Results, path: str) -> Place:
    return next(place for place in summary.places(results) if place.path == path)


def test_the_default_curve_comes_first_and_is_kept_apart(results: Results) -> None:
    curves = summary.curves(results)
    assert [curve.benchmark for curve in curves] == ["bw"] * 2 + ["bibw"] * 2 + ["latency"] * 2
    defaults = summary.default_curves(results)
    assert [curve.axes["calls"] for curve in defaults] == ["blocking"] * 3
    assert summary.figures(results) == ["bw", "bibw", "latency"]


def test_one_name_of_two_benchmarks_is_ranked_by_its_benchmark(results: Results) -> None:
    rank = summary.ranking(results)
    bw = next(curve for curve in summary.curves(results) if curve.benchmark == "bw")
    assert rank(bw) == 0
    other = msgspec.structs.replace(bw, benchmark="latency")
    assert rank(other) == len(results.benchmarks)
    assert summary.one_way(results)(bw)
    assert not summary.one_way(results)(other)


def test_table_two_shows_the_best_of_the_default_variant(plain: Results) -> None:
    same_numa = summary.table_two(plain)[0]
    assert same_numa.title == "host-host same-numa"
    who, row = same_numa.rows[0]
    assert who == "openmpi"
    mine = [
        cell
        for cell in plain.cells
        if (cell.who, cell.place, cell.case.metric) == (Who("openmpi"), same_numa.place, "bw")
    ]
    assert row["bw"].cell.median == max(cell.median or 0 for cell in mine)
    top = same_numa.ceilings["bw"].value
    assert row["bw"].of_peak == (row["bw"].cell.median or 0) / top
    assert row["latency"].cell.case.x == 1  # of the smallest message that is not empty


def test_another_curve_does_not_enter_table_two(results: Results) -> None:
    before = dict(summary.table_two(results)[0].rows)["mpich"]["bw"].cell.median
    for cell in results.cells:
        if cell.case.axes["calls"] == "nonblocking":
            cell.median = 1e6
    assert dict(summary.table_two(results)[0].rows)["mpich"]["bw"].cell.median == before


def test_a_library_that_only_failed_still_has_its_row(plain: Results) -> None:
    plain.cells = [cell for cell in plain.cells if cell.who != Who("mpich")]
    assert dict(summary.table_two(plain)[0].rows)["mpich"] == {}


def test_buffers_are_kept_apart(plain: Results) -> None:
    for cell in plain.cells[::2]:
        cell.case = msgspec.structs.replace(cell.case, buffers="D,D")
    titles = [group.title for group in summary.table_two(plain)]
    assert titles[:2] == ["host-host same-numa (D,D)", "host-host same-numa (H,H)"]


def test_table_one_gives_a_fraction_of_theory_to_one_direction_only(results: Results) -> None:
    rows = {(row.place.path, row.best.case.metric): row for row in summary.table_one(results)}
    bw = rows["host-host same-numa", "bw"]
    assert bw.fraction == bw.best.value / 25.0
    assert rows["host-host same-numa", "bibw"].fraction is None
    assert rows["host-host tcp-loopback", "bw"].fraction is None  # nothing theoretical is known
    assert ("host-memory node0", "triad") in rows


def test_a_ceiling_of_other_axes_stands_in_no_row(results: Results) -> None:
    assert set(summary.table_two(results)[0].ceilings) == {"bw", "bibw", "latency"}
    for point in results.ceilings:
        point.case = msgspec.structs.replace(point.case, axes={"reuse": "rotating"})
    assert summary.table_two(results)[0].ceilings == {}


def test_the_headline_names_the_nearest_and_where_it_loses(plain: Results) -> None:
    text = _told(plain)["host-host same-numa"]
    assert text.startswith("openmpi comes nearest to the measured ceiling")
    assert "mpich 64.6 %" in text
    assert "It peaks at 14.4 GB/s (bw at 256 KiB), 85.0 % of the ceiling at that size" in text
    assert "loses most in latency at 16 KiB" in text
    assert "ring copy" in text


def test_equals_stand_in_their_order(plain: Results) -> None:
    path = "host-host same-numa"
    judged = [
        cell
        for cell in plain.cells
        if (cell.place.path, cell.case.metric) == (path, "latency") and cell.fraction
    ]
    openmpi, mpich = (
        [cell for cell in judged if cell.who == Who(name)] for name in ("openmpi", "mpich")
    )
    for cell in plain.cells:
        if cell not in judged:
            cell.fraction = None
    for turn in range(20):  # the same fractions in other cells: no sum of them may differ
        for place, (one, other) in enumerate(zip(openmpi, reversed(mpich), strict=True)):
            one.fraction = other.fraction = (1 + place) / (len(openmpi) + 1 + turn)
        assert _told(plain)[path].startswith("openmpi and mpich come equally")


def test_what_differs_by_no_more_than_the_noise_is_a_tie(plain: Results) -> None:
    path = "host-host same-numa"
    for cell in plain.cells:
        if cell.fraction:
            cell.fraction = 0.82 if cell.who == Who("mpich") else 0.83
    text = _told(plain)[path]
    assert text.startswith(
        "openmpi and mpich come equally near to the measured ceiling: 83.0 % and 82.0 % of it"
    )
    assert "openmpi loses most in" in text
    for cell in plain.cells:
        if cell.fraction and cell.who == Who("mpich"):
            cell.fraction = 0.7
    assert _told(plain)[path].startswith("openmpi comes nearest")
    for cell in plain.cells:
        cell.ci95 = ((cell.median or 0.0) * 0.7, (cell.median or 0.0) * 1.3)
    assert " and mpich come equally near" in _told(plain)[path]


def test_the_ceiling_in_the_place_of_a_library_is_in_no_ranking(plain: Results) -> None:
    path = "host-host same-numa"
    plain.libraries[0].native = True
    assert plain.libraries[0].name == "openmpi"
    assert "openmpi" not in _told(plain)[path]
    assert "openmpi" in dict(summary.table_two(plain)[0].rows)
    # Alone it is what was measured.
    plain.cells = [cell for cell in plain.cells if cell.who == Who("openmpi")]
    assert _told(plain)[path].startswith("openmpi reaches")


def test_a_cell_above_the_ceiling_is_a_defect_and_no_merit(results: Results) -> None:
    found = summary.defects(results)
    assert [(cell.who, cell.case.x) for cell in found] == [(Who("openmpi"), 4096)]
    before = _told(results)["host-host same-numa"]
    found[0].fraction = 40.0
    assert _told(results)["host-host same-numa"] == before


def test_headlines_without_ceilings_cells_or_launches(results: Results) -> None:
    texts = _told(results)
    assert "No believable ceiling" in texts["host-host <script>alert(1)</script>"]
    assert texts["host-memory node0"].startswith("Ceiling only, no MPI: copy 16.9 GB/s")
    results.cells, results.ceilings = [], []
    assert "Nothing was measured" in _told(results)["host-host same-numa"]


def test_verdicts_are_counted_over_the_sizes(plain: Results) -> None:
    row = summary.verdict_rows(plain)[0]
    assert (row.whole.first, row.whole.second) == (Who("openmpi"), Who("mpich"))
    assert (row.whole.place.path, row.whole.curve.metric) == ("host-host same-numa", "bw")
    assert (row.whole.verdict, row.whole.p_adjusted) == ("slower", 0.0123)
    assert sum(row.counts.values()) == 16
    assert set(row.counts) == set(summary.VERDICTS)


def test_the_staged_baseline_has_rows_of_its_own(gpu: Results) -> None:
    (nvlink,) = [group for group in summary.table_two(gpu) if group.place.path == "gpu-gpu nvlink"]
    assert dict(nvlink.rows)["mpich"] == {}
    assert [who for who, _ in nvlink.baselines] == ["mpich, staged by the benchmark (pinned)"]
    assert nvlink.baselines[0][1]["bw"].cell.who == Who("mpich")
    assert nvlink.title == "gpu-gpu nvlink (D,D)"


def test_staging_is_said_in_words(gpu: Results) -> None:
    details = {detail(curve) for curve in summary.curves(gpu) if curve.buffers == "D,D"}
    assert details == {
        "D,D, calls=blocking, reuse=fixed",
        "D,D, staged by the benchmark (pinned), calls=blocking, reuse=fixed",
    }


def test_a_staged_curve_is_the_default_only_where_there_is_no_other(gpu: Results) -> None:
    assert all(staging(curve.axes) is None for curve in summary.default_curves(gpu))
    gpu.cells = [cell for cell in gpu.cells if cell.who == Who("mpich")]
    kinds = {curve.buffers: staging(curve.axes) for curve in summary.default_curves(gpu)}
    assert kinds == {"H,H": None, "D,D": "pinned", "H,D": "pinned", "D,H": "pinned"}
    (nvlink,) = [group for group in summary.table_two(gpu) if group.place.path == "gpu-gpu nvlink"]
    assert [row for _, row in nvlink.rows] == [{}, {}]
    assert len(nvlink.baselines) == 1
    # Nor is a baseline called near to the ceiling.
    assert "mpich" not in _told(gpu)["gpu-gpu nvlink"]


def test_headlines_leave_all_pairs_to_their_matrix(gpu: Results) -> None:
    headlines = _told(gpu)
    assert "gpu-gpu nvlink" in headlines
    assert not any(" pair " in path for path in headlines)
    assert "bw D,D at" in headlines["gpu-gpu nvlink"]


def test_only_the_best_of_a_direction_speaks_of_health(gpu: Results) -> None:
    rows = _rates(gpu)
    near, back = rows["host-gpu near", "bw", "H,D"], rows["host-gpu near", "bw", "D,H"]
    assert near.fraction is not None
    assert near.fraction < summary.HEALTHY
    assert near.suspect
    assert back.suspect  # the other direction has its own link health
    for point in list(gpu.ceilings):
        if (point.place.path, point.case.buffers) == ("host-gpu near", "H,D"):
            case = msgspec.structs.replace(point.case, buffers="P,D")
            gpu.ceilings.append(msgspec.structs.replace(point, case=case, value=120.0))
    rows = _rates(gpu)
    assert not rows["host-gpu near", "bw", "H,D"].suspect  # pageable memory, a sound link
    assert rows["host-gpu near", "bw", "D,H"].suspect
    gpu.ceilings = [point for point in gpu.ceilings if point.case.x <= 16 << 20]
    assert not any(row.suspect for row in summary.table_one(gpu))  # too small to judge by


def _rates(results: Results) -> dict[tuple[str, str, str], summary.TheoryRow]:
    return {
        (row.place.path, row.best.case.metric, row.best.case.buffers): row
        for row in summary.table_one(results)
    }


def test_facts_are_no_ceilings_and_same_gpu_says_how_it_counts(gpu: Results) -> None:
    rows = _rates(gpu)
    assert rows["gpu-gpu nvlink", "device_latency", "D,D"].best.fact
    assert not rows["gpu-gpu nvlink", "bw", "D,D"].best.fact
    assert "half of the memory's traffic" in rows["gpu-gpu same-gpu", "bw", "D,D"].convention
    assert rows["gpu-gpu nvlink", "bw", "D,D"].convention == ""


def test_where_fewer_messages_were_in_flight(results: Results) -> None:
    for cell in results.cells:
        cell.window = 64
    assert summary.windows(results) == ""
    for cell in results.cells:
        if cell.case.metric == "bw" and cell.case.x == 1 << 20:
            cell.window = 16
        elif cell.case.metric == "bw" and cell.case.x == 1 << 24:
            cell.window, cell.case = 8, msgspec.structs.replace(cell.case, buffers="D,D")
    assert summary.windows(results) == (
        "64 messages in flight, fewer where large: in host memory 16 of 1 MiB;"
        " with a GPU's memory 8 of 16 MiB."
    )


def test_how_precise_the_cells_are(results: Results) -> None:
    sure = sum(cell.ci95 is not None and cell.median != 0 for cell in results.cells)
    assert summary.precision(results) == (
        f"The median half width of the 95 % intervals is 2.50 %, of {sure} cells;"
        " all are within 2.00 % (rates) or 3.00 % (times)."
    )
    for cell in results.cells[:3]:
        cell.flags = ["imprecise"]
    assert summary.precision(results).endswith(
        f"{sure} cells; 3 are less precise than 2.00 % (rates) or 3.00 % (times)."
    )
    for cell in results.cells:
        cell.ci95 = None
    assert summary.precision(results) == ""


def test_only_flags_that_a_cell_has_are_explained(plain: Results) -> None:
    for cell in plain.cells:
        cell.flags = []
    assert summary.flags(plain) == []
    plain.cells[0].flags = ["fewer blocks"]
    assert [name for name, _ in summary.flags(plain)] == ["fewer blocks"]


def test_the_time_lost_is_told_where_it_is_known(finding: Finding) -> None:
    assert summary.lost(finding) == "12.3 µs lost over 5 cases."
    finding.lost_us = 0.0
    assert summary.lost(finding) == ""


def test_methods_that_a_ceiling_does_without(gpu: Results) -> None:
    def skip(path: str, method: str, message: str) -> Skip:
        return Skip(
            who=CEILING,
            place=_place(gpu, path),
            benchmark="bw",
            method=method,
            sizes=[8],
            message=message,
        )

    near, pair = "host-gpu near", "gpu-gpu nvlink"
    gpu.skipped = [
        skip(pair, "sm", "no NVRTC"),
        skip(pair, "sm-pull", "no NVRTC"),
        skip(near, "sm", "no NVRTC"),
        skip(near, "cma", "not permitted"),
    ]
    assert summary.missing_methods(gpu) == [
        "Ceilings of gpu-gpu nvlink, host-gpu near without sm, sm-pull: no NVRTC.",
        "Ceilings of host-gpu near without cma: not permitted.",
    ]
