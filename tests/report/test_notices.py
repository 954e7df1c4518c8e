# SPDX-License-Identifier: Apache-2.0
"""What a reader is told before the figures."""

from pathlib import Path

import msgspec

from nearpeak.document.model import Notice
from nearpeak.report.notices import notices
from nearpeak.results.results import Results, Skip
from nearpeak.terms.identity import CEILING
from nearpeak.terms.left_out import LeftOut


def _one(results: Results, words: str) -> Notice:
    (found,) = [notice for notice in notices(results) if words in notice.text]
    return found


def test_the_most_serious_stands_first(results: Results) -> None:
    tones = [notice.tone for notice in notices(results)]
    assert tones == sorted(tones, key=["bad", "note", ""].index)
    assert tones.count("bad") == 2


def test_a_steady_machine_is_no_news_before_a_missing_method(plain: Results) -> None:
    plain.skipped = [
        Skip(
            who=CEILING,
            place=plain.cells[0].place,
            benchmark="bw",
            method="cma",
            sizes=[8],
            message="not permitted",
        )
    ]
    first, *others = notices(plain)
    assert (first.tone, first.text.endswith("without cma: not permitted.")) == ("note", True)
    assert {other.tone for other in others} == {""}


def test_failures_are_told_with_their_logs(results: Results) -> None:
    found = _one(results, "2 launches failed.")
    assert found.details == "failures"
    assert found.items[0].startswith("launch 17, <script>")
    assert found.items[0].endswith("(logs/17.txt)")
    assert found.items[1] == "launch 18, ceiling host-memory node0: hung: ended after 60 s"


def test_defects_are_the_ceilings(results: Results) -> None:
    found = _one(results, "1 cell is above the ceiling")
    assert "a defect of the ceiling, not a merit of the library" in found.text
    assert found.items == (
        "openmpi, host-host same-numa, bw at 4 KiB: 120 % of the ceiling by ring copy"
        " (95 % interval 116 to 122, 6 blocks)",
    )


def test_what_is_above_a_bound_is_a_defect_of_the_bound(collective: Results) -> None:
    cell = next(cell for cell in collective.cells if cell.case.benchmark == "allgather")
    cell.fraction, cell.fraction_ci95 = 1.5, (1.4, 1.6)
    found = _one(collective, "1 cell is above the bound")
    assert "a defect of the bound, not a merit of the library" in found.text
    assert found.items == (
        "openmpi, host-host same-numa, allgather at 8 B: 150 % of the bound by latency 8 B,"
        " ring copy (95 % interval 140 to 160, 6 blocks)",
    )


def test_a_study_that_is_not_complete_says_how_to_go_on(results: Results) -> None:
    assert _one(results, "not complete").command == "nearpeak study --resume -o DIR"
    [notice] = [notice for notice in notices(results, Path("a b")) if "not complete" in notice.text]
    assert notice.command == "nearpeak study --resume -o 'a b'"


def test_what_a_library_lacks_is_told(results: Results) -> None:
    results.libraries[0].lacks = "a table"
    found = _one(results, "lacks")
    name = results.libraries[0].name
    assert (found.tone, found.text) == (
        "note",
        f"{name} is not as its makers ship it: it lacks a table.",
    )


def test_modules_that_do_not_load_are_named(results: Results) -> None:
    results.libraries[0].broken = ["liba.so.0 does not load"]
    found = _one(results, "not whole")
    name = results.libraries[0].name
    assert (found.tone, found.text) == (
        "bad",
        f"{name} is not whole: 1 module of it does not load.",
    )
    assert found.items == ("liba.so.0 does not load",)


def test_few_launches_are_counted(results: Results) -> None:
    assert _one(results, "fewer than 6 launches").text.startswith("192 of ")
    measured = next(cell for cell in results.cells if cell.ci95 is None and cell.median is not None)
    results.cells = [measured]
    assert _one(results, "fewer than 6 launches").text == (
        "1 of 1 cell has fewer than 6 launches: it has a range instead of a 95 % interval."
    )
    measured.launches = 1
    assert "it has a range, or one value, instead" in _one(results, "fewer than 6 launches").text


