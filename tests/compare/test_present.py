# SPDX-License-Identifier: Apache-2.0
"""A comparison on the terminal, and its page: whole, escaped, and without scripts."""

import io
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from answers import check_short
from nearpeak.compare.build import compare
from nearpeak.compare.compared import Compared
from nearpeak.compare.load import load_side
from nearpeak.compare.present import present
from nearpeak.console import PlainConsole
from nearpeak.document.page import render
from nearpeak.document.terminal import print_document
from nearpeak.results.results import Conditions

MakeSides = Callable[..., Path]
NASTY = "<script>alert(1)</script>"
VOID = ("meta", "link", "line", "circle")


def printed(compared: Compared, width: int = 80, *, verbose: bool = True) -> str:
    stream = io.StringIO()
    console = PlainConsole(file=stream, width=width)
    print_document(present(compared), console=console, verbose=verbose)
    return stream.getvalue()


def page(compared: Compared) -> str:
    return render(present(compared))


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, _attrs: object) -> None:
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_regression_is_named_and_ends_the_output(make_sides: MakeSides, width: int) -> None:
    old = load_side([make_sides(f"old{day}", day=day) for day in (1, 2, 3)])
    new = [make_sides(f"new{day}", day=day, factor=0.8, nvidia="9") for day in (4, 5, 6)]
    compared = compare(old, load_side(new), 0.05)
    *lines, last = printed(compared, width).splitlines()
    assert max(len(line) for line in lines if " nearpeak " not in line) <= max(80, width)
    assert any(line.split()[0] == "alpha" and "slower!" in line for line in lines if line.strip())
    conclusion = "egressed: alpha on host-host same-numa is 0.798 times as fast (tolerance 5 %)."
    assert last == f"Exit status 1: r{conclusion}"
    assert f"<b>R{conclusion}</b>" in page(compared)


def test_the_answer_has_the_paths_and_why_they_are_slower(make_sides: MakeSides) -> None:
    old = load_side([make_sides(f"old{day}", day=day) for day in (1, 2, 3)])
    new = [make_sides(f"new{day}", day=day, factor=0.8, nvidia="9") for day in (4, 5, 6)]
    compared = compare(old, load_side(new), 0.05)
    check_short(present(compared))
    text = printed(compared, 100, verbose=False)
    assert re.search(r"\nalpha on host-host same-numa +0\.798 +\[.*\] +slower! ", text)
    assert re.search(
        r"\n1\. alpha on host-host same-numa: \w+ at 16 KiB is 0\.79\d times as f", text
    )
    assert "changed meanwhile: driver nvidia: none -> 9" in " ".join(text.split())
    assert "   nearpeak explain " in text
    assert "\nWhat differs between both sides\n  driver nvidia: none -> 9\n" in text
    assert "What the columns mean" not in text


def test_a_path_that_is_slower_is_checked(make_sides: MakeSides) -> None:
    old = load_side([make_sides(f"old{day}", day=day) for day in (1, 2, 3)])
    both = {"factor": 0.8, "path_factor": 0.8}
    new = load_side([make_sides(f"new{day}", day=day, **both) for day in (4, 5, 6)])
    compared = compare(old, new, 0.05)
    check_short(present(compared))
    text = " ".join(printed(compared, 100, verbose=False).split())
    assert "; the path became slower in the same way See why: nearpeak explain " in text
    assert "Check the hardware: nearpeak machine --check" in text


def test_of_many_paths_the_answer_has_those_that_lost_most(make_sides: MakeSides) -> None:
    names = [f"library{number}" for number in range(9)]
    old = load_side([make_sides("old", libraries=names)])
    compared = compare(old, load_side([make_sides("new", day=2, libraries=names)]), 0.05)
    check_short(present(compared))
    assert "The slowest 6 of 10" in printed(compared, verbose=False)


