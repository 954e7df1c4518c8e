# SPDX-License-Identifier: Apache-2.0
"""What is said of a comparison."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from nearpeak.compare import wording
from nearpeak.compare.build import compare
from nearpeak.compare.compared import End
from nearpeak.compare.load import load_side
from nearpeak.results.names import label
from nearpeak.terms.identity import CEILING

MakeSides = Callable[..., Path]


def test_sides_are_named_in_short(make_sides: MakeSides) -> None:
    old = [make_sides(f"old{day}", day=day, blocks=2) for day in (1, 2, 3)]
    new = make_sides("new", day=4, blocks=2)
    found = compare(load_side(old), load_side([new]), 0.025)
    assert wording.side(found, "old") == f"3 sessions in {old[0]} and 2 other folders"
    assert wording.side(found, "new") == f"1 session in {new}"
    assert wording.tolerance(found) == "2.5 %"
    limits = list(wording.limits(found))
    assert limits[0].startswith("3 sessions before, 1 now: in a typical row by itself")
    assert "Measure 3 sessions of each side to tell more." in limits


def test_a_side_that_measured_nothing_is_told(make_sides: MakeSides) -> None:
    sides = [load_side([make_sides("old")]), load_side([make_sides("new", day=2)])]
    found = compare(*sides, 0.05)
    found.sessions = found.sessions[:1]
    assert wording.side(found, "new") == "no session with a figure"


def test_one_launch_of_each_side_is_told_as_such(make_sides: MakeSides) -> None:
    old, new = make_sides("old", blocks=1), make_sides("new", day=2, blocks=1, factor=0.5)
    found = compare(load_side([old]), load_side([new]), 0.05)
    assert "Nothing can be judged: one launch of each does not" in wording.conclusion(found)
    assert list(wording.limits(found)) == []
    assert found.tells_from is None
    assert not found.regressed


def test_what_a_verdict_lacks_is_said(make_sides: MakeSides) -> None:
    old, new = load_side([make_sides("old")]), load_side([make_sides("new", day=2, factor=0.1)])
    found = compare(old, new, 0.05)
    [ceiling] = found.ceilings
    assert wording.verdict(ceiling.change) == "one session"
    limits = " ".join(wording.limits(found))
    assert "a ceiling gets no verdict" in limits
    assert "'no control'" not in limits
    change = found.libraries[0].change
    change.verdict, change.lacks = "undecided", "control"
    assert wording.verdict(change) == "no control"
    assert "'no control': " in " ".join(wording.limits(found))


def test_what_fails_and_what_is_not_compared(make_sides: MakeSides) -> None:
    old = make_sides("old", libraries=("alpha", "beta", "gamma"))
    new = make_sides("new", day=2, libraries=("alpha", "beta"), crashed=("beta",))
    found = compare(load_side([old]), load_side([new]), 0.05)
    assert list(map(wording.failure, found.failures)) == [
        "beta on host-host same-numa: failed in 6 of 6 blocks (before: 0 of 6): crashed (6 times);"
        " regressed, adjusted p 0.00108"
    ]
    bw = "beta on host-host same-numa, bw (H,H, calls=blocking, reuse=fixed)"
    assert wording.missing(found) == ["library gamma"]
    assert wording.missing(found, failed=True) == [bw]
    assert wording.conclusion(found) == (
        "Regressed: beta on host-host same-numa: fails more often. Not measured now: library gamma."
        " Measure it, or accept it with --allow-missing."
    )


def test_what_failures_come_to(make_sides: MakeSides) -> None:
    both = ("alpha", "beta")
    old = load_side([make_sides("old", libraries=both)])
    new = make_sides("new", day=2, libraries=both, crashed=("beta",), crashes=[1])
    found = compare(old, load_side([new]), 0.05)
    [once] = found.failures
    assert wording.failure(once) == (
        "beta on host-host same-numa: failed in 1 of 6 blocks (before: 0 of 6): crashed (1 time);"
        " too few to judge, adjusted p 0.500: about 30 blocks of each side would be needed"
    )
    assert wording.conclusion(found).endswith(
        " beta on host-host same-numa: failed more often, but not proven to have regressed."
    )
    case = next(cell.case for cell in old[0].results.cells if cell.case.benchmark == "bw")
    bare = msgspec.structs.replace(case, metric="")
    cases = [bare, msgspec.structs.replace(bare, buffers="D,D")]  # told alike
    cases += [bare.curve.at(x) for x in (0, 2048, 4096)]
    once.new.ended = [End(status="hung", case=case, tries=1) for case in cases]
    once.needed = None
    said = wording.failure(once)
    assert ": hung in bw at 1 KiB (2 times), hung in bw (1 time), hung" in said
    assert "and 1 more; too rare to judge" in said
    assert "more than 1000 blocks of each side" in said
    once.curve = bare.curve
    said = wording.failure(once)
    assert said.startswith("beta on host-host same-numa, bw (H,H, calls=blocking, reuse=fixed): ")
    assert ": hung at 1 KiB (2 times), " in said
    once.old.failed = 1
    assert wording.failure(once).endswith("; no more often than before")
    assert "not proven to have regressed" not in wording.conclusion(found)
    once.old.tried = once.old.failed = 0
    assert wording.failure(once).endswith("; not tried before")
    once.regressed = True
    assert wording.failure(once).endswith("; regressed: in every block now, in none before")
    once.wrong_data = True
    assert wording.failure(once).endswith("; regressed: wrong data now, none before")
    assert wording.conclusion(found).startswith(
        "Regressed: beta on host-host same-numa: wrong data"
    )


def test_why_nothing_is_judged(make_sides: MakeSides) -> None:
    sides = [load_side([make_sides("old")]), load_side([make_sides("new", day=2)])]
    found = compare(*sides, 0.05)
    assert not found.judged
    found.sessions += found.sessions
    assert wording.conclusion(found).startswith(
        "Nothing can be judged: the scatter of launches and sessions hides any change."
    )
    found.libraries[0].curves[0].cells[0].change.verdict = "equivalent"  # of several sizes one
    assert not found.judged
    found.libraries[0].curves[0].change.verdict = "equivalent"
    assert found.judged
    assert "Judged: 1 of 4 curves." in wording.conclusion(found)
    found.libraries, found.ceilings = [], []
    assert wording.conclusion(found) == (
        "Nothing can be judged: the sides have no figure in common."
    )


def test_the_conclusion_says_what_is_missing(make_sides: MakeSides) -> None:
    names = tuple(f"lib{number}" for number in range(8))
    old = load_side([make_sides("old", libraries=("alpha", *names), blocks=2)])
    new = load_side([make_sides("new", day=2, blocks=2)])
    gone = "library lib0; library lib1; library lib2; library lib3; library lib4; library lib5;"
    said = wording.conclusion(compare(old, new, 0.05))
    assert said.startswith(f"Not measured now: {gone} and 2 more. Measure it, or accept it with")
    assert "Nothing can be judged: " in said
    said = wording.conclusion(compare(old, new, 0.05, allow_missing=True))
    assert said.startswith("Nothing can be judged: one session on each side")
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
    assert wording.missing(found) == [*where, curve, "all ceilings"]


def test_sizes_that_changed_are_named(make_sides: MakeSides) -> None:
    found = compare(load_side([make_sides("old")]), load_side([make_sides("new", day=2)]), 0.05)
    curve = next(one for one in found.libraries[0].curves if one.curve.benchmark == "latency")
    assert not wording.sizes(curve)
    first, second, third = curve.cells
    first.old, first.new, first.unit = 2.12, 0.573, "us"
    first.change.verdict = "faster"
    assert wording.sizes(curve) == "faster at 1 KiB (2.12 -> 0.573 µs), undecided elsewhere"
    second.change.verdict, third.change.verdict = "slower", "equivalent"
    told = wording.sizes(curve)
    assert told.startswith("faster at 1 KiB (2.12 -> 0.573 µs), slower at 4 KiB (")
    assert told.endswith("), equivalent elsewhere")
    second.change.regressed = True
    assert ", regressed at 4 KiB (" in wording.sizes(curve)
    curve.cells = [first]
    assert not wording.sizes(curve)


def test_of_sizes_that_lost_as_much_the_largest_is_named(make_sides: MakeSides) -> None:
    found = compare(load_side([make_sides("old")]), load_side([make_sides("new", day=2)]), 0.05)
    [place] = found.libraries
    for curve in place.curves:
        for cell in curve.cells:
            cell.change.ratio = 1.0
    first, second, third = place.curves[0].cells
    first.change.ratio, second.change.ratio, third.change.ratio = 0.66, 0.67, 0.69
    assert wording.worst(place) is second
    third.change.regressed = True
    assert wording.worst(place) is third
    assert f"{wording.subject(place)} is 0.690 times as fast at worst (tolerance 5 %)." in (
        wording.conclusion(found)
    )


def test_a_large_change_that_is_not_proven_is_named(make_sides: MakeSides) -> None:
    found = compare(load_side([make_sides("old")]), load_side([make_sides("new", day=2)]), 0.05)
    change = found.libraries[0].change
    change.ratio, change.ci95 = 0.663, (0.549, 0.802)
    alpha = "Nothing can be judged: alpha on host-host same-numa is 0.663 times as fast, but"
    remedy = "cannot prove it. Measure"
    one = f"{alpha} one session of each side {remedy} 3 sessions of each side."
    assert wording.conclusion(found) == one
    found.sessions += found.sessions
    few = f"{alpha} so few sessions {remedy} more sessions of each side."
    assert wording.conclusion(found) == few
