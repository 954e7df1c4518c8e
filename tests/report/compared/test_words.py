# SPDX-License-Identifier: Apache-2.0
"""What all forms of a comparison say."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from nearpeak.compare.build import compare
from nearpeak.compare.compared import End
from nearpeak.compare.load import load_side
from nearpeak.report.compared import words
from nearpeak.report.compared.page import render
from nearpeak.results.names import label
from nearpeak.terms.identity import CEILING

MakeSides = Callable[..., Path]


def test_sides_are_named_in_short(make_sides: MakeSides) -> None:
    old = [make_sides(f"old{day}", day=day, blocks=2) for day in (1, 2, 3)]
    new = make_sides("new", day=4, blocks=2)
    found = compare(load_side(old), load_side([new]), 0.025)
    assert words.side(found, "old") == f"3 sessions in {old[0]} and 2 other folders"
    assert words.side(found, "new") == f"1 session in {new}"
    assert words.tolerance(found) == "2.5 %"
    assert "3 sessions before, 1 now: a change below about" in words.sessions(found)
    assert "Measure 3 sessions of each side to tell more." in words.sessions(found)


def test_a_side_that_measured_nothing_is_told(make_sides: MakeSides) -> None:
    sides = [load_side([make_sides("old")]), load_side([make_sides("new", day=2)])]
    found = compare(*sides, 0.05)
    old, new = found.sessions
    assert words.host(found) == old.host == new.host
    new.host = "other"
    assert words.host(found) == f"{old.host}, other"
    found.sessions = [old]
    assert words.side(found, "new") == "no session with a figure"
    assert f"<h1>What changed on {old.host}?</h1>" in render(found)
    found.sessions = []
    assert words.host(found) == "no session with a figure"


def test_one_launch_of_each_side_is_told_as_such(make_sides: MakeSides) -> None:
    old, new = make_sides("old", blocks=1), make_sides("new", day=2, blocks=1, factor=0.5)
    found = compare(load_side([old]), load_side([new]), 0.05)
    assert words.sessions(found).startswith("Nothing is judged: one launch of each does not show")
    assert found.tells_from is None
    assert not found.regressed


def test_what_a_verdict_lacks_is_said(make_sides: MakeSides) -> None:
    old, new = load_side([make_sides("old")]), load_side([make_sides("new", day=2, factor=0.1)])
    found = compare(old, new, 0.05)
    [ceiling] = found.ceilings
    assert words.verdict(ceiling.change) == "one session"
    assert "a ceiling gets no verdict" in words.sessions(found)
    assert "'no control'" not in words.sessions(found)
    change = found.libraries[0].change
    change.verdict, change.lacks = "undecided", "control"
    assert words.verdict(change) == "no control"
    assert words.sentence(change).startswith("undecided (no control), new/old ")
    assert "'no control': " in words.sessions(found)


def test_what_fails_and_what_is_not_compared(make_sides: MakeSides) -> None:
    old = make_sides("old", libraries=("alpha", "beta", "gamma"))
    new = make_sides("new", day=2, libraries=("alpha", "beta"), crashed=("beta",))
    found = compare(load_side([old]), load_side([new]), 0.05)
    assert words.failures(found.failures) == [
        "beta on host-host same-numa: failed in 6 of 6 blocks (before: 0 of 6): crashed (6 times);"
        " regressed, adjusted p 0.00108"
    ]
    bw = "beta on host-host same-numa, bw (H,H, calls=blocking, reuse=fixed)"
    assert words.missing(found) == ["library gamma", f"{bw}: its launches failed"]
    assert words.conclusion(found) == (
        "Regressed: beta on host-host same-numa: fails more often. Not measured now: library gamma."
    )
    found = compare(load_side([new]), load_side([old]), 0.05)
    assert words.unmatched(found) == [
        "beta on host-host same-numa: 3 cases: only the new side has it",
        "gamma on host-host same-numa: 6 cases: only the new side has it",
    ]


def test_what_failures_come_to(make_sides: MakeSides) -> None:
    both = ("alpha", "beta")
    old = load_side([make_sides("old", libraries=both)])
    new = make_sides("new", day=2, libraries=both, crashed=("beta",), crashes=[1])
    found = compare(old, load_side([new]), 0.05)
    [once] = found.failures
    assert words.failures([once]) == [
        "beta on host-host same-numa: failed in 1 of 6 blocks (before: 0 of 6): crashed (1 time);"
        " too few to judge, adjusted p 0.500: about 30 blocks of each side would be needed"
    ]
    assert words.conclusion(found).endswith(
        " Failed more often, but not proven to have regressed: beta on host-host same-numa."
    )
    case = next(cell.case for cell in old[0].results.cells if cell.case.benchmark == "bw")
    bare = msgspec.structs.replace(case, metric="")
    cases = [bare, msgspec.structs.replace(bare, buffers="D,D")]  # told alike
    cases += [bare.curve.at(x) for x in (0, 2048, 4096)]
    once.new.ended = [End(status="hung", case=case, tries=1) for case in cases]
    once.needed = None
    said = words.failures([once])[0]
    assert ": hung in bw at 1 KiB (2 times), hung in bw (1 time), hung" in said
    assert "and 1 more; too rare to judge" in said
    assert "more than 1000 blocks of each side" in said
    once.curve = bare.curve
    said = words.failures([once])[0]
    assert said.startswith("beta on host-host same-numa, bw (H,H, calls=blocking, reuse=fixed): ")
    assert ": hung at 1 KiB (2 times), " in said
    once.old.failed = 1
    assert words.failures([once])[0].endswith("; no more often than before")
    assert "not proven to have regressed: beta" not in words.conclusion(found)
    once.old.tried = once.old.failed = 0
    assert words.failures([once])[0].endswith("; not tried before")
    once.regressed = True
    assert words.failures([once])[0].endswith("; regressed: in every block now, in none before")
    once.wrong_data = True
    assert words.failures([once])[0].endswith("; regressed: wrong data now, none before")
    assert words.conclusion(found).startswith("Regressed: beta on host-host same-numa: wrong data")


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [
        (0, 0, "no curve"),
        (0, 1, "no curve"),
        (1, 1, "the only curve"),
        (0, 2, "none of 2 curves"),
        (1, 2, "1 of 2 curves"),
        (2, 2, "both curves"),
        (2, 3, "2 of 3 curves"),
        (3, 3, "all 3 curves"),
    ],
)
def test_parts_of_a_whole(part: int, whole: int, said: str) -> None:
    assert words.portion(part, whole, "curve") == said


def test_why_nothing_is_judged(make_sides: MakeSides) -> None:
    sides = [load_side([make_sides("old")]), load_side([make_sides("new", day=2)])]
    found = compare(*sides, 0.05)
    assert not found.judged
    found.sessions += found.sessions
    assert words.conclusion(found).startswith(
        "Nothing can be judged: no change can be told from the scatter of launches and sessions."
    )
    found.libraries[0].curves[0].cells[0].change.verdict = "equivalent"  # of several sizes one
    assert not found.judged
    found.libraries[0].curves[0].change.verdict = "equivalent"
    assert found.judged
    assert "1 of 4 curves could be judged." in words.conclusion(found)
    found.libraries, found.ceilings = [], []
    assert words.conclusion(found) == ("Nothing can be judged: the sides have no figure in common.")
    assert words.sessions(found) == "Nothing is judged: the sides have no figure in common."


def test_the_conclusion_says_what_is_missing(make_sides: MakeSides) -> None:
    names = tuple(f"lib{number}" for number in range(8))
    old = load_side([make_sides("old", libraries=("alpha", *names), blocks=2)])
    new = load_side([make_sides("new", day=2, blocks=2)])
    gone = "library lib0; library lib1; library lib2; library lib3; library lib4; library lib5;"
    said = words.conclusion(compare(old, new, 0.05))
    assert said.startswith(f"Not measured now: {gone} and 2 more. Measure it, or accept it with")
    assert "Nothing can be judged: " in said
    said = words.conclusion(compare(old, new, 0.05, allow_missing=True))
    assert said.startswith("Nothing can be judged: with one session on each side")
    assert said.endswith(f"Not measured now, which is allowed: {gone} and 2 more.")


def test_what_is_missing_is_named_in_the_widest_sense(make_sides: MakeSides) -> None:
    found = compare(
        load_side([make_sides("old", libraries=("alpha", "beta"))]),
        load_side([make_sides("new", day=2)]),
        0.05,
    )
    first = found.missing[0]
    kinds = ("path", "library", "benchmark", "curve")
    found.missing = [msgspec.structs.replace(first, lacks=kind) for kind in kinds]
    found.missing.append(msgspec.structs.replace(first, who=CEILING, lacks="library"))
    curve = f"beta on host-host same-numa, {label(first.curve)}"
    where = ["path host-host same-numa", "library beta", f"benchmark {first.curve.benchmark}"]
    assert words.missing(found) == [*where, curve, "all ceilings"]


def test_sizes_that_changed_are_named(make_sides: MakeSides) -> None:
    found = compare(load_side([make_sides("old")]), load_side([make_sides("new", day=2)]), 0.05)
    curve = next(one for one in found.libraries[0].curves if one.curve.benchmark == "latency")
    assert not words.sizes(curve)
    first, second, third = curve.cells
    first.old, first.new, first.unit = 2.12, 0.573, "us"
    first.change.verdict = "faster"
    assert words.sizes(curve) == "faster at 1 KiB (2.12 -> 0.573 µs), undecided elsewhere"
    second.change.verdict, third.change.verdict = "slower", "equivalent"
    told = words.sizes(curve)
    assert told.startswith("faster at 1 KiB (2.12 -> 0.573 µs), slower at 4 KiB (")
    assert told.endswith("), equivalent elsewhere")
    curve.cells = [first]
    assert not words.sizes(curve)
