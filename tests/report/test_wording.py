# SPDX-License-Identifier: Apache-2.0
"""The sentences that terminal and page share."""

from collections.abc import Callable

import msgspec

from nearpeak.numbers import size
from nearpeak.report import headlines, wording
from nearpeak.results import order
from nearpeak.results.names import case
from nearpeak.results.results import (
    Conditions,
    Fact,
    FactOf,
    Finding,
    Mode,
    Remedy,
    Results,
    Skip,
    TwoModes,
)
from nearpeak.terms.identity import CEILING, Place


def _place(results: Results, path: str) -> Place:
    return next(place for place in order.places(results) if place.path == path)


def _told(results: Results) -> dict[str, wording.Headline]:
    found = wording.headlines(results, headlines.groups(results))
    return {words.place.path: words for words in found}


def test_a_plateau_below_the_ceiling_beside_it_says_so(plain: Results) -> None:
    (group,) = [g for g in headlines.groups(plain) if g.place.path == "host-host same-numa"]
    assert wording.low_plateaus([group]) == ""
    for figure in group.figures.values():
        if figure.plateau and figure.case.benchmark == "bw":
            figure.plateau_low = True
    told = wording.low_plateaus([group])
    assert told.endswith(
        "next to them: host-host same-numa, bw. Trust the intervals, not the medians."
    )


def test_a_ceiling_in_caches_beside_a_plateau_of_memory_scatters_not(
    plain: Results, tell: Callable[[Results], None]
) -> None:
    """A study of small sizes: what lies in caches is above what the memory carries."""
    for point in plain.ceilings:
        if point.place.path == "host-host same-numa" and point.case.benchmark == "bw":
            point.lies_in = "memory"
            if point.case.x == 1 << 26:
                point.lies_in, point.value = "shared cache", 47.9
    tell(plain)
    (group,) = [g for g in headlines.groups(plain) if g.place.path == "host-host same-numa"]
    assert group.figures["bw"].plateau_low is False
    assert wording.low_plateaus([group]) == ""
    assert wording.cached_plateaus([group]) == ""
    assert wording.cached_ceilings([group]) == (
        "These ceilings are of messages in caches, the plateaus beside them of messages in memory:"
        " host-host same-numa, bw (64 MiB, in a shared cache; plateau at 256 KiB)."
    )
    assert wording.cached_ceilings([]) == ""


def test_a_loaded_machine_is_said(plain: Results) -> None:
    assert wording.conditions(plain) == ""
    plain.conditions = Conditions(cores=2, load=1.9, ranks=2, busy_cores=0.0, loaded=False)
    assert wording.conditions(plain) == ""
    plain.conditions = Conditions(cores=2, load=15.7, ranks=2, busy_cores=2.0, loaded=True)
    assert wording.conditions(plain) == (
        "Other work kept 2 of 2 cores busy when this was measured (load 15.7, 2 of it this study's"
        " own): these figures describe the loaded machine. Measure again when it is idle."
    )
    plain.conditions = msgspec.structs.replace(plain.conditions, sessions=[1])
    assert " of 2 cores busy in session 2 (load 15.7," in wording.conditions(plain)
    plain.conditions = Conditions(cores=2, loaded=True)
    assert wording.conditions(plain).startswith("Other work took the ranks' time when this was mea")


def test_figures_with_two_modes_are_said_to_have_them(plain: Results) -> None:
    near, far = (
        Mode(
            median=median,
            share=share,
            blocks=[],
            conditions={"cache line between the CPUs": f"{where} ns"},
        )
        for median, share, where in ((0.13, 1 / 3, "75 to 93"), (0.359, 2 / 3, "314 to 330"))
    )
    cell = next(cell for cell in plain.cells if cell.case.figure == "latency" and cell.case.x == 4)
    assert not any(headline.modes for headline in _told(plain).values())
    found = TwoModes(
        who=cell.who, place=cell.place, case=cell.case, unit="us", modes=[near, far], others=3
    )
    plain.modes = [found]
    assert _told(plain)[cell.place.path].modes == (
        "Launches of openmpi in latency at 4 B fall into two groups: 0.130 µs in 33.3 % of launches"
        " (cache line between the CPUs 75 to 93 ns); 0.359 µs in 66.7 % of launches (cache line"
        " between the CPUs 314 to 330 ns). So do those of 3 more figures."
    )
    near.conditions, far.conditions, found.others = {}, {}, 0
    assert wording.modes(found).endswith(
        " 66.7 % of launches, and nothing recorded tells them apart."
    )


