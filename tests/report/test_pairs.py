# SPDX-License-Identifier: Apache-2.0
"""Matrices of all pairs, of figures written by hand."""

from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from nearpeak.arrays import Floats
from nearpeak.observations.observed import Block
from nearpeak.report import pairs
from nearpeak.results.results import Results
from nearpeak.terms.identity import Case, Place


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
    assert "no pair is proven to be slower than all others; the slowest figure is 0-2's, " in text
    assert "of the median pair" in text


def _matrix(slowness: Floats) -> pairs.Matrix:
    """Rates of 28 pairs (first axis) in each block: 100 GB/s less this logarithm."""
    ends = [(str(one), str(other)) for one in range(8) for other in range(one + 1, 8)]
    values = 100.0 * np.exp(-slowness)
    by_block = {
        pair: {Block(0, block): value for block, value in enumerate(row.tolist())}
        for pair, row in zip(ends, values, strict=True)
    }
    medians = {pair: float(np.median(row)) for pair, row in zip(ends, values, strict=True)}
    place = Place(path="gpu-gpu nvlink", ends=("gpu", "gpu"), pair=ends[0])
    source = pairs.Source("openmpi", medians, "higher", by_block)
    return pairs.Matrix(place, "bw D,D", "GB/s", 1 << 24, [source])


def _is_named(slowness: Floats) -> bool:
    (sentence,) = pairs.sentences([_matrix(slowness)])
    return ": slowest is " in sentence


def _normal(generator: np.random.Generator, blocks: int) -> Floats:
    return np.asarray(generator.normal(0.0, 0.02, (28, blocks)))


def _skewed(generator: np.random.Generator, blocks: int) -> Floats:
    return np.asarray(generator.exponential(0.02, (28, blocks)))


def _disturbed(generator: np.random.Generator, blocks: int) -> Floats:
    """Each pair far slower in 35 % of its blocks."""
    return _normal(generator, blocks) + 0.4 * (generator.random((28, blocks)) < 0.35)


def _tiers(generator: np.random.Generator, blocks: int) -> Floats:
    """Eight pairs that are equally slow."""
    return _normal(generator, blocks) + 0.7 * (np.arange(28) < 8)[:, None]


@pytest.mark.parametrize("blocks", [6, 12, 24])
@pytest.mark.parametrize("launches", [_normal, _skewed, _disturbed, _tiers])
def test_of_pairs_that_are_alike_none_is_named(
    launches: Callable[[np.random.Generator, int], Floats], blocks: int
) -> None:
    generator = np.random.default_rng(1)
    named = [_is_named(launches(generator, blocks)) for _ in range(100)]
    assert sum(named) <= 11  # 5 are allowed, deviation 2.2


def test_a_slow_pair_is_named_from_six_blocks_on() -> None:
    generator = np.random.default_rng(2)
    slow = _normal(generator, 6)
    slow[5] += 0.7
    (sentence,) = pairs.sentences([_matrix(slow)])
    assert ": slowest is 0-6 with " in sentence
    assert not _is_named(slow[:, :5])


def test_a_pair_that_lacks_blocks_may_be_as_slow() -> None:
    slow = _normal(np.random.default_rng(2), 6)
    slow[5] += 0.7
    matrix = _matrix(slow)
    del matrix.sources[0].blocks["0", "1"][Block(0, 4)]
    (sentence,) = pairs.sentences([matrix])
    assert "no pair is proven to be slower than all others" in sentence


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
