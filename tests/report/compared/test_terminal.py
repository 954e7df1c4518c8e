# SPDX-License-Identifier: Apache-2.0
"""A comparison in the terminal."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.compare.build import compare
from nearpeak.compare.compared import Compared
from nearpeak.compare.load import load_side
from nearpeak.console import PlainConsole
from nearpeak.report.compared.page import render
from nearpeak.report.compared.terminal import history, print_compared
from nearpeak.report.compared.words import DISTANCES
from nearpeak.results.results import Conditions

MakeSides = Callable[..., Path]


def printed(compared: Compared, width: int = 80) -> str:
    stream = io.StringIO()
    print_compared(compared, PlainConsole(file=stream, width=width))
    return stream.getvalue()


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_regression_is_named_and_ends_the_output(make_sides: MakeSides, width: int) -> None:
    old = load_side([make_sides(f"old{day}", day=day) for day in (1, 2, 3)])
    new = [make_sides(f"new{day}", day=day, factor=0.8, nvidia="9") for day in (4, 5, 6)]
    text = printed(compare(old, load_side(new), 0.05), width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= max(80, width)
    assert text.index("driver nvidia: none -> 9") < text.index("host-host same-numa")
    assert any(line.split()[0] == "alpha" and "slower!" in line for line in lines if line.strip())
    words = " ".join(text.split())
    assert "Regressed: alpha on host-host same-numa" in words
    assert words.endswith("Regressed: alpha on host-host same-numa: slower by more than 5 %.")


def test_what_is_missing_ends_the_output(make_sides: MakeSides) -> None:
    old = load_side([make_sides("old", libraries=("alpha", "beta"))])
    text = printed(compare(old, load_side([make_sides("new", day=2)]), 0.05), 400)
    assert "Not measured now:\n  library beta\n" in text
    assert text.splitlines()[-1].startswith("Not measured now: library beta. Measure it, or accept")


def test_sessions_beside_other_work_are_named(make_sides: MakeSides) -> None:
    old, new = load_side([make_sides("old")]), load_side([make_sides("new", day=2)])
    assert "Other work" not in printed(compare(old, new, 0.05))
    old[0].results.conditions = Conditions(cores=2, loaded=True)
    told = f"Other work took the ranks' time in 1 session ({old[0].folder}): measure again"
    assert told in printed(compare(old, new, 0.05), 2000)


def test_a_fraction_of_fewer_cases_says_so(make_sides: MakeSides) -> None:
    compared = compare(load_side([make_sides("old")]), load_side([make_sides("new", day=2)]), 0.05)
    assert "Cases without a ceiling" not in printed(compared)
    [place] = compared.libraries
    assert place.of_ceiling is not None
    cases, place.of_ceiling.cases = place.of_ceiling.cases, 1
    told = f"  alpha on host-host same-numa: fraction of 1 of {cases} cases\n"
    assert f"Cases without a ceiling are in new/old alone:\n{told}" in printed(compared, 200)
    assert told.strip() in render(compared)


def test_what_one_session_cannot_tell(make_sides: MakeSides) -> None:
    old = load_side([make_sides("old")])
    new = load_side([make_sides("new", day=2, factor=1 / 1.08)])
    words = " ".join(printed(compare(old, new, 0.05)).split())
    assert "build and inherited variables: no difference is recorded." in words
    assert "1 session before, 1 now: a change below about" in words
    assert "differ by more than launches scatter, but are undecided" in words
    assert "only a much larger change gets a verdict" in words
    assert words.endswith(
        "Nothing can be judged: with one session on each side, a change cannot be told from the"
        " scatter of sessions. Measure 3 sessions of each side."
    )
    assert words.count("undecided") > 1  # in each line: a blank is no answer


def test_what_one_session_can_tell_it_says(make_sides: MakeSides) -> None:
    old = load_side([make_sides("old")])
    text = printed(compare(old, load_side([make_sides("new", day=2, factor=0.2)]), 0.05))
    assert any("alpha" in line and "slower!" in line for line in text.splitlines())
    assert text.splitlines()[-1].startswith("Regressed: alpha on host-host")


def test_more_sessions_say_what_they_leave_undecided(make_sides: MakeSides) -> None:
    old = load_side([make_sides(f"old{day}", day=day, scatter=0.5) for day in (1, 2)])
    new = load_side([make_sides(f"new{day}", day=day, scatter=0.5) for day in (3, 4)])
    lines = printed(compare(old, new, 0.001), 200).splitlines()
    assert any("alpha" in line and "undecided" in line for line in lines)
    assert sum(line.startswith("  both curves ") for line in lines) == 2  # none has a line
    assert lines[-1].startswith("Nothing can be judged: no change can be told from the scatter")


def test_other_distances_of_cpus_are_told(make_sides: MakeSides) -> None:
    old = load_side([make_sides("old", far=[0])])
    new = load_side([make_sides("new", day=2, far=[0, 1, 2, 3])])
    text = printed(compare(old, new, 0.05), 1000)
    assert "now mostly at another distance on host-host same-numa (see below)" in text
    assert f"{DISTANCES}\n" in text
    assert "  alpha on host-host same-numa: 60.0 ns (30 before, 12 now), 300 ns (6 before," in text
    alike = printed(compare(old, load_side([make_sides("alike", day=3, far=[0])]), 0.05), 1000)
    assert "mostly at another distance" not in alike
    assert DISTANCES in alike
    none = load_side([make_sides(f"near{day}", day=day) for day in (4, 5)])
    assert DISTANCES not in printed(compare(none[:1], none[1:], 0.05), 1000)


def test_inherited_variables_are_named_where_something_is_slower(make_sides: MakeSides) -> None:
    old = load_side([make_sides(f"old{day}", day=day) for day in (1, 2, 3)])
    made = [
        make_sides(f"new{day}", day=day, factor=0.8, variables={"UCX_TLS": "tcp"})
        for day in (4, 5, 6)
    ]
    text = printed(compare(old, load_side(made), 0.05), 200)
    assert "Sizes that changed:\n  alpha on host-host same-numa, " in text
    assert "\n  alpha on host-host same-numa, bw: slower at 1 KiB (" in text
    assert "What differs between them:\n  variable UCX_TLS: none -> tcp\n" in text
    assert (
        "Possible reasons of what is slower:\n  alpha on host-host same-numa: its launches"
        " inherited other variables: UCX_TLS: none -> tcp\n"
    ) in text


def test_names_steer_no_terminal(make_sides: MakeSides) -> None:
    libraries = ("[red]x[/red]\x1b[31m",)
    old = load_side([make_sides("old", libraries=libraries)])
    text = printed(compare(old, load_side([make_sides("new", day=2, libraries=libraries)]), 0.05))
    assert "[red]x[/red]" in text.replace("\n", "")
    assert "\x1b" not in text


def test_a_history_is_drawn_against_its_own_range(make_sides: MakeSides) -> None:
    old = load_side([make_sides("old")])
    compared = compare(old, load_side([make_sides("new", day=2)]), 0.05)
    change = compared.libraries[0].change
    change.history = [1.0, 0.5]
    assert history(change, compared) == "█|▁"
    change.history = [1.0, None]
    assert history(change, compared) == "▅| "
