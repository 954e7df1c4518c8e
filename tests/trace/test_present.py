# SPDX-License-Identifier: Apache-2.0
"""A traced application, as it is shown."""

from pathlib import Path

import msgspec
import pytest
from made_trace import entry, ran, results, trace

from answers import check_short, printed
from browser import Browser
from nearpeak.document.page import render, write_page
from nearpeak.document.terminal import print_document
from nearpeak.trace.ceilings import ceilings, study_ceilings, unblocked
from nearpeak.trace.present import MANY, MOST, present
from nearpeak.trace.trace import Trace

RECORDED = Path(__file__).parents[2] / "examples" / "lammps" / "trace.json"


def print_trace(found: Trace) -> None:
    print_document(present(found), verbose=True)


def page_of(found: Trace) -> str:
    return render(present(found))


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    found = trace(entry(), entry("MPI_Barrier", None, peer="none", bytes=0))
    found.ceilings = ceilings(found, study_ceilings(results(("near", 8, 1.0))).times)
    print_trace(found)
    lines = capsys.readouterr().out.splitlines()
    send = next(line for line in lines if line.startswith("MPI_Send"))
    words = ["MPI_Send", "8", "B,", "same", "host", "10", "100", "0.000100", "50.0", "10.0"]
    assert send.split() == [*words, "10.0", "20.0", "0.00100", "1.00", "9.00e-05"]
    barrier = next(line for line in lines if line.startswith("MPI_Barrier"))
    assert barrier.split()[1] == "10"
    saved = "took no longer than that, at most 9.00e-05 s would be saved."
    assert any(saved in line for line in lines)


def test_what_is_told_of_messages_that_nobody_waits_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = trace(entry("MPI_Isend"), entry("MPI_Isend", size=64))
    points = study_ceilings(results(("near", 8, 0.004), benchmark="rate")).rates
    found.unblocked = unblocked(found, points)
    print_trace(found)
    told = (
        "20 messages by calls that do not wait: 0.000200 s in these calls and in waiting for them."
        " Without MPI the path carries 10 of them in 2.50e-05 s, so at most 0.000175 s would be"
        " saved."
    )
    assert told in capsys.readouterr().out.replace("\n", " ")
    found.unblocked.least_seconds, found.unblocked.others = 1.0, 3
    print_trace(found)
    out = " ".join(capsys.readouterr().out.split())
    assert (
        "in 1.00 s, so this ceiling says nothing of them: it is of one direction at a time" in out
    )
    found.ranks = [ran(run_seconds=2.0)]
    print_trace(found)
    out = " ".join(capsys.readouterr().out.split())
    assert "waiting for them. 3 other operations are in that time too." in out
    assert "in 1.00 s, so they went on beside the application's own work." in out


def test_the_answer_has_what_takes_longest() -> None:
    found = trace(*(entry(f"MPI_{number}") for number in range(MOST + 2)))
    tune = "nearpeak tune --mpi mpich --trace trace.json"
    check_short(present(found, tune))
    text = printed(present(found, tune))
    assert " ".join(text.split()).startswith(
        "mpich 5: 1 rank on 1 host. The run took 0.00100 s; added up over ranks 0.00100 s, of these"
        " 0.000200 s in MPI (20.0 %). Calls Time of MPI Mean operation s % µs MPI_0 8 B, same host"
    )
    assert "2 other rows take 0.000200 s\n" in text
    assert f"MPI_{MOST}" not in text
    assert text.endswith(f"To search for settings that make it faster: {tune}\n")
    assert f"MPI_{MOST + 1}" in printed(present(found), verbose=True)


def test_the_answer_of_a_recording_is_short() -> None:
    found = msgspec.json.decode(RECORDED.read_bytes(), type=Trace)
    check_short(present(found, "nearpeak tune --mpi openmpi --trace trace.json"))
    assert "at most 0.532 s would be saved." in printed(present(found))


