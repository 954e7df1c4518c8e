# SPDX-License-Identifier: Apache-2.0
"""Matrices of all pairs, of figures written by hand."""

import msgspec
import numpy as np

from nearpeak.identity import Case
from nearpeak.observations.model import Block
from nearpeak.report import pairs
from nearpeak.results.model import Results


def test_the_slowest_pair_is_named_against_the_median_pair(gpu: Results) -> None:
    latency, bw = pairs.matrices(gpu)
    assert (bw.case, bw.size_bytes, bw.names) == ("bw D,D", 1 << 27, (["0", "1", "2"],) * 2)
    # The staged baseline of mpich is no property of a pair's link.
    assert [source.who for source in bw.sources] == [pairs.CEILING, "openmpi"]
    for matrix in (latency, bw):
        for source in matrix.sources:
            assert source.slowest == ("0", "2")
            assert source.fraction(("0", "2")) < 0.9
            assert source.fraction(("0", "1")) == 1.0
    text = pairs.sentences([bw])[0]
    assert text.startswith("gpu-gpu pairs, bw D,D at 128 MiB, ")
    assert "no pair is proven to be slower; the worst figure is 0-2's, " in text
    assert "of the median pair" in text


def _source(generator: np.random.Generator, blocks: int, slow: float) -> pairs.Source:
    """28 pairs that scatter by 2 %, one of which is slower."""
    ends = [(str(one), str(other)) for one in range(8) for other in range(one + 1, 8)]
    values = generator.normal(100.0, 2.0, (28, blocks))
    values[5] *= slow
    by_block = {
        pair: {Block(0, block): value for block, value in enumerate(row.tolist())}
        for pair, row in zip(ends, values, strict=True)
    }
    medians = {pair: float(np.median(row)) for pair, row in zip(ends, values, strict=True)}
    return pairs.Source("openmpi", medians, "higher", by_block)


def test_the_least_of_equal_pairs_is_no_slow_pair() -> None:
    generator = np.random.default_rng(1)
    sure = [_source(generator, 6, 1.0).doubt < 0.05 for _ in range(100)]
    assert sum(sure) <= 11  # 5 are allowed, deviation 2.2


def test_a_slow_pair_is_seen_from_six_blocks_on() -> None:
    generator = np.random.default_rng(2)
    slow = _source(generator, 6, 0.5)
    assert slow.slowest == ("0", "6")
    assert slow.doubt < 0.05 < _source(generator, 5, 0.5).doubt


def test_the_slowest_of_all_is_told_first(gpu: Results) -> None:
    told = pairs.sentences(pairs.matrices(gpu))
    for cell in gpu.cells:
        if cell.place.pair == ("1", "2") and cell.case.metric == "latency":
            cell.median = 1e6
    assert "1-2's, 1000000 µs" in pairs.sentences(pairs.matrices(gpu))[0]
    assert len(told) == 4


def test_a_pair_that_failed_leaves_a_gap(gpu: Results) -> None:
    for cell in gpu.cells:
        if cell.place.pair == ("0", "1"):
            cell.median = None
    bw = pairs.matrices(gpu)[1]
    assert set(bw.sources[1].values) == {("0", "2"), ("1", "2")}
    assert len(bw.sources[0].values) == 3


def test_ends_are_sorted_as_people_count(gpu: Results) -> None:
    for item in [*gpu.cells, *gpu.ceilings]:
        if item.place.pair == ("0", "1"):
            item.place = msgspec.structs.replace(item.place, pair=("2", "10"))
    assert pairs.matrices(gpu)[0].names[0] == ["0", "1", "2", "10"]


def _called(case: Case, benchmark: str, metric: str) -> Case:
    return msgspec.structs.replace(case, benchmark=benchmark, metric=metric)


def test_a_study_without_pairs(plain: Results) -> None:
    assert pairs.matrices(plain) == []


def test_ceilings_alone_have_matrices_and_facts_have_none(gpu: Results) -> None:
    gpu.cells = [cell for cell in gpu.cells if not cell.place.pair]
    for point in gpu.ceilings:
        if point.place.pair and point.case.metric == "latency":
            point.case, point.fact = _called(point.case, "ipc_open", "ipc_open"), True
    (bw,) = pairs.matrices(gpu)
    assert bw.case == "bw D,D"
    assert [source.who for source in bw.sources] == [pairs.CEILING]


def test_two_benchmarks_of_one_metric_are_kept_apart(gpu: Results) -> None:
    for cell in gpu.cells:
        if cell.place.pair and cell.case.metric == "latency":
            cell.case = _called(cell.case, "latency", "bw")
    gpu.ceilings = [point for point in gpu.ceilings if point.case.metric == "bw"]
    assert [matrix.case for matrix in pairs.matrices(gpu)] == ["latency bw D,D", "bw D,D"]
