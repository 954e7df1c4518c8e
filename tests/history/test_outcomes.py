# SPDX-License-Identifier: Apache-2.0
"""JUnit XML of histories."""

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

from nearpeak.compare.load import load_side
from nearpeak.history.build import build
from nearpeak.history.outcomes import to_junit

MakeSides = Callable[..., Path]


def junit(folders: list[Path], since: str = "") -> ElementTree.Element:
    return ElementTree.fromstring(to_junit(build(load_side(folders), 0.05, since)))


def test_a_regression_fails_with_what_changed_then(nightly: Path) -> None:
    root = junit([nightly])
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("6", "3", "0")
    [first, *_] = root.iter("failure")
    assert (first.get("message") or "").startswith("slower since 2026-01-20, new/old 0.7")
    assert "Possible reason: changed then: driver nvidia: 580 -> 590" in (first.text or "")
    assert junit([nightly], since="2026-01-22").get("failures") == "0"


def test_what_cannot_be_judged_is_skipped(make_sides: MakeSides) -> None:
    made = [make_sides(f"{day}", day=day, blocks=2, nvidia=f"{day}") for day in (1, 2)]
    root = junit(made)
    assert root.get("failures") == "0"
    assert root.get("skipped") == "6"
    [changed] = [one for one in root.iter("testcase") if one.get("classname") == "changes"]
    assert changed.findtext("system-out") == "driver nvidia: 1 -> 2"
