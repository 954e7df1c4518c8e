# SPDX-License-Identifier: Apache-2.0
"""What the output of a launch says of its end."""

from pathlib import Path

import pytest

from nearpeak.terms.logs import (
    brief,
    cause,
    crash_words,
    fault,
    last_words,
    without_addresses,
    words_of_ranks,
)


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


def test_what_open_mpi_says_of_ucx_whatever_happens_is_no_reason(tmp_path: Path) -> None:
    noise = (
        "[vm:1] ../../../../../ompi/mca/osc/ucx/osc_ucx_component.c:375  Error: OSC UCX component "
        "priority set inside component query failed\n"
    )
    log = tmp_path / "log"
    log.write_text("MPI_Win_create: no memory left\nthe window was not made\n" + noise)
    assert crash_words(14, log) == "exit status 14: the window was not made"
    log.write_text("nothing is said\n" + noise.replace("query", "select"))
    assert last_words(log) == "nothing is said"


def test_what_the_launcher_says_of_a_rank_that_it_lost_is_no_reason(tmp_path: Path) -> None:
    lost = "[warn] Epoll MOD(4) on fd 20 failed. Old events were 6: Bad file descriptor"
    log = tmp_path / "log"
    log.write_text(f"No components were able to be opened in the pml framework.\n{lost}\n")
    assert last_words(log) == "No components were able to be opened in the pml framework."
    log.write_text(lost)
    assert last_words(log) == lost


# What launches of Open MPI 5.0.11, MPICH 5.0.2 and Intel MPI 2021.19.0 said, of a program of a few
# lines whose rank 1 ends in this way; what it ended with was the launcher's exit status.
REAL = {
    ("openmpi-assert", 134): "ended by SIGABRT: c.openmpi: c.c:13: main: Assertion `r==0 && "
    '"two"\' failed.',
    ("mpich-assert", 6): "ended by SIGABRT: c.mpich: c.c:13: main: Assertion `r==0 && "
    '"two"\' failed.',
    ("intel-assert", 134): "ended by SIGABRT: c.mpich: c.c:13: main: Assertion `r==0 && "
    '"two"\' failed.',
    ("openmpi-mpiabort", 14): "exit status 14: MPI_ABORT was invoked on rank 1 in communicator"
    " MPI_COMM_WORLD Proc: [[51112,1],1] Errorcode: 14",
    ("mpich-mpiabort", 14): "exit status 14: Abort(14) on node 1 (rank 1 in comm 0): application"
    " called MPI_Abort(MPI_COMM_WORLD, 14) - process 1",
    ("intel-mpiabort", 14): "exit status 14: Abort(14) on node 1 (rank 1 in comm 0): application"
    " called MPI_Abort(MPI_COMM_WORLD, 14) - process 1",
    ("openmpi-exit", 14): "exit status 14: it did not say why",
    ("mpich-exit", 14): "exit status 14: it did not say why",
    ("intel-exit", 14): "exit status 14: it did not say why",
    ("openmpi-fatal", 6): "exit status 6: MPI_ERR_RANK: invalid rank",
    ("mpich-fatal", 6): "exit status 6: internal_Send(78).: Invalid rank has value 99 but must be"
    " nonnegative and less than 2",
    ("intel-fatal", 6): "exit status 6: internal_Send(55592): Invalid rank has value 99 but must be"
    " nonnegative and less than 2",
    ("openmpi-said", 134): "ended by SIGABRT: what(): std::bad_alloc",
    ("mpich-said", 6): "ended by SIGABRT: what(): std::bad_alloc",
    ("intel-said", 134): "ended by SIGABRT: what(): std::bad_alloc",
    ("openmpi-truncate", 15): "exit status 15: MPI_ERR_TRUNCATE: message truncated",
    ("mpich-truncate", 14): "exit status 14: MPIDIG_recv_type_init(74): Message from rank 0 and tag"
    " 1 truncated; 4 bytes received but buffer size is 400",
    ("intel-truncate", 14): "exit status 14: (unknown)(): Message truncated",
    ("openmpi-segv", 139): "ended by SIGSEGV: signal 11 (Segmentation fault).",
    ("mpich-segv", 11): "ended by SIGSEGV: EXIT CODE: 11",
    ("intel-segv", 139): "ended by SIGSEGV: KILLED BY SIGNAL: 11 (Segmentation fault)",
    ("openmpi-slots", 1): "exit status 1: There are not enough slots available in the system to"
    " satisfy the 9 slots that were requested by the application: ./c.openmpi",
    # OMPI_MCA_smsc=xpmem without xpmem; the second time the launcher lost what a rank had said.
    ("openmpi-component", 14): "exit status 14: A requested component was not found, or was unable"
    " to be opened. This means that this component is either not installed or is unable to be used"
    " on your system (e.g., sometimes this means that shared libraries that the component requires"
    " are unable to be found/loaded). Note that Open MPI stopped ch",
    ("openmpi-init", 14): "exit status 14: An error occurred in MPI_Init",
    # A node that died before and within a launch.
    ("mpich-dead-node", 255): "exit status 255: srun: error: Task launch for StepId=1.6 failed on"
    " node nearpeak-b: Communication connection failure",
    ("openmpi-dead-node", 250): "exit status 250: srun returned non-zero exit status (59648) from"
    " launching the per-node daemon.",
    ("mpich-lost-node", 255): "exit status 255: mpiexec lost its connection to a node",
    # MPICH's error 0x...8f: its last byte is no signal.
    ("mpich-ucx", 143): "exit status 143: MPIDI_UCX_init_local(240): ucx function returned with"
    " failed status(ucx_init.c 240 MPIDI_UCX_init_local No such device)",
    ("intel-ofi", 143): "exit status 143: find_provider(2971)..........: OFI fi_getinfo() failed"
    " (ofi_init.c:2971:find_provider:No data available)",
}


