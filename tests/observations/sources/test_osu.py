# SPDX-License-Identifier: Apache-2.0
"""Output of OMB 7.4 with MPICH 5.0.2, two ranks of one machine that had other work."""

from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.findings.build import build_results
from nearpeak.observations.load import load
from nearpeak.observations.sources.osu import recognises
from nearpeak.report.page import write_report

FILES = Path(__file__).with_name("osu")


def test_what_is_printed_becomes_results_and_a_page(tmp_path: Path) -> None:
    results = build_results(FILES / "latency.txt")
    figures = {cell.case.x: cell.median for cell in results.timed}
    assert list(figures) == [1 << power for power in range(21)]
    assert (figures[1], figures[8]) == (17.66, 147.65)
    assert {cell.unit for cell in results.timed} == {"us"}
    assert [one.version for one in results.libraries] == ["7.4"]
    assert write_report(results, tmp_path, []).is_file()


def test_rates_are_in_our_unit() -> None:
    found = load(FILES / "bw.txt")
    assert {one.unit for one in found.observed} == {"GB/s"}
    assert found.observed[0].summary.median == pytest.approx(0.31 * 1e-3)


def test_a_program_that_is_not_known_is_named(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    file.write_text("# OSU MPI Allreduce Latency Test v7.4\n4 1.0\n")
    assert recognises(file)
    with pytest.raises(UserError, match="of no OSU program that is read here: Latency, "):
        load(file)


def test_a_title_alone_holds_no_figures(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    file.write_text("# OSU MPI Latency Test v7.4\n")
    with pytest.raises(UserError, match="holds no figures"):
        load(file)


def test_another_file_holds_no_observations(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    file.write_bytes(b"\xff\x00")
    with pytest.raises(UserError, match="holds no observations: give a folder of "):
        load(file)
