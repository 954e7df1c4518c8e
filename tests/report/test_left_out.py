# SPDX-License-Identifier: Apache-2.0
"""What a study left out for want of time stands in the terminal and on the page."""

import io

from msgspec import structs

from nearpeak.console import PlainConsole
from nearpeak.report import left_out
from nearpeak.report.page import render
from nearpeak.report.terminal import print_details
from nearpeak.results.results import Results
from nearpeak.terms.left_out import LeftOut

FAMILY = LeftOut(
    kind="family",
    name="collective",
    why="without a measured ceiling",
    benchmarks=["allreduce", "bcast"],
    paths=["host x4"],
    budget_seconds=850.0,
)
MEMORY = LeftOut(
    kind="memory",
    name="from other NUMA nodes",
    why="slow",
    paths=["a", "b"],
    budget_seconds=4000.0,
    after_blocks=1,
)


def printed(results: Results) -> str:
    console = PlainConsole(file=io.StringIO(), width=120)
    print_details(results, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_nothing_is_said_where_nothing_was_left_out(plain: Results) -> None:
    assert not left_out.table(plain).groups
    assert "Left out" not in printed(plain) + render(plain)


def test_each_has_its_reason_and_the_budget_that_keeps_it(plain: Results) -> None:
    plain.left_out = [FAMILY, MEMORY]
    for text in (printed(plain), render(plain)):
        assert "Left out, so that the budget holds enough launches of all else." in text
        assert "collective: allreduce, bcast, and with that host x4" in text
        assert "memory from other NUMA nodes (2 paths)" in text
        assert "without a measured ceiling" in text
        assert "14m10s" in text
        assert "1h06m" in text
        assert "before the start" in text
        assert "after 1 block" in text


def test_a_sentence_names_what_more_readers_look_for_first(plain: Results) -> None:
    path = structs.replace(FAMILY, kind="path", name="host x4")
    bibw = structs.replace(FAMILY, kind="benchmark", name="bibw", benchmarks=["bibw"], paths=[])
    datatypes = structs.replace(FAMILY, name="datatype")
    plain.left_out = []
    assert left_out.texts(plain) == []
    plain.left_out = [MEMORY, path, datatypes, FAMILY, bibw]
    first, *_, last = left_out.texts(plain)
    assert first == (
        "left out for lack of time: bibw, collective operations, datatypes with gaps, host x4 and"
        " 1 more"
    )
    assert "left out: bibw and 4 more" in left_out.texts(plain)
    assert last == "5 left out"
    plain.left_out = [MEMORY]
    assert left_out.texts(plain)[0] == (
        "left out for lack of time: memory from other NUMA nodes (2 paths)"
    )


def test_what_was_measured_since_says_how_much_all_of_it_is_at_least(plain: Results) -> None:
    guessed = structs.replace(FAMILY, whole_seconds=900.0)
    plain.left_out = [guessed]
    assert " All of it: --budget 15m00s." in left_out.table(plain).caption
    plain.left_out = [guessed, MEMORY]
    assert " All of it: more than --budget 1h06m" in left_out.table(plain).caption