@pytest.mark.parametrize(("name", "code"), REAL)
def test_the_line_that_says_why_is_quoted(name: str, code: int) -> None:
    said = crash_words(code, Path(__file__).parent / "logs" / f"{name}.txt")
    assert " ".join(said.split()) == REAL[name, code]


def test_a_table_says_nothing_of_an_end(tmp_path: Path) -> None:
    out, err = tmp_path / "out", tmp_path / "err"
    out.write_text("# size us\n8        1.20\n# error 1.0e-3, of a cell 2.0e-3 at most\n")
    err.write_text("")
    assert crash_words(14, out, err) == "exit status 14: it did not say why"
    err.write_text("no memory left: failed\n")
    assert crash_words(14, out, err) == "exit status 14: no memory left: failed"
    out.write_text("# NOT SOLVED after 10 iterations\n# error 1.0e-3\n")
    err.write_text("")
    assert last_words(out, err) == "# NOT SOLVED after 10 iterations"


def test_what_slurm_says_of_any_end_is_no_reason(tmp_path: Path) -> None:
    """Of Slurm 22.05, and of its manual."""
    log = tmp_path / "log"
    log.write_text(
        "Abort(1) on node 0: no memory\n"
        "srun: cluster configuration lacks support for cpu binding\n"
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"
        "slurmstepd-n1: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-01-02T03:04:05 ***\n"
        "srun: error: n1: task 0: Exited with exit code 1\n"
    )
    assert crash_words(1, log) == "exit status 1: Abort(1) on node 0: no memory"


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
        ("ended by SIGTERM: fi_getinfo() failed", "fi_getinfo() failed"),
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


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            "exit status 14: \ufffd*** An error occurred in MPI_Init *** on a NULL communicator"
            " *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,",
            "exit status 14: An error occurred in MPI_Init",
        ),
        (
            "exit status 14: \x07*** on a NULL communicator ***",
            "exit status 14: it did not say why",
        ),
        ("\x1b[1;31mno\x1b[0m such\ndevice", "no such device"),
        ("word " * 60, ("word " * 31).strip() + "..."),
    ],
)
def test_a_brief_message_is_one_clean_line(message: str, told: str) -> None:
    assert brief(message) == told


def test_each_rank_that_says_why_it_stopped_is_heard(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        "nearpeak-mpi: rank 3: there is no device '1'\n"
        "nearpeak-mpi: all ranks are here\n"
        "other: rank 4: lost\n"
        "nearpeak-mpi: rank 12: no \x1b[2Jmemory\n"
    )
    said = words_of_ranks(log)
    assert [*said] == [3, 12]
    assert said[3] == "there is no device '1'"
    assert said[12].isprintable()
