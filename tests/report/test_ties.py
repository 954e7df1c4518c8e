# Every figure that this file sets is written by hand.
# SPDX-License-Identifier: Apache-2.0
"""A loss that all libraries share is not that of the best one alone."""

from pathlib import Path

import msgspec

from nearpeak.report.cards import cards
from nearpeak.report.conclusion import sentence
from nearpeak.report.lines import lines, poor
from nearpeak.results.build import from_json
from nearpeak.results.results import Cell, Headline, Results

EXAMPLES = Path(__file__).parents[2] / "examples"


def shipped() -> Results:
    return from_json((EXAMPLES / "h200x2-shipped" / "results.json").read_bytes())


def worst(results: Results) -> tuple[Headline, list[Cell]]:
    head = poor(lines(results))[0]
    subject = (head.place, head.case)
    return head, [cell for cell in results.cells if (cell.place, cell.case) == subject]


def last(results: Results) -> str:
    return cards(results, Path("DIR"), poor(lines(results))).findings[-1].text


def test_libraries_that_are_alike_are_named_together() -> None:
    results = shipped()
    assert sentence(results, lines(results)).endswith(
        "; worst: host-host same-numa, 15.0 to 15.5 % of the ceiling by all 3 libraries."
    )
    assert last(results) == (
        "all 3 libraries, host-host same-numa: bw 16 MiB: 4.29 to 4.45 GB/s,"
        " up to 15.5 % of the ceiling"
    )


def test_a_tie_with_some_libraries_is_marked() -> None:
    results = shipped()
    head, _ = worst(results)
    del head.tied[1:]
    assert "15.5 % of the ceiling by intel*." in sentence(results, lines(results))
    assert "bw 16 MiB: 4.45 GB/s by intel* at best, 15.5 % of the ceiling" in last(results)
    head.tied = []
    assert "15.5 % of the ceiling by intel." in sentence(results, lines(results))
    assert "bw 16 MiB: 4.45 GB/s by intel at best, 15.5 % of the ceiling" in last(results)


def test_what_few_launches_do_not_tell_apart_is_not_alike() -> None:
    results = shipped()
    _, cells = worst(results)
    other = next(cell for cell in cells if cell.who.label == "openmpi-cuda")
    other.median = 1.0
    assert "by intel* at best" in last(results)
    other.median = None
    assert "by intel* at best" in last(results)


def test_of_one_library_there_is_no_best() -> None:
    results = shipped()
    head, cells = worst(results)
    head.tied = []
    results.cells = [cell for cell in results.cells if cell not in cells or cell.who == head.best]
    assert last(results).startswith("intel, host-host same-numa: bw 16 MiB: 4.45 GB/s, 15.5 %")


def test_two_libraries_are_both() -> None:
    results = shipped()
    head, cells = worst(results)
    gone = next(cell for cell in cells if cell.who.label == "mpich+layer")
    results.cells.remove(gone)
    head.tied.remove(gone.who)
    assert last(results).startswith("both libraries, host-host same-numa: bw 16 MiB: 4.29 to 4.45")


def test_the_best_library_of_all_paths_is_not_named_where_others_tie() -> None:
    results = shipped()
    head, _ = worst(results)
    line = next(line for line in lines(results) if line.rate is head)
    assert ", the best MPI library reaches " in sentence(results, [line])
    line = line._replace(rate=msgspec.structs.replace(head, tied=[]))
    assert ", intel reaches " in sentence(results, [line])
