# SPDX-License-Identifier: Apache-2.0
"""The summary in the terminal, as a pipe and a narrow window get it."""

import io
import re
from pathlib import Path

import msgspec
import pytest

from nearpeak.console import PlainConsole
from nearpeak.report import beside
from nearpeak.report.terminal import print_details, print_study
from nearpeak.results import failures
from nearpeak.results.build import from_json
from nearpeak.results.results import Conditions, Finding, Results, Skip
from nearpeak.terms.identity import Who

EXAMPLES = Path(__file__).parents[2] / "examples"


def _printed(results: Results, width: int = 80, *machines: str) -> str:
    stream = io.StringIO()
    console = PlainConsole(file=stream, width=width)
    print_details(results, console, beside.choose(machines))
    return stream.getvalue()


@pytest.mark.parametrize("width", [40, 80])
def test_no_figure_is_cut_off(plain: Results, width: int) -> None:
    text = _printed(plain, width)
    assert max(len(line) for line in text.splitlines()) <= 80
    times, rates, *_ = (line.split() for line in text.splitlines() if line.startswith("openmpi"))
    assert times == ["openmpi", "0.236", "85.0"]
    assert rates == ["openmpi", "11.9", "85.0", "70.4"]
    assert "latency, 4 B" in text
    assert "bw, 64 MiB" in text
    assert "[0.229, 0.240]" in text
    assert "…" not in text
    assert "\x1b" not in text


def test_the_answer_in_a_file_has_lines_of_a_hundred_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    for file in EXAMPLES.glob("*/results.json"):
        print_study(from_json(file.read_bytes()), None)
    lines = capsys.readouterr().out.splitlines()
    long = [line for line in lines if len(line) > 100]
    assert [line for line in long if not line.startswith("   nearpeak ")] == []
    monkeypatch.setenv("COLUMNS", "120")
    print_study(from_json((EXAMPLES / "h200" / "results.json").read_bytes()), None)
    assert 100 < max(map(len, capsys.readouterr().out.splitlines())) <= 120


def test_long_ranges_stand_below_each_other(plain: Results) -> None:
    for cell in plain.cells:
        cell.ci95, cell.range = None, (0.01234, 0.05678)
    lines = _printed(plain).splitlines()
    assert max(len(line) for line in lines) <= 80
    assert not any("latency" in line and "bw" in line and "64 MiB" in line for line in lines)
    assert sum("range 0.0123 to 0.0568" in line for line in lines) > 2 * 2 * 3 - 1
    assert "…" not in "".join(lines)


def test_it_says_what_the_fraction_is_of_and_where_the_report_is(plain: Results) -> None:
    text = " ".join(_printed(plain).split())
    assert "Ceiling: what the path carries without MPI at that size" in text
    assert "Sizes that the host's caches hold count only where no larger one was measured" in text
    assert "median of the ratios within single blocks" in text
    assert "host-memory node0: Ceiling only" in text
    assert re.search(r"\d+ of \d+ cells have fewer than 6 launches: they have a range", text)
    assert re.match(
        r"Study 2026-01-02T03-04-05 on node<1>&co: (\d+) of \d+ figures are unconfirmed"
        r" \(fewer than 6 launches\); every cell is precise host-host same-numa",
        text,
    )
    assert "intervals (95 %) are ±2.50 % or narrower. The aim is" in text
    assert "Drift: 1 path: no change over time was seen." in text
    assert "Check host-host same-numa: without MPI it carries 16.9 GB/s" in text
    assert "session" not in text  # there is but one


def test_all_that_went_wrong_is_named(results: Results) -> None:
    text = " ".join(_printed(results).split())
    assert "not complete" in text
    assert "2 launches failed" in text
    assert "logs/17.txt" in text
    assert "1 cell is above the ceiling" in text
    assert "bw at 4 KiB: 120 % of the ceiling by ring copy" in text
    assert "blocks 4 to 6 carried 28.0 % less than the others" in text
    assert "Changed in session 2 (forced): driver nvidia: 550.1 -> 560.2." in text


def test_the_most_serious_is_read_last(results: Results) -> None:
    lines = _printed(results).splitlines()
    failed = next(number for number, line in enumerate(lines) if line == "2 launches failed.")
    assert lines[failed + 1].startswith("  launch 17")
    drifted = [line.startswith("The machine drifted during the study on host-") for line in lines]
    assert failed > drifted.index(True)


def test_a_loaded_machine_is_read_first(plain: Results) -> None:
    plain.conditions = Conditions(cores=2, load=15.7, ranks=2, busy_cores=2.0, loaded=True)
    text = " ".join(_printed(plain).split())
    assert text.index("Other work kept 2 of 2 cores busy") < text.index("host-host same-numa")


