# SPDX-License-Identifier: Apache-2.0
"""Drift: what a path carried in each block, against its own other blocks."""

from typing import Any

import pytest

from nearpeak.launching.program_records import SamplesRecord

MakeStudy = Any
SIZES = (8, 1024, 65536)
FAR = "host-host cross-numa"


def ceiling(study: Any, block: int, speed: float, **where: Any) -> None:
    noise = 1 + 0.004 * (block % 3 - 1)
    cases = {("bw", "ring", size): 10.0 * speed * noise for size in SIZES}
    cases |= {("latency", "flag", size): 2.0 / speed / noise for size in SIZES}
    study.ceiling(block, cases, **where)


def test_a_step_is_found_and_flags_its_cells(make_study: MakeStudy) -> None:
    study = make_study()
    for block in range(6):
        ceiling(study, block, 0.7 if block >= 4 else 1.0)
        values = dict.fromkeys(SIZES, 1.0)
        study.launch(block, "alpha", "bw" if block >= 4 else "latency", values)
    results = study.results()
    (drift,) = results.drift
    assert [block.number for block in drift.blocks] == list(range(6))
    assert [block.number for block in drift.changed] == [4, 5]
    assert drift.step == pytest.approx(-0.3, abs=0.02)
    assert drift.deviations[5] == pytest.approx(-0.3, abs=0.02)
    assert drift.tells_from is None
    assert "drift" in study.find(results, "bw", 1024, "alpha").flags
    assert "drift" not in study.find(results, "latency", 1024, "alpha").flags


def test_paths_are_judged_one_by_one(make_study: MakeStudy) -> None:
    study = make_study()
    for block in range(6):
        ceiling(study, block, 1.0)
        ceiling(study, block, 1.0 if block < 4 else 0.5, path=FAR)
        study.launch(block, "alpha", "bw", dict.fromkeys(SIZES, 1.0))
    results = study.results()
    changed = {drift.place.path: len(drift.changed) for drift in results.drift}
    assert changed == {FAR: 2, "host-host same-numa": 0}
    (steady,) = [drift.tells_from for drift in results.drift if not drift.changed]
    assert 0.05 <= steady <= 0.3
    assert "drift" not in study.find(results, "bw", 1024, "alpha").flags


def test_a_block_that_lacks_a_ceiling_is_not_off_for_it(make_study: MakeStudy) -> None:
    study = make_study()
    for block in range(6):
        cases = {("bw", "ring", size): 10.0 * size for size in SIZES[: 3 - block % 2]}
        study.ceiling(block, cases)
    study.launch(0, "alpha", "bw", {8: 1.0})
    (drift,) = study.results().drift
    assert drift.deviations == [0.0] * 6


def test_the_ceiling_that_scatters_most_is_named(make_study: MakeStudy) -> None:
    """Its own change is none of the path, and no all-clear for it either."""
    study = make_study()
    for block in range(6):
        cases = {("bw", "ring", size): 10.0 for size in SIZES}
        cases["bw", "ring", SIZES[-1]] = 10.0 if block < 3 else 60.0
        study.ceiling(block, cases)
    study.launch(0, "alpha", "bw", {8: 1.0})
    (drift,) = study.results().drift
    assert not drift.changed
    assert drift.widest == pytest.approx(6.0)
    assert drift.widest_case is not None
    assert drift.widest_case.x == SIZES[-1]


def at_distances(study: Any, distances: list[float]) -> None:
    """Messages are quicker between near CPUs; large ones are not."""
    for block, distance in enumerate(distances):
        latency = {("latency", "flag", size): distance / 100 for size in SIZES}
        study.ceiling(block, latency | {("bw", "ring", SIZES[-1]): 10.0 + distance / 100})
        study.launch(block, "alpha", "bw", {8: 1.0})
        for record in study.records:
            if isinstance(record, SamplesRecord) and record.method and not record.cache_line_ns:
                record.cache_line_ns = [distance]


def test_blocks_of_two_distances_and_what_single_ceilings_did(make_study: MakeStudy) -> None:
    study = make_study()
    at_distances(study, [60.0, 62.0, 61.0, 300.0, 310.0, 305.0])
    (drift,) = study.results().drift
    assert [block.number for block in drift.changed] == [3, 4, 5]
    assert drift.moved
    assert drift.step == pytest.approx(61 / 305 - 1, abs=0.01)
    assert drift.step_range == pytest.approx((61 / 305 - 1, 13.05 / 10.61 - 1), abs=0.01)
    near, far = drift.distances
    assert (near.ns, far.ns) == ((60.0, 62.0), (300.0, 310.0))
    assert [block.number for block in near.blocks] == [0, 1, 2]
    assert far.deviation < 0 < near.deviation
    assert near.range == pytest.approx((10.61 / 11.81 - 1, 181 / 61 - 1), abs=0.01)
    assert far.range[0] == far.deviation


def test_one_distance_needs_no_words(make_study: MakeStudy) -> None:
    study = make_study()
    at_distances(study, [60.0, 62.0, 61.0, 70.0, 85.0, 64.0])
    (drift,) = study.results().drift
    assert drift.distances == []
    assert not drift.moved


def test_no_ceiling_no_drift(make_study: MakeStudy) -> None:
    study = make_study()
    study.launch(0, "alpha", "bw", {8: 1.0})
    assert study.results().drift == []
