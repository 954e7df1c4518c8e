# SPDX-License-Identifier: Apache-2.0
"""The overlap of communication and computation, from the phases of launches made by hand."""

import csv
import io
from types import SimpleNamespace
from typing import Any

import pytest

from nearpeak.console import PlainConsole
from nearpeak.observations.observed import Block
from nearpeak.report import overlap as told
from nearpeak.report.export import to_csv
from nearpeak.report.page import render
from nearpeak.report.terminal import print_details
from nearpeak.results.overlap import hidden, overlap
from nearpeak.results.results import Estimated, Overlap


def launches(*both_us: float, **others: float) -> Any:
    """One for each time of both at once, in blocks of one session."""
    return [
        SimpleNamespace(
            launch=SimpleNamespace(block=Block(0, number)),
            phases={"communicate": 10.0, "compute": 20.0, "both": both, **others},
        )
        for number, both in enumerate(both_us)
    ]


@pytest.mark.parametrize(("both", "share"), [(20, 1), (25, 0.5), (30, 0), (35, -0.5), (19, 1.1)])
def test_the_share_of_the_shorter_that_is_hidden(both: float, share: float) -> None:
    times = {"communicate": 10.0, "compute": 20.0, "both": both}
    assert hidden(times) == pytest.approx(share)
    assert hidden({**times, "communicate": 20.0, "compute": 10.0}) == pytest.approx(share)


def test_launches_are_summed_up_as_they_are_and_not_by_logarithms() -> None:
    found = overlap(launches(28, 29, 30, 31, 32, 33))
    assert found is not None
    assert found.hidden.value == pytest.approx(-0.05)
    assert found.hidden.range == pytest.approx((-0.3, 0.2))
    assert found.hidden.ci95 is not None
    low, high = found.hidden.ci95
    assert -0.3 <= low < -0.05 < high <= 0.2
    assert (found.communicate_us, found.compute_us, found.both_us) == (10.0, 20.0, 30.5)
    assert found.device_slowdown is None


def test_few_launches_have_a_range_and_no_interval() -> None:
    found = overlap(launches(20, 30))
    assert found is not None
    assert found.hidden == Estimated(value=0.5, ci95=None, range=(0.0, 1.0))


def test_how_much_the_device_itself_slows_down() -> None:
    found = overlap(launches(20, 30, **{"device alone": 8.0, "device beside": 10.0}))
    assert found is not None
    assert found.device_slowdown == Estimated(value=1.25, ci95=None, range=(1.25, 1.25))
    # Its clock may be too coarse to tell.
    found = overlap(launches(20, **{"device alone": 0.0, "device beside": 10.0}))
    assert found is not None
    assert found.device_slowdown is None


def test_what_does_not_compute_has_none() -> None:
    assert overlap([]) is None
    other = launches(20)
    other[0].phases = {"payload": 2.0, "empty": 1.0}
    assert overlap(other) is None


def test_how_it_is_told() -> None:
    estimated = Estimated(value=-0.05, ci95=(-0.1, 0.02), range=(-0.2, 0.1))
    found = Overlap(
        hidden=estimated,
        communicate_us=10.0,
        compute_us=20.0,
        both_us=30.5,
        device_slowdown=Estimated(value=1.25, ci95=None, range=(1.2, 1.3)),
    )
    assert told.describe(found) == (
        "overlap -5.00 % [-10.0, 2.00]: 10.0 µs of communication and 20.0 µs of computation took"
        " 30.5 µs at once; the device's own work took 1.25 times as long meanwhile"
        " range 1.20 to 1.30"
    )
    assert told.share(estimated) == "overlap -5.00 % (-10.0 to 2.00 %)"


def test_from_the_records_to_page_terminal_and_csv(make_study: Any) -> None:
    study = make_study("alpha")
    for block in range(6):
        launch = study.launch(block, "alpha", "ibcast", status=None)
        record = study.samples("ibcast", 1024, [1.25] * 5, launch=launch)
        times = {"communicate": 10.0, "compute": 20.0, "both": 25.0}
        record.phases = {name: [value] * 5 for name, value in times.items()}
        study.records.append(record)
        study.end(launch, "ok")
    results = study.results()
    cell = study.find(results, "ibcast", 1024, "alpha")
    assert (cell.unit, cell.median, cell.fraction, cell.status) == ("ratio", 1.25, 0.8, "ok")
    assert (cell.ceiling.value, cell.ceiling.kind) == (1.0, "ideal")
    assert cell.overlap.hidden == Estimated(value=0.5, ci95=(0.5, 0.5), range=(0.5, 0.5))

    [row] = csv.DictReader(io.StringIO(to_csv(results), newline=""))
    names = ("unit", "fraction", "overlap", "overlap_ci95_low", "both_us", "device_slowdown")
    assert [row[name] for name in names] == ["ratio", "0.8", "0.5", "0.5", "25.0", ""]
    words = "overlap 50.0 % [50.0, 50.0]: 10.0 µs of communication"
    assert words in render(results).replace("\\u00b5", "µ")
    shown = io.StringIO()
    print_details(results, PlainConsole(file=shown, width=120))
    assert "least overlap: at 1 KiB ibcast of alpha, 50.0 %" in shown.getvalue()
