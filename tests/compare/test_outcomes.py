# SPDX-License-Identifier: Apache-2.0
"""JUnit XML of comparisons."""

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

from nearpeak.compare.build import compare
from nearpeak.compare.load import load_side
from nearpeak.compare.outcomes import to_junit

MakeSides = Callable[..., Path]


def junit(old: list[Path], new: list[Path]) -> ElementTree.Element:
    return ElementTree.fromstring(to_junit(compare(load_side(old), load_side(new), 0.05)))


def test_a_regression_is_a_failure_of_its_curves(make_sides: MakeSides) -> None:
    old = [make_sides(f"old{day}", day=day) for day in (1, 2, 3)]
    root = junit(old, [make_sides(f"new{day}", day=day, factor=0.8) for day in (4, 5, 6)])
    [suite] = root
    assert suite.get("name") == "host-host same-numa"
    failed = {
        (element.get("classname"), element.get("name"))
        for element in suite
        if element.find("failure") is not None
    }
    assert failed == {
        ("alpha", "all curves"),
        ("alpha", "bw (H,H, calls=blocking, reuse=fixed)"),
        ("alpha", "latency (H,H, calls=blocking, reuse=fixed)"),
    }
    assert (root.get("tests"), root.get("failures")) == ("6", "3")
    texts = [element.text or "" for element in root.iter("failure")]
    assert any(text.startswith("1 KiB: ") for text in texts)


def test_what_cannot_be_told_is_skipped_and_a_crash_is_a_failure(make_sides: MakeSides) -> None:
    old = make_sides("old", libraries=("alpha", "be<ta\x1b"))
    new = make_sides("new", day=2, libraries=("alpha", "be<ta\x1b"), crashed=("be<ta\x1b",))
    root = junit([old], [new])
    assert int(root.get("skipped", "0")) > 0
    [failing] = [
        element for element in root.iter("testcase") if element.get("classname") == "failures"
    ]
    assert failing.get("name") == "be<ta\ufffd on host-host same-numa"
    failure = failing.find("failure")
    assert failure is not None
    assert "failed in 6 of 6 blocks (before: 0 of 6): crashed" in (failure.get("message") or "")
    [gone] = [
        element
        for element in root.iter("testcase")
        if (element.get("classname") or "").startswith("be") and "bw" in (element.get("name") or "")
    ]
    skipped = gone.find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "measured before, not now: its launches failed"


def test_what_is_missing_fails_where_it_would_stand_unless_that_is_allowed(
    make_sides: MakeSides,
) -> None:
    old = load_side([make_sides("old", libraries=("alpha", "beta"))])
    new = load_side([make_sides("new", day=2)])
    for allowed, kind in ((False, "failure"), (True, "skipped")):
        root = ElementTree.fromstring(to_junit(compare(old, new, 0.05, allow_missing=allowed)))
        [_differences, suite] = root
        found = [element for element in suite if element.get("classname") == "beta"]
        assert {element.get("name") for element in found} == {
            "bw (H,H, calls=blocking, reuse=fixed)",
            "latency (H,H, calls=blocking, reuse=fixed)",
        }
        assert all(element.find(kind) is not None for element in found)
        assert root.get("failures") == ("0" if allowed else "2")


def test_a_size_alone_makes_its_curve_fail(make_sides: MakeSides) -> None:
    old = load_side([make_sides("old")])
    compared = compare(old, load_side([make_sides("new", day=2)]), 0.05)
    curve = compared.libraries[0].curves[0]
    change = curve.cells[1].change
    change.regressed = True
    [failure] = ElementTree.fromstring(to_junit(compared)).iter("failure")
    assert (failure.get("message") or "").startswith("4 KiB: ")
    assert failure.text == failure.get("message")
    change.lacks = "control"
    [failure] = ElementTree.fromstring(to_junit(compared)).iter("failure")
    assert ", undecided (no control), new/old " in (failure.get("message") or "")


def test_differences_are_tests_and_reasons_of_failures(make_sides: MakeSides) -> None:
    old = [make_sides(f"old{day}", day=day) for day in (1, 2, 3)]
    new = [
        make_sides(f"new{day}", day=day, factor=0.8, variables={"UCX_TLS": "tcp"})
        for day in (4, 5, 6)
    ]
    root = junit(old, new)
    [difference] = root[0]
    assert (root[0].get("name"), difference.get("name")) == ("differences", "variable UCX_TLS")
    assert [element.text for element in difference.iter("system-out")] == ["none -> tcp"]
    texts = [element.text or "" for element in root.iter("failure")]
    assert len(texts) == 3
    reason = "Possible reason: its launches inherited other variables: UCX_TLS: none -> tcp"
    assert all(text.splitlines()[-1] == reason for text in texts)