def test_what_does_not_wait_has_no_rate(capsys: pytest.CaptureFixture[str]) -> None:
    print_trace(trace(entry("MPI_Isend", begins=True), entry("MPI_Start", made_by="MPI_Send_init")))
    lines = capsys.readouterr().out.splitlines()
    isend, start = [line for line in lines if "same host" in line][:2]  # of the whole table
    assert isend.rstrip().endswith("20.0")
    assert start.startswith("MPI_Start (MPI_Send_init)")
    assert start.rstrip().endswith("0.00100")


def test_the_ranks_and_who_has_the_most(capsys: pytest.CaptureFixture[str]) -> None:
    slow = ran(1, host="there", world=3, mpi_seconds=1e-4, bytes=500, waiting_seconds=0.0)
    ranks = [ran(0, world=3), slow, ran(2, world=3, mpi_seconds=3e-4)]
    print_trace(trace(entry(), ranks=ranks, expected=3))
    lines = capsys.readouterr().out.splitlines()
    assert any("3 ranks on 2 hosts" in line for line in lines)
    rows = [line.split() for line in lines]
    assert ["1", "there", "0.00100", "0.000100", "10.0", "0", "10", "500"] in rows
    told = " ".join(lines)
    assert "Most loaded is rank 1 on there: outside of MPI 0.000900 s, the median of ranks" in told
    assert "Longest in MPI is rank 2 on here: 0.000300 s" in told
    assert "Most bytes has rank 1 on there: 500 B, the median of ranks 100 B." in told


def test_ranks_that_are_alike_have_nobody_with_the_most(capsys: pytest.CaptureFixture[str]) -> None:
    alike = [ran(rank, world=2, bytes=500, mpi_seconds=1e-4) for rank in range(2)]
    print_trace(trace(entry(), ranks=alike, expected=2))
    told = " ".join(capsys.readouterr().out.split())
    assert "Outside of MPI: 0.000900 s on each rank. In MPI: 0.000100 s on each rank." in told
    assert "Bytes: 500 B on each rank." in told
    assert "the median of ranks" not in told


def test_all_text_is_escaped() -> None:
    nasty = '<i>&"'
    found = trace(entry(nasty), ranks=[ran(host=nasty)], exit_status=3)
    found.command, found.library = [nasty], nasty
    page = page_of(found)
    assert nasty not in page
    assert "<script" not in page
    assert "The command ended with exit status 3" in page


def test_where_and_when_it_ran_stands_at_the_top() -> None:
    page = page_of(trace(ranks=[ran(host="node7")], started="2026-11-28T06:46:12+00:00"))
    assert "mpich 5 · node7 · 2026-11-28 06:46 UTC · Nearpeak" in page
    assert "mpich 5 · here · Nearpeak" in page_of(trace())


def test_what_there_is_nothing_of_is_left_out() -> None:
    page = page_of(trace(ranks=[]))
    assert "By operation" not in page
    assert "By rank" not in page
    assert "0 ranks on 0 hosts" in page


def test_many_ranks_are_folded() -> None:
    few, many = ([ran(rank) for rank in range(number)] for number in (MANY, MANY + 1))
    assert "<details>" not in page_of(trace(entry(), ranks=few))
    assert f"All {MANY + 1} ranks" in page_of(trace(entry(), ranks=many))


@pytest.mark.parametrize("width", [1280, 360])
def test_a_recorded_run_is_drawn_in_silence(browser: Browser, tmp_path: Path, width: int) -> None:
    recorded = msgspec.json.decode(RECORDED.read_bytes(), type=Trace)
    page = tmp_path / "trace.html"
    write_page(present(recorded), page)
    browser.open(page, width)
    assert browser.complaints() == []
    assert browser.requests() == [page.as_uri()]
    assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    bars = browser.evaluate(
        "[...document.querySelectorAll('.bars i.path, .bars i.call')]"
        ".map((bar) => bar.getBoundingClientRect().width)"
    )
    assert max(bars) > width / 5
    assert browser.evaluate("document.querySelectorAll('svg.ranks path').length") == 3