def test_fractions_of_few_blocks_are_counted(plain: Results) -> None:
    words = "though the figure has an interval"
    assert not [notice for notice in notices(plain) if words in notice.text]
    cell = next(cell for cell in plain.cells if cell.fraction_ci95)
    cell.fraction_ci95, cell.fraction_blocks = None, 5
    found = _one(plain, words).text
    assert found.startswith("1 of ")
    assert found.endswith(
        "fewer than 6 blocks have the launch and its ceiling, with the CPUs as far apart."
    )


def test_drift_is_a_warning_only_where_something_changed(results: Results, plain: Results) -> None:
    changed = _one(results, "drifted")
    assert "Compare percentages of the ceiling" in changed.text
    assert changed.tone == "note"
    assert "blocks 4 to 6 carried 28.0 % less than the others" in changed.items[0]
    steady = _one(plain, "Drift: 1 path: no change over time was seen.")
    assert (steady.tone, steady.items) == ("", ())


def test_what_libraries_cannot_do_is_told(gpu: Results) -> None:
    found = _one(gpu, "GPU buffers")
    assert found.items == ("mpich: not GPU-aware for D,D send, isend: ended by SIGSEGV",)
    assert found.details == "aware"


def test_sessions_on_something_else_are_a_warning(results: Results) -> None:
    assert _one(results, "Measured in 2 sessions").tone == "note"
    for session in results.sessions:
        session.forced = False
    assert _one(results, "Measured in 2 sessions").tone == ""


def test_a_sound_study_has_no_warning(plain: Results) -> None:
    assert {notice.tone for notice in notices(plain)} == {""}


def test_a_ceiling_above_what_the_memory_copies_is_told(plain: Results) -> None:
    assert not [notice for notice in notices(plain) if "the memory copies" in notice.text]
    point = next(point for point in plain.ceilings if point.unit == "GB/s")
    point.above_memory = 13.84
    found = _one(plain, "the memory copies")
    assert (found.tone, len(found.items)) == ("bad", 1)
    assert found.text.startswith("1 ceiling of messages that lie in memory is above the 13.8 GB/s")
    assert found.items[0].startswith(f"{point.place.path}, {point.case.figure}")
    assert found.items[0].endswith(f"{len(point.blocks)} blocks)")


def test_cells_above_their_bound_are_told_apart(plain: Results) -> None:
    first, second = plain.cells[:2]
    for cell, win in ((first, "allocated"), (second, "created")):
        cell.case = msgspec.structs.replace(first.case, axes={**first.case.axes, "win": win})
        cell.fraction, cell.fraction_ci95 = 1.5, (1.4, 1.6)
    items = _one(plain, "is a defect").items
    assert [" (win=allocated): " in item for item in items] == [True, False]
    assert [" (win=created): " in item for item in items] == [False, True]
    second.case = first.case
    assert not any("win=" in item for item in _one(plain, "is a defect").items)


def test_a_figure_without_a_percentage_says_why_and_what_to_do(collective: Results) -> None:
    cell = next(cell for cell in collective.cells if cell.case.benchmark == "allgather")
    cell.ceiling = cell.fraction = cell.fraction_ci95 = None
    cell.no_fraction = "other distance"
    collective.complete = True
    found = _one(collective, "1 figure has no percentage")
    assert found.text.endswith(
        "as no block has both the figure and its bound. More blocks may have both:"
    )
    assert found.items == (
        "openmpi, host-host same-numa, allgather at 8 B: the CPUs were at another distance in its"
        " blocks than where its ceiling was measured",
    )
    blocks = max(block.number for each in collective.cells for block in each.blocks) + 1
    assert found.command == f"nearpeak study --resume -o DIR --launches {blocks + 6}"
    collective.left_out = [
        LeftOut(
            kind="path", name=cell.place.path, why="", paths=[cell.place.path], budget_seconds=9
        )
    ]
    found = _one(collective, "1 figure has no percentage")
    assert found.text.endswith("The budget left them out since: study them alone.")
    assert found.command == ""
    collective.complete = False
    assert _one(collective, "1 figure has no").command == "nearpeak study --resume -o DIR"
