# SPDX-License-Identifier: Apache-2.0
"""Changes of a machine: found where they are, and seldom where there are none."""

import tracemalloc

import numpy as np
import pytest

from nearpeak.statistics import drift
from nearpeak.statistics.drift import LEAST_CHANGE, changes, least_steps
from nearpeak.statistics.levels import FEWEST_FOR_SCATTER


def test_a_step_a_run_and_a_single_block() -> None:
    step, run, block, quiet = changes(
        [
            [0.0, 0.01, -0.01, 0.3, 0.29, 0.31],
            [0.0, 0.01, -0.41, -0.4, 0.0, -0.01, 0.0, 0.01],
            [0.01, 0.0, -0.01, -0.5, 0.0, 0.01],
            [0.01, 0.0, -0.01, 0.02, 0.0, 0.01],
        ]
    )
    assert step is not None
    assert (step.first, step.last) == (3, 5)
    assert step.effect == pytest.approx(0.3)
    assert run is not None
    assert (run.first, run.last) == (2, 3)
    assert block is not None
    assert (block.first, block.last) == (3, 3)
    assert block.effect == pytest.approx(-0.502)
    assert quiet is None


def test_the_shorter_side_of_a_step_is_the_run() -> None:
    early, late = changes([[0.4, 0.41, 0, 0.01, 0, 0, 0], [0, 0.01, 0, 0, 0, 0.4, 0.41]])
    assert early is not None
    assert late is not None
    assert (early.first, early.last, late.first, late.last) == (0, 1, 5, 6)


def test_a_trend_is_a_change() -> None:
    [trend] = changes([np.linspace(0, 0.4, 9)])
    assert trend is not None
    assert abs(trend.effect) > 0.15


def test_what_is_small_or_short_is_let_be() -> None:
    assert changes([[0.0, 0.0, 0.0, 0.04, 0.04, 0.04]]) == [None]  # below the least change
    assert changes([[0.0] * 8]) == [None]
    short = [[0.0, 1.0, 1.0][: FEWEST_FOR_SCATTER - 1], [], [0.0]]
    assert changes(short) == [None, None, None]
    assert changes([]) == []


def test_sign_level_and_places_too_short_do_not_matter() -> None:
    series = np.array([0.0, 0.02, -0.01, 0.25, 0.29, 0.31])
    [up] = changes([series])
    [down] = changes([1 - series])
    assert up is not None
    assert down is not None
    assert (down.first, down.last) == (up.first, up.last)
    assert down.effect == pytest.approx(-up.effect)
    assert changes([series, [0.0, 0.1]]) == [up, None]


@pytest.mark.parametrize(("places", "noise"), [(1, 0.02), (1, 0.05), (8, 0.03)])
def test_a_step_of_30_percent_is_found(places: int, noise: float) -> None:
    """Half-way through a study of 6 blocks, at all its places."""
    generator = np.random.default_rng(1)
    studies = noise * generator.normal(0, 1, (300, places, 6))
    studies[:, :, 3:] += np.log(1.3)
    assert np.mean([any(changes(list(study))) for study in studies]) >= 0.88


@pytest.mark.parametrize("blocks", [4, 6, 12])
@pytest.mark.parametrize("places", [1, 8])
@pytest.mark.parametrize("heavy", [False, True])
def test_false_alarms_are_rare(blocks: int, places: int, heavy: bool) -> None:
    generator = np.random.default_rng(2)
    size = (300, places, blocks)
    noise = generator.standard_t(3, size) / np.sqrt(3) if heavy else generator.normal(0, 1, size)
    assert np.mean([any(changes(list(study))) for study in 0.05 * noise]) <= 0.05


@pytest.mark.parametrize("blocks", [4, 6, 12])
@pytest.mark.parametrize("noise", [0.01, 0.03, 0.1, 0.8])
def test_the_least_step_is_found_as_often_as_not(blocks: int, noise: float) -> None:
    generator = np.random.default_rng(4)
    quiet = noise * generator.normal(0, 1, (300, blocks))
    least = [step for [step] in (least_steps([study]) for study in quiet) if step is not None]
    with_step = quiet.copy()
    with_step[:, blocks // 2 :] += np.median(least)
    assert 0.35 <= np.mean([any(changes([study])) for study in with_step]) <= 0.75


def test_the_least_step_grows_with_noise_and_places() -> None:
    series = np.array([0.0, 0.02, -0.03, 0.01, -0.02, 0.03])
    [alone], many = least_steps([series]), least_steps([series, 10 * series, [0.0, 0.1]])
    assert many[0] > alone > LEAST_CHANGE
    assert many[1] > 3 * many[0]
    assert many[2] is None
    assert least_steps([]) == []


@pytest.mark.parametrize("blocks", [4, 5, 6, 7, 12, 13, 40])
def test_the_largest_t_of_noise_is_that_of_all_runs(blocks: int) -> None:
    generator = np.random.default_rng(3)
    values = 0.03 * generator.standard_t(3, (100, blocks))
    runs = drift._runs(blocks)
    _, t = drift._against_rest(values, runs)
    for kind, largest in enumerate(drift._largest(values)):
        assert largest == pytest.approx(t[:, runs.kind == kind].max(axis=1, initial=0), rel=1e-9)


def test_memory_grows_with_the_blocks_and_not_with_their_square(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(drift, "DRAWS", drift.CHUNK)
    peaks = []
    for blocks in (48, 192):
        tracemalloc.start()
        drift._null.__wrapped__(blocks)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 6 * peaks[0]
    assert peaks[1] < 100e6
