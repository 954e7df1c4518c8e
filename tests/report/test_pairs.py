# SPDX-License-Identifier: Apache-2.0
"""Matrices of all pairs, of figures written by hand."""

import msgspec

from nearpeak.report import pairs
from nearpeak.results.names import case
from nearpeak.results.pairs import find
from nearpeak.results.results import Results
from nearpeak.terms.identity import CEILING, Case, Who


def test_the_slowest_pair_is_named_against_the_median_pair(gpu: Results) -> None:
    latency, bw = find(gpu)
    assert (case(bw.case), bw.case.x) == ("bw D,D", 1 << 27)
    assert pairs.ends(latency) == (["0", "1", "2"],) * 2
    assert pairs.ends(bw) == (["0", "1"], ["1", "2"])  # from the one to the other alone
    # The staged baseline of mpich is no property of a pair's link.
    assert [source.who for source in bw.sources] == [CEILING, Who("openmpi")]
    for matrix in (latency, bw):
        for source in matrix.sources:
            fractions = {figure.pair: figure.fraction for figure in source.figures}
            assert source.slowest == ("0", "2")
            assert source.fraction == fractions["0", "2"] < 0.9
            assert fractions["0", "1"] == 1.0
    gpu.pairs = [bw]
    for source in bw.sources:
        source.sure, source.blocks = False, 5
    text = pairs.sentences(gpu)[0]
    assert text.startswith("gpu-gpu pairs, bw D,D at 128 MiB, ")
    assert "no pair is proven to be slower than all others; the slowest figure is 0-2's, " in text
    assert "of the median pair" in text


def test_the_slowest_of_all_is_told_first(gpu: Results) -> None:
    told = pairs.sentences(gpu)
    for cell in gpu.cells:
        if cell.place.pair == ("1", "2") and cell.case.metric == "latency":
            cell.median = 1e6
    gpu.pairs = find(gpu)
    for matrix in gpu.pairs:
        for source in matrix.sources:
            source.sure = False
    assert "1-2's, 1000000 µs" in pairs.sentences(gpu)[0]
    assert len(told) == 4


def test_a_pair_that_failed_leaves_a_gap(gpu: Results) -> None:
    for cell in gpu.cells:
        if cell.place.pair == ("0", "1"):
            cell.median = None
    of_bw = find(gpu)[1]
    assert {figure.pair for figure in of_bw.sources[1].figures} == {("0", "2"), ("1", "2")}
    assert len(of_bw.sources[0].figures) == 3
    grids = [pairs.grid(matrix, matrix.sources[1]) for matrix in find(gpu)]
    latency, bw = ([[entry is not None for entry in row] for row in grid] for grid in grids)
    assert latency == [[False, False, True], [False, False, True], [True, True, False]]
    assert bw == [[False, True], [False, True]]


def test_proven_pairs_come_first_and_last_what_was_not_judged(gpu: Results) -> None:
    gpu.pairs = find(gpu)
    latency, bw = (matrix.sources[0] for matrix in gpu.pairs)
    others = [matrix.sources[1] for matrix in gpu.pairs]
    latency.sure, latency.fraction, latency.blocks = True, 0.97, 5
    bw.fraction, bw.blocks = 0.9, 5
    bw.sure = False
    for other in others:
        other.sure, other.fraction, other.blocks = False, 0.5, 1
    one, two, three, _ = pairs.sentences(gpu)
    assert "slowest is 0-2" in one
    assert "no pair is proven" in two
    assert "not judged, as 1 block with all pairs counts and 5 are needed; the slowest" in three


def test_a_slow_gpu_is_told_before_all_pairs(gpu: Results) -> None:
    gpu.pairs = find(gpu)
    source = gpu.pairs[1].sources[1]
    source.slow_gpu, source.slow_gpu_fraction = "2", 0.503
    text = pairs.sentences(gpu)[0]
    assert text == (
        "gpu-gpu pairs, bw D,D at 128 MiB, openmpi: GPU 2 is slower than each other GPU: its pairs"
        " reach 50.3 % of what the median GPU's do."
    )


def test_a_proven_slowest_pair_is_said_to_be_it(gpu: Results) -> None:
    gpu.pairs = find(gpu)[:1]
    gpu.pairs[0].sources = gpu.pairs[0].sources[:1]
    gpu.pairs[0].sources[0].sure = True
    (text,) = pairs.sentences(gpu)
    assert ", measured ceiling: slowest is 0-2 with " in text


def test_ends_are_sorted_as_people_count(gpu: Results) -> None:
    for item in [*gpu.cells, *gpu.ceilings]:
        if item.place.pair == ("0", "1"):
            item.place = msgspec.structs.replace(item.place, pair=("2", "10"))
    assert pairs.ends(find(gpu)[0])[0] == ["0", "1", "2", "10"]


def _called(case: Case, benchmark: str, metric: str) -> Case:
    return msgspec.structs.replace(case, benchmark=benchmark, metric=metric)


def test_a_study_without_pairs(plain: Results) -> None:
    assert find(plain) == []


def test_ceilings_alone_have_matrices_and_facts_have_none(gpu: Results) -> None:
    gpu.cells = [cell for cell in gpu.cells if not cell.place.pair]
    for point in gpu.ceilings:
        if point.place.pair and point.case.metric == "latency":
            point.case, point.fact = _called(point.case, "ipc_open", "ipc_open"), True
    (bw,) = find(gpu)
    assert case(bw.case) == "bw D,D"
    assert [source.who for source in bw.sources] == [CEILING]


def test_two_benchmarks_of_one_metric_are_kept_apart(gpu: Results) -> None:
    for cell in gpu.cells:
        if cell.place.pair and cell.case.metric == "latency":
            cell.case = _called(cell.case, "latency", "bw")
    gpu.ceilings = [point for point in gpu.ceilings if point.case.metric == "bw"]
    assert [case(matrix.case) for matrix in find(gpu)] == ["latency bw D,D", "bw D,D"]
