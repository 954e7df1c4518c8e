# SPDX-License-Identifier: Apache-2.0
"""What the output of a launch says of its end."""

from pathlib import Path

import pytest

from nearpeak.study.logs import cause, crash_words, fault, last_words, without_addresses


def test_what_a_launch_said_cannot_steer_a_terminal(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"first\n\x1b[2Jgone\x07 \xff\tend\n")
    for words in (last_words(log), crash_words(139, log)):
        assert "gone" in words
        assert words.isprintable()
    log.write_bytes(b"ended by signal: 11 \x1b]0;title\x07\n")
    assert crash_words(1, log).startswith("ended by SIGSEGV: ")
    assert crash_words(1, log).isprintable()


INTEL = """
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   RANK 0 PID 10606 RUNNING AT vm
=   KILLED BY SIGNAL: 9 (Killed)
"""
MPICH = "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: {} (signal {})\n"
FIRST = "=   EXIT CODE: {}\n"


@pytest.mark.parametrize(
    ("code", "said", "how"),
    [
        (139, "", "ended by SIGSEGV"),
        (-11, "", "ended by SIGSEGV"),
        (139, INTEL + INTEL.replace("9 (Killed)", "11 (Segmentation fault)"), "ended by SIGSEGV"),
        (143, INTEL + INTEL.replace("9 (Killed)", "6 (Aborted)"), "ended by SIGABRT"),
        (137, INTEL, "ended by SIGKILL"),
        (143, "prterun ended on signal 15 (Terminated).\n", "ended by SIGTERM"),
        (11, MPICH.format("Segmentation fault", 11), "ended by SIGSEGV"),
        (9, MPICH.format("Killed", 9), "ended by SIGKILL"),
        # Of the process that ended first; the string is of all statuses together.
        (15, FIRST.format(6) + MPICH.format("Terminated", 15), "ended by SIGABRT"),
        (15, FIRST.format(134) + MPICH.format("Terminated", 15), "ended by SIGABRT"),
        (15, FIRST.format(1) + MPICH.format("Terminated", 15), "ended by SIGTERM"),
        (6, FIRST.format(6), "exit status 6"),
        # MPI_Abort(-1), or exit(-1): no signal, whatever became of the other ranks
        (255, "", "exit status 255"),
        (255, INTEL, "exit status 255"),
        (1, INTEL, "exit status 1"),
        (1, "no such signal 99\n", "exit status 1"),
        (None, "", "exit status None"),
    ],
)
def test_one_fault_has_one_name(tmp_path: Path, code: int | None, said: str, how: str) -> None:
    log = tmp_path / "log"
    log.write_text(said)
    assert crash_words(code, log).startswith(f"{how}: ")


def test_the_line_that_says_most_is_quoted(tmp_path: Path) -> None:
    log = tmp_path / "log"
    said = MPICH.format("Terminated", 15)
    log.write_text(said + "Please see the FAQ page for debugging suggestions\n")
    assert crash_words(15, log) == f"ended by SIGTERM: {said.strip()}"
    log.write_text("nearpeak-mpi: rank 1: no memory\n" + MPICH.format("Aborted", 6))
    assert crash_words(6, log) == "ended by SIGABRT: nearpeak-mpi: rank 1: no memory"


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("ended by SIGABRT: RANK 0 PID 7 (signal 6)", "SIGABRT"),
        ("ended by SIGABRT: nearpeak-mpi: no memory", "nearpeak-mpi: no memory"),
        ("ended by SIGTERM: nearpeak-mpi: no memory", "nearpeak-mpi: no memory"),
        ("exit status 3: nearpeak-mpi: no memory", "nearpeak-mpi: no memory"),
        ("exit status 15: no device", "exit status 15: no device"),
        ("no word for 30 s, so it was ended", "no word for 30 s, so it was ended"),
        ("ended by SIGTERM: Terminated (signal 15)", ""),
        ("ended by SIGKILL: KILLED BY SIGNAL: 9", ""),
    ],
)
def test_the_cause_is_not_in_the_launchers_words(message: str, why: str) -> None:
    assert cause(message) == why


def test_one_fault_is_the_same_whatever_the_addresses_ranks_and_sizes() -> None:
    said = "rank {}: MPI_Win_create(base={}, size={}, comm=0x84000003) failed"
    one, two = said.format(0, "0x7f9646a00200", 8), said.format(1, "0x7F62a8", 65536)
    assert fault(one) == fault(two)
    assert fault(one) != fault(one.replace("Win_create", "Send"))
    assert without_addresses(one) == said.format(0, "0x...", 8).replace("0x84000003", "0x...")
