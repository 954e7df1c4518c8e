# SPDX-License-Identifier: Apache-2.0
"""What a library's own cost model is given of ceilings."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from nearpeak.errors import UserError
from nearpeak.launching.single_launch import LaunchFailed
from nearpeak.libraries import tunables
from nearpeak.libraries.families import all_families
from nearpeak.libraries.tunables import Tunable
from nearpeak.tune import calibrate
from nearpeak.tune.calibrate import MEASUREMENTS, Measurement, values, wanted
from nearpeak.tune.tuned import Ceiling

COMPONENTS = sorted({name for family in all_families().values() for name in family.components})
TAKING = [
    tunable
    for component in COMPONENTS
    for tunable in tunables.of_component(component)
    if tunable.calibrated
]
RATE = Ceiling(name="kernel-copy", value=10.0, unit="GB/s")
TIME = Ceiling(name="between-devices", value=6.4, unit="us")


def taking(template: str, **more: Any) -> Tunable:
    table = {"name": "X", "component": "x", "summary": "", "values": ["1"], "source": "x"}
    return msgspec.convert({**table, "calibrated": template, **more}, Tunable)


@pytest.mark.parametrize("tunable", TAKING, ids=lambda tunable: tunable.name)
def test_every_ceiling_of_the_catalogue_is_one_that_is_measured(tunable: Tunable) -> None:
    names = {name for name, _ in wanted([tunable])}
    assert names
    assert names <= set(MEASUREMENTS)
    assert not re.search("[{}]", calibrate.PLACE.sub("", tunable.calibrated))
    # Where a buffer must be in a GPU for a ceiling, it has an effect there alone.
    of_gpus = any("D" in MEASUREMENTS[name].buffers for name in names)
    assert not of_gpus or "gpu" in tunable.needs


def test_each_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "methods" / "tune.md").read_text("utf-8")
    (table,) = re.findall(r"^\| Method \| Ceiling .*?\n\n", text, re.MULTILINE | re.DOTALL)
    names = {tunable.name for tunable in TAKING}
    assert len(names) >= 8
    assert names | set(MEASUREMENTS) <= set(re.findall(r"`([\w-]+)`", table))


def test_a_rate_is_written_in_powers_of_1024() -> None:
    (found,) = values([taking("in:{kernel-copy MiB/s}MBps,out:1MBps")], [RATE, TIME])
    assert found.label == "X=in:9537MBps,out:1MBps"


def test_a_time_a_part_of_it_and_what_is_set_with_it() -> None:
    whole = taking("{between-devices us}us", **{"with": {"Z": "y"}})
    part = taking("{between-devices us * 0.25}us", name="Y")
    found = values([whole, part], [RATE, TIME])
    assert [each.label for each in found] == ["Z=y X=6.40us", "Y=1.60us"]


def test_what_was_not_measured_is_left_out() -> None:
    both = taking("{kernel-copy MiB/s}MBps,{memcpy MiB/s}MBps")
    assert values([both], [RATE, TIME]) == []
    assert values([taking("{between-devices MiB/s}MBps")], [TIME]) == []  # the other figure of it


def case(size: int, unit: str, value: float) -> Any:
    return SimpleNamespace(case=SimpleNamespace(size_bytes=size, unit=unit), value=value)


def test_what_can_be_measured_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch for each; without a GPU or the right to copy the rest is there."""
    launched: list[Measurement] = []

    def launch(_: object, measurement: Measurement, units: list[str], limit: float) -> list[Any]:
        assert limit == 9
        launched.append(measurement)
        if measurement.buffers == "H,D":
            raise UserError("no path")
        if measurement.method == "cma":
            raise LaunchFailed("skipped: not permitted")
        if "us" in units:
            return [case(8, "us", 6.4), case(16 << 20, "us", 50.0), case(8, "GB/s", 0.1)]
        return [case(16 << 20, "GB/s", 9.0)]

    monkeypatch.setattr(calibrate, "_launch", launch)
    told: list[str] = []
    first: Any = None
    found = calibrate.measure(first, TAKING, told.append, 9.0)
    assert sorted(launched) == sorted(MEASUREMENTS.values())
    assert [(each.name, each.value, each.unit) for each in found] == [
        ("memcpy", 9.0, "GB/s"),
        ("ring", 9.0, "GB/s"),
        ("device-to-host", 9.0, "GB/s"),
        ("between-devices", 6.4, "us"),
    ]
    assert "host-to-device: not measured: no path" in told
    assert "kernel-copy: not measured: skipped: not permitted" in told
