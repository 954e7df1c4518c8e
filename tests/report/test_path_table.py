# SPDX-License-Identifier: Apache-2.0
"""The table of an answer: units and sizes stand in the heading if they are the same."""

import msgspec

from nearpeak.report.lines import lines
from nearpeak.report.path_table import MOST_ROWS, path_table
from nearpeak.results.results import Results
from nearpeak.terms.identity import Who


def test_what_figures_have_in_common_stands_in_the_heading(plain: Results) -> None:
    table = path_table(lines(plain))
    time, rate, *_ = table.columns
    assert (time.title, time.unit) == ("latency 4 B", "µs (% of ceiling)")
    assert (rate.title, rate.unit) == ("bw 64 MiB", "GB/s")
    row = table.groups[0].rows[0]
    assert row.values["time"].text.endswith(" (85.0) openmpi*")
    assert row.values["bar"].text == "good"


def test_sizes_that_differ_stand_in_the_fields(plain: Results) -> None:
    first, *_ = [head for head in plain.headlines if head.case.figure == "bw"]
    first.case = msgspec.structs.replace(first.case, x=1 << 20)
    table = path_table(lines(plain))
    assert table.columns[1].title == "bw"
    assert table.groups[0].rows[0].values["rate"].text.startswith("1 MiB: ")


def test_a_path_without_an_interval_is_unconfirmed(plain: Results) -> None:
    for head in plain.headlines:
        head.fraction_ci95 = None
    assert {row.values["bar"].text for row in path_table(lines(plain)).groups[0].rows} == {
        "unconfirmed"
    }


def test_of_many_paths_the_furthest_are_shown(plain: Results) -> None:
    many = lines(plain) * MOST_ROWS
    table = path_table(many)
    assert len(table.groups[0].rows) == MOST_ROWS
    assert table.caption.endswith(f" {len(many) - MOST_ROWS} more paths: see the page.")


def test_the_caption_has_the_size_that_is_judged(plain: Results) -> None:
    assert path_table(lines(plain)).caption.startswith(
        "Ceiling: best time or rate without MPI. bw 64 MiB: good from 80 %, fair from 50."
    )
    times = [line._replace(rate=None) for line in lines(plain)]
    assert path_table(times).caption.startswith(
        "Ceiling: best time or rate without MPI. latency 4 B: good from 80 %, fair from 50."
    )


def test_a_best_library_that_is_not_proven_is_marked(plain: Results) -> None:
    shown = [line for line in lines(plain) if line.rate and line.rate.best]
    for line in shown:
        for head in filter(None, (line.time, line.rate)):
            head.tied = []
    first = shown[0].rate
    assert first is not None
    assert "tie" not in path_table(shown).caption
    first.tied, first.standing = [Who("intel")], "tie"
    table = path_table(shown)
    assert table.caption.endswith(" *: others may tie.")
    texts = [row.values["rate"].text for row in table.groups[0].rows]
    assert [text.endswith("*") for text in texts] == [True] + [False] * (len(texts) - 1)
