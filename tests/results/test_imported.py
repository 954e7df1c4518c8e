# SPDX-License-Identifier: Apache-2.0
"""What other tools measured, beside a study made by hand: its reference, and that it
changes nothing of what the study says itself."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nearpeak.findings.build import results_of
from nearpeak.observations.beside import Study, put_beside
from nearpeak.observations.load import load
from nearpeak.observations.merged import File, merge
from nearpeak.results import order
from nearpeak.results.results import Imported, Results
from nearpeak.terms.identity import Who

LATENCY = "# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us)\n"
RATES = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n"
SIZES = (8, 1024, 4096)
Beside = Callable[..., Results]


@pytest.fixture
def study(make_study: Any) -> Study:
    made = make_study("alpha", "beta")
    for block in range(7):
        made.ceiling(block, {("latency", "flags", 8): 1.0, ("bw", "ring", 1024): 8.0})
        for name, factor in (("alpha", 1.0), ("beta", 1.25)):
            times, rates = dict.fromkeys(SIZES, 2.0 * factor), dict.fromkeys(SIZES, 5.0 / factor)
            made.launch(block, name, "latency", times)
            made.launch(block, name, "bw", rates)
    folder = made.write()
    return Study(folder, load(folder))


@pytest.fixture
def beside(study: Study, tmp_path: Path) -> Beside:
    def results(*texts: str, name: str = "omb") -> Results:
        files = []
        for number, text in enumerate(texts):
            files.append(File(name, tmp_path / f"{number}.txt"))
            files[-1].path.write_text(text)
        return results_of(put_beside(study, files, {}, None))

    return results


def figures(results: Results) -> dict[str, Imported]:
    return {found.case.benchmark: found for found in results.imported}


def test_a_time_stands_beside_the_best_library_and_the_ceiling(beside: Beside) -> None:
    found = figures(beside(f"{LATENCY}1     1.90\n8     2.50\n1024     9.00\n"))["latency"]
    assert (found.who, found.case.x, found.value) == (Who("omb"), 8, 2.5)
    assert (found.library, found.library_value) == (Who("alpha"), 2.0)
    assert found.ceiling is not None
    assert (found.ceiling.value, found.ceiling.x) == (1.0, 8)
    assert found.fraction == pytest.approx(0.4)
    assert [(each.name, each.own, each.study) for each in found.differs] == [
        ("figure", "mean", "median")
    ]


def test_a_ceiling_of_other_buffers_has_no_fraction(beside: Beside) -> None:
    """OMB's window has one buffer, this study's one for each message."""
    found = figures(beside(f"{RATES}1024     7000.00\n"))["bw"]
    assert (found.value, found.library_value) == (7.0, 5.0)
    assert found.ceiling is not None
    assert (found.ceiling.value, found.fraction) == (8.0, None)
    assert [(each.name, each.own, each.study) for each in found.differs] == [
        ("reuse", "single", "fixed"),
        ("figure", "mean", "median"),
    ]


@pytest.mark.parametrize(("far_ns", "fraction"), [(95.0, 0.4), (340.0, None)])
def test_a_ceiling_of_several_distances_has_no_fraction(
    beside: Beside, study: Study, far_ns: float, fraction: float | None
) -> None:
    """The median over them is no ceiling of launches of which nobody knows how far apart they were:
    far ones would be held against the near ones' ceiling."""
    for number, each in enumerate(study.observations.observed):
        ns = far_ns if each.launch.block.number < 2 else 90.0
        study.observations.observed[number] = replace(each, cache_line_ns=ns)
    results = beside(f"{LATENCY}8     2.50\n")
    found = figures(results)["latency"]
    [cell] = [cell for cell in results.cells if cell.who == Who("omb")]
    assert found.ceiling is not None
    assert found.fraction == cell.fraction == fraction
    assert found.ceiling_ns == ([(90.0, 95.0)] if fraction else [(90.0, 90.0), (340.0, 340.0)])
    assert cell.status == "ok"


def test_a_rate_at_a_size_without_a_ceiling_stands_beside_the_best_at_any(beside: Beside) -> None:
    found = figures(beside(f"{RATES}1024     7000.00\n4096     7500.00\n"))["bw"]
    assert (found.case.x, found.library) == (4096, Who("alpha"))
    assert found.ceiling is not None
    assert (found.ceiling.value, found.ceiling.x) == (8.0, 1024)


def test_a_size_that_no_library_has_is_told_where_there_is_no_other(beside: Beside) -> None:
    found = figures(beside(f"{LATENCY}2     3.00\n"))["latency"]
    assert (found.case.x, found.library, found.ceiling, found.fraction) == (2, None, None, None)


def test_one_run_has_neither_interval_nor_a_sure_fraction(beside: Beside) -> None:
    results = beside(f"{LATENCY}8     2.50\n")
    [cell] = [cell for cell in results.cells if cell.who == Who("omb")]
    assert (cell.ci95, cell.fraction_ci95, cell.fraction_range) == (None, None, None)
    assert (cell.fraction, cell.fraction_blocks, cell.status) == (pytest.approx(0.4), 0, "ok")
    assert {"few launches", "fewer blocks", "mean"} <= set(cell.flags)


def test_six_runs_have_an_interval_but_their_fraction_none(beside: Beside) -> None:
    results = beside(*(f"{LATENCY}8     2.5{number}\n" for number in range(6)))
    [cell] = [cell for cell in results.cells if cell.who == Who("omb")]
    assert cell.ci95 is not None
    assert cell.fraction is not None
    assert cell.fraction_ci95 is None


def test_better_than_the_ceiling_is_no_defect_of_it(beside: Beside) -> None:
    results = beside(f"{LATENCY}8     0.50\n")
    [cell] = [cell for cell in results.cells if cell.who == Who("omb")]
    assert (cell.fraction, cell.status) == (2.0, "ok")


def test_nothing_that_the_study_says_itself_changes(beside: Beside, study: Study) -> None:
    alone = results_of(study.observations)
    times = (f"{LATENCY}8     0.{number}0\n4096     1.00\n" for number in range(1, 8))
    both = beside(*times, f"{RATES}1024     9000.00\n")
    assert order.default_curves(both) == order.default_curves(alone)
    assert order.headlines(both) == order.headlines(alone)
    assert both.headlines == alone.headlines
    assert both.comparisons == alone.comparisons
    assert both.curves == alone.curves
    assert both.judging == alone.judging
    assert both.findings == alone.findings
    assert both.advice == alone.advice
    assert both.furthest == alone.furthest
    assert both.ceilings == alone.ceilings
    assert both.checklist == alone.checklist
    assert [cell for cell in both.cells if cell.who != Who("omb")] == alone.cells
    assert [s.verdicts for s in both.sessions] == [True] + [False] * 8


def test_files_alone_are_beside_nothing(tmp_path: Path) -> None:
    file = tmp_path / "lat.txt"
    file.write_text(f"{LATENCY}8     0.50\n")
    results = results_of(merge([File("omb", file)]))
    assert results.imported == []
    assert [told.best for told in results.headlines] == [Who("omb")]
