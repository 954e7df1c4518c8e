# SPDX-License-Identifier: Apache-2.0
"""The view of the results that terminal, page and exports share."""

import msgspec

from nearpeak.report import summary
from nearpeak.report.summary import HEALTHY
from nearpeak.results.names import detail
from nearpeak.results.results import Results
from nearpeak.results.theoretical import compare
from nearpeak.terms.identity import Who
from nearpeak.terms.subjects import one_way


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
    assert one_way(results.benchmarks)(bw)
    assert not one_way(results.benchmarks)(other)


def test_table_one_gives_a_fraction_of_theory_to_one_direction_only(results: Results) -> None:
    rows = {(row.place.path, row.best.case.metric): row for row in summary.table_one(results)}
    bw = rows["host-host same-numa", "bw"]
    assert bw.fraction == bw.best.value / 25.0
    assert rows["host-host same-numa", "bibw"].fraction is None
    assert rows["host-host tcp-loopback", "bw"].fraction is None  # nothing theoretical is known
    assert ("host-memory node0", "triad") in rows


def test_verdicts_are_counted_over_the_sizes(plain: Results) -> None:
    row = summary.verdict_rows(plain)[0]
    assert (row.whole.first, row.whole.second) == (Who("openmpi"), Who("mpich"))
    assert (row.whole.place.path, row.whole.curve.metric) == ("host-host same-numa", "bw")
    assert (row.whole.verdict, row.whole.p_adjusted) == ("slower", 0.0123)
    assert sum(row.counts.values()) == 16
    assert set(row.counts) == set(summary.VERDICTS)


def test_staging_is_said_in_words(gpu: Results) -> None:
    details = {detail(curve) for curve in summary.curves(gpu) if curve.buffers == "D,D"}
    assert details == {
        "D,D, calls=blocking, reuse=fixed",
        "D,D, staged by the benchmark (pinned), calls=blocking, reuse=fixed",
    }


def test_only_the_best_of_a_direction_speaks_of_health(gpu: Results) -> None:
    rows = _rates(gpu)
    near, back = rows["host-gpu near", "bw", "H,D"], rows["host-gpu near", "bw", "D,H"]
    assert near.fraction is not None
    assert near.fraction < HEALTHY
    assert near.suspect
    assert back.suspect  # the other direction has its own link health
    for point in list(gpu.ceilings):
        if (point.place.path, point.case.buffers) == ("host-gpu near", "H,D"):
            case = msgspec.structs.replace(point.case, buffers="P,D")
            gpu.ceilings.append(msgspec.structs.replace(point, case=case, value=120.0))
    compare(gpu.ceilings, gpu.paths, gpu.benchmarks)
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
    assert "half of the memory's rate" in rows["gpu-gpu same-gpu", "bw", "D,D"].convention
    assert rows["gpu-gpu nvlink", "bw", "D,D"].convention == ""


def test_only_flags_that_a_cell_has_are_explained(plain: Results) -> None:
    for cell in plain.cells:
        cell.flags = []
    assert summary.flags(plain) == []
    plain.cells[0].flags = ["fewer blocks"]
    assert [name for name, _ in summary.flags(plain)] == ["fewer blocks"]
