# SPDX-License-Identifier: Apache-2.0
"""The slowest of all pairs, of figures made by hand: told only where it is."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from nearpeak.arrays import Floats
from nearpeak.observations.observed import Block
from nearpeak.results.pairs import Matrix, Source, judged
from nearpeak.results.results import PairSource
from nearpeak.terms.identity import Case, Place, Who


def _matrix(slowness: Floats) -> Matrix:
    """Rates of 28 pairs (first axis) in each block: 100 GB/s less this logarithm."""
    ends = list(itertools.combinations("01234567", 2))
    values = 100.0 * np.exp(-slowness)
    by_block = {
        pair: {Block(0, block): value for block, value in enumerate(row.tolist())}
        for pair, row in zip(ends, values, strict=True)
    }
    medians = {pair: float(np.median(row)) for pair, row in zip(ends, values, strict=True)}
    place = Place(path="gpu-gpu nvlink", ends=("gpu", "gpu"), pair=ends[0])
    case = Case(benchmark="bw", metric="bw", buffers="D,D", axes={}, x=1 << 24)
    source = Source(Who("openmpi"), medians, "higher", by_block)
    return Matrix(place, case, "GB/s", [source], symmetric=False)


def _is_named(slowness: Floats) -> bool:
    source = _source(_matrix(slowness))
    return source.sure or source.slow_gpu is not None


def _source(matrix: Matrix) -> PairSource:
    ((source,),) = (known.sources for known in judged([matrix]))
    return source


def _normal(generator: np.random.Generator, blocks: int) -> Floats:
    return np.asarray(generator.normal(0.0, 0.02, (28, blocks)))


def _skewed(generator: np.random.Generator, blocks: int) -> Floats:
    return np.asarray(generator.exponential(0.02, (28, blocks)))


def _disturbed(generator: np.random.Generator, blocks: int) -> Floats:
    """Each pair far slower in 35 % of its blocks."""
    return _normal(generator, blocks) + 0.4 * (generator.random((28, blocks)) < 0.35)


def _tiers(generator: np.random.Generator, blocks: int) -> Floats:
    """Eight pairs that are equally slow, two of each GPU."""
    slow = [other - index in (1, 7) for index, other in itertools.combinations(range(8), 2)]
    return _normal(generator, blocks) + 0.7 * np.array(slow)[:, None]


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
    source = _source(_matrix(slow))
    assert (source.sure, source.slowest) == (True, ("0", "6"))
    assert not _is_named(slow[:, :5])


def test_a_pair_that_lacks_blocks_may_be_as_slow() -> None:
    slow = _normal(np.random.default_rng(2), 6)
    slow[5] += 0.7
    matrix = _matrix(slow)
    assert _source(matrix).blocks == 5
    del matrix.sources[0].blocks["0", "1"][Block(0, 4)]
    source = _source(matrix)
    assert (source.sure, source.blocks) == (False, 4)


def test_a_slow_gpu_is_named_though_none_of_its_pairs_is() -> None:
    slow = _normal(np.random.default_rng(2), 6)
    of_three = [at for at, pair in enumerate(_matrix(slow).sources[0].values) if "3" in pair]
    slow[of_three] += 0.7
    source = _source(_matrix(slow))
    assert (source.sure, source.slow_gpu) == (False, "3")
    assert source.slow_gpu_fraction == pytest.approx(math.exp(-0.7), rel=0.05)
    assert _source(_matrix(_normal(np.random.default_rng(2), 6))).slow_gpu is None


def test_a_slow_pair_makes_no_gpu_slow() -> None:
    slow = _normal(np.random.default_rng(2), 24)
    slow[5] += 0.7
    assert _source(_matrix(slow)).slow_gpu is None


def test_a_block_that_was_resumed_counts_for_no_matrix() -> None:
    slow = _normal(np.random.default_rng(2), 6)
    slow[5] += 0.7
    matrix = _matrix(slow)
    for pair, own in matrix.sources[0].blocks.items():
        if pair[0] == "0":
            own[Block(1, 2)] = own.pop(Block(0, 2))
    assert _source(matrix).blocks == 4
