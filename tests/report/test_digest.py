# SPDX-License-Identifier: Apache-2.0
"""The answer of a study: its sentences, its table, and what it says where figures are missing."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from answers import printed
from nearpeak.report.digest import digest, sentence, small_messages, unjudged
from nearpeak.report.lines import lines
from nearpeak.results.results import Results


def test_the_first_sentence_has_each_path_with_its_rating(plain: Results) -> None:
    text = sentence(plain, lines(plain))
    assert text.startswith(f"On {plain.machine.hostname}, ")
    assert " % of the ceiling on host-host same-numa and " in text
    assert text.endswith(" (good).")


def test_few_launches_are_unsure(plain: Results) -> None:
    shown = lines(plain)
    heads = [head for head in plain.headlines if head.fraction_ci95]
    for head in heads:
        head.fraction_ci95 = None
    text = sentence(plain, lines(plain))
    assert text.startswith("Unsure, as launches are few: on ")
    assert "(good)" not in text
    assert [line.label for line in lines(plain)] == [line.label for line in shown]


def test_small_messages_are_compared_with_none(plain: Results) -> None:
    first = next(line for line in lines(plain) if line.time and line.time.fraction)
    assert first.time is not None
    assert first.time.fraction is not None
    text = small_messages(lines(plain))
    assert text == "4 B messages take 1.18 times as long as without MPI."
    assert small_messages([first._replace(time=None)]) == ""


def test_failures_are_named_by_library(results: Results) -> None:
    failure = results.failures[0]
    other = msgspec.structs.replace(failure, who=failure.who, cause="SIGSEGV")
    results.failures = [other, other, results.failures[1]]
    text = " ".join(printed(digest(results)).split())
    assert "3 launches failed: " in text
    assert "(2, SIGSEGV) and ceiling (1, hung), see logs/17.txt." in text


def test_a_study_without_libraries_shows_its_peaks(
    plain: Results, tell: Callable[[Results], None]
) -> None:
    plain.cells, plain.comparisons, plain.curves, plain.findings = [], [], [], []
    tell(plain)
    text = printed(digest(plain, Path("DIR")))
    assert "no library was measured, only the ceilings" in text.replace("\n", " ")
    assert "host-host same-numa" in text
    plain.ceilings = []
    tell(plain)
    assert "nothing could be measured" in printed(digest(plain)).replace("\n", " ")


def test_sizes_that_differ_stand_in_the_cells(plain: Results) -> None:
    rates = [head for head in plain.headlines if head.case.figure == "bw"]
    assert "bw 64 MiB" in printed(digest(plain))
    rates[0].case = msgspec.structs.replace(rates[0].case, x=1 << 20)
    text = printed(digest(plain))
    assert "bw 64 MiB" not in text
    assert "1 MiB: " in text


def test_gaps_are_counted_in_good_english(plain: Results) -> None:
    for cell in plain.cells:
        cell.launches = 6
    plain.precision, plain.left_out = None, []
    plain.cells[0].launches = 2
    assert unjudged(plain).endswith("figures, 1 has too few launches")