def test_who_is_first_is_said_where_it_is_known(
    plain: Results, tell: Callable[[Results], None]
) -> None:
    told = _told(plain)
    assert told["host-host same-numa"].first == "First: openmpi (tied with mpich) in latency, bw."
    assert told["host-host tcp-loopback"].first == ""  # too few launches
    (headline,) = (each for each in plain.headlines if each.tied and each.case.metric == "bw")
    headline.standing, headline.unjudged = "undecided", headline.tied[:1]
    assert wording.best_words(headline) == "openmpi (not judged against mpich)"
    headline.unjudged_blocks = 6, 8
    assert wording.best_words(headline) == "openmpi (not judged against mpich: 6 of 8 blocks)"
    for comparison in plain.comparisons:
        comparison.verdict = "slower"
    tell(plain)
    assert _told(plain)["host-host same-numa"].first == "First: openmpi in latency, bw."


def test_headlines_without_ceilings_cells_or_launches(
    results: Results, tell: Callable[[Results], None]
) -> None:
    told = _told(results)
    assert told["host-host <script>alert(1)</script>"].sentences == []
    assert (
        told["host-memory node0"]
        .sentences[0]
        .startswith(
            "Ceiling only, no MPI: copy 16.9 GB/s (each copied byte counted once; 33.8 as STREAM"
            " counts) by "
        )
    )
    results.cells, results.ceilings = [], []
    tell(results)
    assert "Nothing was measured" in _told(results)["host-host same-numa"].sentences[0]


def test_headlines_leave_all_pairs_to_their_matrix(gpu: Results) -> None:
    told = _told(gpu)
    assert {"gpu-gpu nvlink", "host-gpu near"} <= told.keys()
    assert not any(" pair " in path for path in told)


def test_where_fewer_messages_were_in_flight(results: Results) -> None:
    for cell in results.cells:
        cell.window = 64
    assert wording.windows(results) == ""
    for cell in results.cells:
        if cell.case.metric == "bw" and cell.case.x == 1 << 20:
            cell.window = 16
        elif cell.case.metric == "bw" and cell.case.x == 1 << 24:
            cell.window, cell.case = 8, msgspec.structs.replace(cell.case, buffers="D,D")
    assert wording.windows(results) == (
        "64 messages are in flight. Large messages have fewer: in host memory 16 at 1 MiB;"
        " with a GPU's memory 8 at 16 MiB."
    )


def test_figures_of_another_tool_alone_are_no_study(plain: Results) -> None:
    name, host = plain.study, plain.machine.hostname
    assert wording.subject(plain) == f"study {name} on {host}"
    for library in plain.libraries[1:]:
        library.imported = True
    assert wording.subject(plain) == f"study {name} on {host}"
    for library in plain.libraries:
        library.imported, library.version_text = True, "OSU micro-benchmarks 7.4"
    assert wording.subject(plain) == f"import from OSU micro-benchmarks 7.4 ({name}) on {host}"


def test_how_a_study_ended(plain: Results) -> None:
    for cell in plain.cells:
        cell.launches = 6
    plain.ended = "the budget is spent"
    assert wording.ending(plain) == "all measured; the budget is spent"
    plain.ended = "the budget is spent; 8 of 9 figures are less precise than aimed at"
    assert wording.ending(plain) == (
        "8 of 9 figures are less precise than aimed at; the budget is spent"
    )
    plain.ended = "the budget is spent"
    plain.cells[0].median = None
    many = len(plain.cells)
    assert wording.ending(plain).startswith(f"1 of {many} figures could not be measured; ")
    plain.complete, plain.ended = False, ""
    assert wording.ending(plain) == "not complete"