@pytest.mark.parametrize("imported", [True, False])
def test_what_was_not_imported_has_no_row(plain: Results, imported: bool) -> None:
    [mpich] = [library for library in plain.libraries if library.name == "mpich"]
    mpich.imported = imported
    plain.cells = [
        cell for cell in plain.cells if (cell.who, cell.case.benchmark) != (Who("mpich"), "bw")
    ]
    rows = [line.split() for line in _printed(plain, 40).splitlines() if line.startswith("mpich")]
    assert (["mpich", "–"] in rows) is not imported
    assert any(row[1:] not in ([], ["–"]) for row in rows)


def test_where_a_link_is_stays_together(plain: Results) -> None:
    for width in (50, 60, 80):
        lines = _printed(plain, width).splitlines()
        assert sum("inside NUMA node 0" in line for line in lines) == 3


def test_the_links_of_the_machine_come_first(plain: Results) -> None:
    lines = [" ".join(line.split()) for line in _printed(plain).splitlines()]
    assert (
        lines[3]
        == "host-host same-numa: inside NUMA node 0 64 MiB openmpi* 11.9 of 14.0 GB/s 85.0 %"
    )
    assert lines[6].startswith("host-memory node0: inside NUMA node 0 64 MiB ceiling")
    assert lines[7].startswith("Rate in one direction at this size: the best library")


def test_launches_that_failed_alike_are_told_once(results: Results) -> None:
    first = results.failures[0]
    results.failures += [
        msgspec.structs.replace(first, launch=90 + number, log=f"logs/{90 + number}.txt")
        for number in range(20)
    ]
    results.failure_kinds = failures.kinds(results.failures)
    text = " ".join(_printed(results).split())
    assert "; 22 launches failed" in text
    assert f"launch {first.launch} and 20 more alike, " in text
    assert f"{first.log}" in text
    assert "logs/90.txt" not in text


def test_names_are_printed_as_they_are(plain: Results) -> None:
    for cell in plain.cells:
        if cell.who == Who("mpich"):
            cell.who = Who("[red]x[/red]\x1b[31m" + "y" * 100)
    plain.libraries = []
    text = _printed(plain)
    assert "[red]x[/red]" in text
    assert "\x1b" not in text
    assert text.replace("\n", "").replace(" ", "").count("y") >= 200  # folded, not cut


def test_a_defect_at_the_peak_is_marked_in_the_table(plain: Results) -> None:
    for cell in plain.cells:
        if cell.who == Who("openmpi") and cell.case.metric == "bw":
            cell.fraction, cell.fraction_ci95 = 1.5, (1.4, 1.6)
    assert "150!" in _printed(plain)


def test_no_cells_at_all(plain: Results) -> None:
    plain.cells, plain.ceilings, plain.fits, plain.drift = [], [], [], []
    plain.comparisons, plain.curves = [], []
    plain.skipped = [
        Skip(
            who=Who("openmpi"),
            place=plain.paths[0].place,
            benchmark="bw",
            method="",
            sizes=[1],
            message="no memory",
        )
    ]
    assert _printed(plain)


def test_gpu_studies_say_what_stands_out(gpu: Results, finding: Finding) -> None:
    gpu.findings = [finding]
    text = _printed(gpu)
    assert max(len(line) for line in text.splitlines()) <= 80
    words = " ".join(text.split())
    assert "mpich: not GPU-aware for D,D send, isend: ended by SIGSEGV" in words
    assert "(pinned)" in words
    assert ", 6 blocks). Each such operation loses 12.3 µs." in words
    assert "Check host-gpu near: without MPI it carries" in words
    assert "at 128 MiB), 43.5 % of" in words
    assert "slowest is 0-2" in words
    assert "gpu-gpu pair 0-1" not in words  # a line for all pairs, not a table for each


def test_published_machines_stand_beside(gpu: Results) -> None:
    text = _printed(gpu, 80, "lassen-2019", "summit-2019")
    assert max(len(line) for line in text.splitlines()) <= 80
    words = " ".join(text.split())
    assert "Beside lassen-2019" in words
    assert "Beside summit-2019" in words
    assert "No such path in this study: X-Bus; InfiniBand EDR, 2 adapters." in words
    row = next(line for line in text.splitlines() if line.startswith("gpu-gpu nvlink   "))
    assert row.split()[2:] == ["478", "387", "81.0", "75.0", "70.6", "94.1"]
    assert "lassen" not in _printed(gpu)
