# SPDX-License-Identifier: Apache-2.0
"""What else the machine did while it was measured."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from nearpeak.machine.machine import Diagnosis
from nearpeak.machine.states import State
from nearpeak.observations.load import load
from nearpeak.results import conditions
from nearpeak.study.records import LaunchRecord

MakeStudy = Any


def measured(study: Any, loads: list[float | None]) -> None:
    """A launch of two ranks in each block, on two cores."""
    for block, _ in enumerate(loads):
        study.launch(block, "alpha", "bw", {8: 1.0})
    begun = [record for record in study.records if isinstance(record, LaunchRecord)]
    for launch, known in zip(begun, loads, strict=True):
        launch.state = State(load=known)


@pytest.mark.parametrize(
    ("loads", "busy", "loaded"),
    [
        ([15.7] * 3, 2.0, True),  # others want more than there is
        ([3.5, 3.4, 3.5], 1.5, True),
        ([2.0, 2.4, 2.4], 0.4, False),  # the ranks themselves, and a little
        ([9.0, 1.9, 1.8], 0.0, False),  # what was there before has ended
    ],
)
def test_others_are_what_the_load_has_besides_the_ranks(
    make_study: MakeStudy, loads: list[float | None], busy: float, loaded: bool
) -> None:
    study = make_study()
    measured(study, loads)
    found = study.results().conditions
    assert found is not None
    assert (found.cores, found.ranks, found.loaded) == (2, 2, loaded)
    assert found.busy_cores == pytest.approx(busy)


def test_a_session_that_was_loaded_is_told_though_most_launches_are_of_another(
    make_study: MakeStudy,
) -> None:
    study = make_study()
    measured(study, [2.0] * 6)
    study.session()
    for block in (6, 7):
        study.launch(block, "alpha", "bw", {8: 1.0})
    begun = [record for record in study.records if isinstance(record, LaunchRecord)]
    for launch in begun[6:]:
        launch.state = State(load=3.9)
    found = study.results().conditions
    assert found is not None
    assert (found.load, found.loaded, found.sessions) == (3.9, True, [1])


def test_wide_launches_do_not_hide_what_others_do(make_study: MakeStudy) -> None:
    """A launch on all of 112 cores has a load of its own above that of others."""
    study = make_study()
    measured(study, [52.0] * 3)
    observations = load(study.write())
    [first, *_] = observations.launches
    core = observations.machine.cores[0]
    wide = replace(
        first,
        number=9,
        load=60.0,
        place=msgspec.structs.replace(first.place, path="host x112", ends=("host",) * 112),
    )
    found = conditions.find(
        replace(
            observations,
            launches=[*observations.launches, wide],
            machine=msgspec.structs.replace(observations.machine, cores=[core] * 112),
        )
    )
    assert found is not None
    assert (found.ranks, found.busy_cores, found.loaded) == (2, 50.0, True)


@pytest.mark.parametrize("severity", ["ok", "bad"])
def test_where_no_launch_tells_the_doctor_does(make_study: MakeStudy, severity: str) -> None:
    study = make_study()
    measured(study, [None] * 3)
    assert study.results().conditions is None
    observations = load(study.folder)
    said = Diagnosis(severity=severity, id="load", message="load of the last minute: 15.7")
    machine = msgspec.structs.replace(observations.machine, diagnoses=[said])
    found = conditions.find(replace(observations, machine=machine))
    assert found is not None
    assert (found.loaded, found.busy_cores) == (severity == "bad", None)