def test_every_name_is_escaped_and_no_script_runs(make_sides: MakeSides) -> None:
    libraries = ("alpha", NASTY)
    old = load_side([make_sides("old", libraries=libraries)])
    new = make_sides("new", day=2, libraries=libraries, crashed=(NASTY,), nvidia=NASTY)
    compared = compare(old, load_side([new]), 0.05)
    compared.sessions[0].folder = NASTY
    text = page(compared)
    tags = Tags(text)
    assert tags.open == []
    assert "script" not in tags.seen
    assert "default-src 'none'" in text
    assert text.count("&lt;script&gt;alert(1)") >= 4
    assert f"<h1>What changed on {compared.sessions[0].host}?</h1>" in text
    assert "driver nvidia: none -&gt; &lt;script" in text
    order = ["Regressed:", "driver nvidia", "host-host same-numa</h2>", "What the columns mean"]
    places = list(map(text.index, order))
    assert places == sorted(places)


def test_names_steer_no_terminal(make_sides: MakeSides) -> None:
    libraries = ("[red]x[/red]\x1b[31m",)
    old = load_side([make_sides("old", libraries=libraries)])
    text = printed(compare(old, load_side([make_sides("new", day=2, libraries=libraries)]), 0.05))
    assert "[red]x[/red]" in text.replace("\n", "")
    assert "\x1b" not in text


def test_the_hosts_of_all_sessions_are_named(make_sides: MakeSides) -> None:
    sides = [load_side([make_sides("old")]), load_side([make_sides("new", day=2)])]
    compared = compare(*sides, 0.05)
    compared.sessions[1].host = "other"
    assert present(compared).heading == f"What changed on {compared.sessions[0].host}, other?"
    compared.sessions = []
    assert present(compared).heading == "What changed on no session with a figure?"


def test_what_is_missing_is_listed(make_sides: MakeSides) -> None:
    old = load_side([make_sides("old", libraries=("alpha", NASTY))])
    new = load_side([make_sides("new", day=2)])
    for allowed, title in ((False, "Not measured now"), (True, "Not measured now, which is allo")):
        compared = compare(old, new, 0.05, allow_missing=allowed)
        text = printed(compared, 400)
        assert f"\n{title}" in text
        assert f"\n  library {NASTY}\n" in text
        last = text.splitlines()[-1]
        assert last.startswith(f"Exit status {3 if allowed else 1}: ")
        assert f"ot measured now{', which is allowed' if allowed else ''}: library " in last
        assert f"<h4>{title}" in page(compared)
        assert "<li>library &lt;script&gt;alert(1)" in page(compared)


def test_what_failed_or_is_new_is_listed(make_sides: MakeSides) -> None:
    old = load_side([make_sides("old", libraries=("alpha", "beta"))])
    new = make_sides("new", day=2, libraries=("alpha", "beta", "gamma"), crashed=("beta",))
    text = printed(compare(old, load_side([new]), 0.05), 400)
    assert "\nFailed now\n  beta on host-host same-numa: failed in 6 of 6 blocks" in text
    bw = "beta on host-host same-numa, bw (H,H, calls=blocking, reuse=fixed)"
    assert f"\nNot measured now\n  {bw}: its launches failed\n" in text
    assert "  gamma on host-host same-numa: 6 cases: only the new side has it\n" in text


def test_sessions_beside_other_work_are_named(make_sides: MakeSides) -> None:
    old, new = load_side([make_sides("old")]), load_side([make_sides("new", day=2)])
    assert "Other work" not in printed(compare(old, new, 0.05))
    old[0].results.conditions = Conditions(cores=2, loaded=True)
    told = f"Other work took the ranks' time in 1 session ({old[0].folder}): measure again"
    assert told in printed(compare(old, new, 0.05), 2000)


def test_a_fraction_of_fewer_cases_says_so(make_sides: MakeSides) -> None:
    compared = compare(load_side([make_sides("old")]), load_side([make_sides("new", day=2)]), 0.05)
    [place] = compared.libraries
    assert place.of_ceiling is not None
    assert f" of {place.of_ceiling.cases} cases" not in printed(compared)
    place.of_ceiling.cases -= 1
    told = f"{place.of_ceiling.cases} of {place.of_ceiling.cases + 1} cases"
    assert told in printed(compared)
    assert told in page(compared)