def test_few_launches_are_told_before_how_a_study_ended(plain: Results) -> None:
    plain.ended, many = "all 3 blocks were run", len(plain.cells)
    for cell in plain.cells:
        cell.launches = 3
    words = (
        f"{many} of {many} figures are unconfirmed (fewer than 6 launches); all 3 blocks were run"
    )
    assert wording.ending(plain) == words
    for cell in plain.cells[1:]:
        cell.launches = 6
    assert wording.ending(plain).startswith(f"1 of {many} figures is unconfirmed")
    for library in plain.libraries:  # each figure is one of another tool
        library.imported = True
    assert wording.ending(plain) == f"{many} figures"


def test_the_widest_interval_is_that_which_misses_its_aim_most(
    plain: Results, tell: Callable[[Results], None]
) -> None:
    rate, time = (
        next(cell for cell in plain.cells if cell.better == better)
        for better in ("higher", "lower")
    )
    for cell in plain.cells:
        cell.ci95 = None
    for cell, off in ((rate, 0.025), (time, 0.026)):  # of 2 % and of 3 %
        assert cell.median
        cell.ci95 = (cell.median * (1 - off), cell.median * (1 + off))
    rate.flags = ["imprecise"]
    tell(plain)
    assert (
        f"1 interval is wider, the furthest from its aim ±2.50 % ({rate.who.label},"
        in wording.precision(plain)
    )


def test_how_precise_the_cells_are(results: Results, tell: Callable[[Results], None]) -> None:
    sure = sum(cell.ci95 is not None and cell.median != 0 for cell in results.cells)
    aim = "The aim is ±2 % for rates, ±3 % for times:"
    assert wording.precision(results) == (
        f"Half of the {sure} intervals (95 %) are ±2.50 % or narrower."
        f" {aim} all intervals reach it."
    )
    for cell in results.cells[:3]:
        cell.flags = ["imprecise"]
    wide = next(cell for cell in results.cells[:3] if cell.median)
    wide.ci95 = (wide.median * 0.5, wide.median * 1.5)
    tell(results)
    assert wording.precision(results).endswith(
        f" {aim} 3 intervals are wider, the furthest from its aim ±50.0 % ({wide.who.label},"
        f" {wide.place.path}, {case(wide.case)} at {size(wide.case.x)})."
    )
    for cell in results.cells:
        cell.ci95 = None
    tell(results)
    assert wording.precision(results) == ""


def test_methods_that_a_ceiling_does_without(gpu: Results) -> None:
    def skip(path: str, method: str, message: str) -> Skip:
        return Skip(
            who=CEILING,
            place=_place(gpu, path),
            benchmark="bw",
            method=method,
            sizes=[8],
            message=message,
        )

    near, pair = "host-gpu near", "gpu-gpu nvlink"
    gpu.skipped = [
        skip(pair, "sm", "no NVRTC"),
        skip(pair, "sm-pull", "no NVRTC"),
        skip(near, "sm", "no NVRTC"),
        skip(near, "cma", "not permitted"),
    ]
    assert wording.missing_methods(gpu) == [
        "Ceilings of gpu-gpu nvlink, host-gpu near were measured without sm, sm-pull: no NVRTC.",
        "Ceilings of host-gpu near were measured without cma: not permitted.",
    ]


def test_what_messages_do_is_told_with_the_figures_of_their_path(plain: Results) -> None:
    def finding(place: Place, of: FactOf) -> Finding:
        return Finding(
            kind="dma_buf",
            sure=True,
            who=plain.cells[0].who,
            place=place,
            case=plain.cells[0].case,
            evidence=[],
            facts=[Fact(of=of, name="close by rank 1", value="2 x 16.7 µs, 29.3 % of 114 µs")],
            remedy=Remedy(text="Turn it off."),
            check=[],
        )

    here = plain.cells[0].place
    messages = [finding(here, "part") for _ in range(wording.MOST_WHY + 1)]
    other = finding(here, "variable")
    plain.findings = [*messages, other]
    found = wording.headlines(plain, headlines.groups(plain))
    [told] = [each for each in found if each.place == here]
    assert len(told.why) == wording.MOST_WHY
    assert told.why[0].endswith("close by rank 1: 2 x 16.7 µs, 29.3 % of 114 µs. Turn it off.")
    assert other in wording.stands_out(plain)
    plain.findings = [messages[0], other]
    assert wording.stands_out(plain) == [other]