def test_what_one_session_cannot_tell(make_sides: MakeSides) -> None:
    old = load_side([make_sides("old")])
    new = load_side([make_sides("new", day=2, factor=1 / 1.08)])
    compared = compare(old, new, 0.05)
    text = " ".join(printed(compared).split())
    assert "build and inherited variables: no difference is recorded." in text
    assert "1 session before, 1 now: in a typical row by itself, scatter hides a change" in text
    assert "Undecided, though beyond the scatter of launches: " in text
    assert "only a much larger change gets a verdict" in text
    assert text.endswith(
        "Exit status 3: nothing can be judged: one session on each side does not separate a"
        " change from the scatter of sessions. Measure 3 sessions of each side."
    )
    assert text.count("undecided") > 1  # in each line: a blank is no answer
    text = page(compared)
    assert text.count("Nothing can be judged: one session on each side") == 1
    assert ' muted">undecided' in text


def test_what_one_session_can_tell_it_says(make_sides: MakeSides) -> None:
    old = load_side([make_sides("old")])
    text = printed(compare(old, load_side([make_sides("new", day=2, factor=0.2)]), 0.05))
    assert any("alpha" in line and "slower!" in line for line in text.splitlines())
    assert text.splitlines()[-1].startswith("Exit status 1: regressed: alpha on host-host")


def test_more_sessions_say_what_they_leave_undecided(make_sides: MakeSides) -> None:
    old = load_side([make_sides(f"old{day}", day=day, scatter=0.5) for day in (1, 2)])
    new = load_side([make_sides(f"new{day}", day=day, scatter=0.5) for day in (3, 4)])
    lines = printed(compare(old, new, 0.001), 200).splitlines()
    assert any("alpha" in line and "undecided" in line for line in lines)
    assert sum(line.startswith("  bw ") for line in lines) == 2  # of the library, and its ceiling
    assert "nothing can be judged: the scatter of launches and sessions hides" in lines[-1]


def test_other_distances_of_cpus_are_told(make_sides: MakeSides) -> None:
    old = load_side([make_sides("old", far=[0])])
    new = load_side([make_sides("new", day=2, far=[0, 1, 2, 3])])
    compared = compare(old, new, 0.05)
    text = printed(compared, 1000)
    assert "Most core-to-core latencies are now others on host-host same-numa (see below)" in text
    assert "  alpha on host-host same-numa: 60.0 ns (30 before, 12 now), 300 ns (6 before," in text
    assert "<li>ceiling on host-host same-numa: 60.0 ns (30 before, 12 now), 300 n" in page(
        compared
    )
    alike = printed(compare(old, load_side([make_sides("alike", day=3, far=[0])]), 0.05), 1000)
    assert "latencies are now others" not in alike
    assert "\nCore-to-core latency\n" in alike
    none = load_side([make_sides(f"near{day}", day=day) for day in (4, 5)])
    assert "ore-to-core" not in printed(compare(none[:1], none[1:], 0.05), 1000)


def test_inherited_variables_are_named_where_something_is_slower(make_sides: MakeSides) -> None:
    old = load_side([make_sides(f"old{day}", day=day) for day in (1, 2, 3)])
    made = [
        make_sides(f"new{day}", day=day, factor=0.8, variables={"UCX_TLS": "tcp"})
        for day in (4, 5, 6)
    ]
    compared = compare(old, load_side(made), 0.05)
    text = printed(compared, 200)
    assert "\nSizes that changed\n  alpha, " in text
    assert "\n  alpha, bw: regressed at 1 KiB (" in text
    assert "\nWhat differs between both sides\n  variable UCX_TLS: none -> tcp\n" in text
    assert "; its launches inherited other variables: UCX_TLS: none -> tcp\n   See why:" in text
    text = page(compared)
    assert "<li>variable UCX_TLS: none -&gt; tcp</li>" in text
    assert "inherited other variables: UCX_TLS: none -&gt; tcp</b>" in text
