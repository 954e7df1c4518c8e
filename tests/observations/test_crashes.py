# SPDX-License-Identifier: Apache-2.0
"""Outputs of programs that crashed, or were cut off; all are written by hand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nearpeak.errors import UserError
from nearpeak.findings.build import build_results
from nearpeak.observations.crashes import find_crash
from nearpeak.observations.load import load
from nearpeak.results.faults import faults

TOOLS = ("osu", "imb", "nccl-tests", "perftest", "nvbandwidth", "ucx_perftest")
SAID = [
    "mpirun noticed that process rank 3 with PID 17 on node n1 exited on signal 9 (Killed).",
    "prterun has exited due to process rank 1 with PID 0 on node n2 exiting improperly.",
    "mpirun detected that one or more processes exited with non-zero status, thus causing",
    "Primary job  terminated normally, but 1 process returned",
    "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD",
    "[n1:00017] *** Process received signal ***",
    "[n1:00017] *** An error occurred in MPI_Allreduce",
    "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
    "=   KILLED BY SIGNAL: 11 (Segmentation fault)",
    "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Bus error (signal 7)",
    "application called MPI_Abort(MPI_COMM_WORLD, 1) - process 0",
    "Abort(15) on node 1 (rank 1 in comm 0): Fatal error in internal_Send: Other MPI error",
    "Fatal error in PMPI_Recv: Message truncated",
    "[n1:mpi_rank_0][error_sighandler] Caught error: Segmentation fault (signal 11)",
    "srun: error: n1: task 0: Segmentation fault (core dumped)",
    "srun: error: n2: tasks 4-7: Exited with exit code 1",
    "slurmstepd: error: *** STEP 42.0 ON n1 CANCELLED AT 2025-03-07T09:05:01 DUE TO TIME LIMIT ***",
    "slurmstepd: error: Detected 1 oom_kill event in StepId=42.0.",
    "=>> PBS: job killed: walltime 3600 exceeded limit 3600",
    "TERM_RUNLIMIT: job killed after reaching LSF run time limit.",
    "n1.cluster: rank 1 died from signal 11",
    "ERROR:  One or more process (first noticed rank 0) terminated with signal 6",
    "flux-job: task(s) exited with exit code 139",
    "job aborted:",
    "./job.sh: line 7:  4711 Killed                  osu_bw",
    "Segmentation fault (core dumped)",
    "[n1:17:0:17] Caught signal 11 (Segmentation fault: address not mapped to object)",
    "terminate called after throwing an instance of 'std::bad_alloc'",
    "n1: Test NCCL failure common.cu:958 'unhandled system error'",
    "n1 pid 17: Test failure common.cu:842",
]


@pytest.mark.parametrize("said", SAID)
def test_what_says_so_is_known(said: str) -> None:
    assert find_crash(["# a title", said]) == f"line 2 says: {said}"


@pytest.mark.parametrize(
    "said",
    [
        "slurmstepd: error: cpu_freq: cannot set the governor",
        "[n1:17] NCCL INFO NET/Plugin: Failed to find ncclNetPlugin",
        "[1741338301.1] [n1:17:0] parser.c:2036 UCX  WARN unused environment variable",
        "warning: a job that was killed can be resumed",
        "Kill command: mpirun",
        "# Out of bounds values : 0 OK",
    ],
)
def test_what_says_no_such_thing_is_passed_over(said: str) -> None:
    assert find_crash([said]) == ""


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("said", [SAID[0], SAID[7], SAID[14]])
def test_a_crash_beside_a_table_makes_the_launch_crashed(
    outputs: Any, tool: str, said: str, tmp_path: Path
) -> None:
    """Its rows are figures nevertheless; before it as behind it, as streams are mixed."""
    file = tmp_path / "out.txt"
    for text in (f"{outputs.BY_TOOL[tool]}{said}\n", f"{said}\n{outputs.BY_TOOL[tool]}"):
        file.write_text(text)
        found = load(file)
        assert {(each.status, said in each.message) for each in found.launches} == {
            ("crashed", True)
        }
        assert [round(each.summary.median, 4) for each in found.observed] == [1.1]
    [fault] = faults(build_results(file))
    assert fault.endswith(" crashed in 1 launch")


def test_a_tag_hides_no_crash(outputs: Any, tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    for tag in ("0: ", "[0] ", "[1,0]<stderr>:", "2025-03-07T09:05:01Z ", "\x1b[31m"):
        file.write_text(f"{outputs.OSU}{tag}{SAID[0]}\n")
        assert [each.status for each in load(file).launches] == ["crashed"]


def test_of_several_tables_the_last_one_is_that_of_the_crash(outputs: Any, tmp_path: Path) -> None:
    table = outputs.IMB[outputs.IMB.index("# Bench") : outputs.IMB.index("# All")]
    file = tmp_path / "out.txt"
    tables = [table.replace("PingPong", name) for name in ("Uniband", "Biband", "PingPong")]
    file.write_text("".join([*outputs.IMB.splitlines(keepends=True)[:1], *tables, SAID[0]]))
    assert [launch.status for launch in load(file).launches] == ["ok", "ok", "crashed"]


@pytest.mark.parametrize("tool", TOOLS[:-1])
def test_without_a_figure_the_crash_is_the_reason(outputs: Any, tool: str, tmp_path: Path) -> None:
    lines = outputs.BY_TOOL[tool].splitlines()
    file = tmp_path / "out.txt"
    file.write_text("\n".join([*lines[:2], SAID[0], ""]))
    with pytest.raises(UserError, match="holds no figures, as line 3 says: mpirun noticed that"):
        load(file)


def imb(made: Any, largest: int) -> str:
    """Without its last line; it says which size is the largest."""
    said = f"# Maximum message length in bytes:   {largest}\n"
    text: str = made.IMB.replace("# Benchm", f"{said}# Benchm")
    return text[: text.index("# All")]


def sizes(made: Any, last: int) -> str:
    """Two of perftest."""
    row = " {}          5000             9.10               8.80            0.367927\n"
    text: str = made.PERFTEST
    return text[: text.index(" 8  ")] + row.format(4) + row.format(last)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        (lambda made: made.IMB[: made.IMB.index("# All")], "'# All processes entering MPI_Fin"),
        (lambda made: imb(made, 16), "'# All processes entering MPI_Finalize'"),
        (lambda made: imb(made, 8), ""),  # as versions before 3.2 end
        (lambda made: made.NCCL[: made.NCCL.index("# Out")], "'# Out of bounds values'"),
        (lambda made: sizes(made, 8), "the line that closes its table"),
        (lambda made: f"{sizes(made, 8)}{'-' * 80}\n", ""),
        (lambda made: sizes(made, 8388608), ""),  # the last size of all
    ],
)
def test_an_output_without_its_end_is_no_whole_launch(
    outputs: Any, text: Callable[[Any], str], missing: str, tmp_path: Path
) -> None:
    file = tmp_path / "out.txt"
    file.write_text(text(outputs))
    [launch] = load(file).launches
    assert launch.status == ("crashed" if missing else "ok")
    assert launch.message.startswith(f"the output ends without {missing}" if missing else "")
    assert bool(launch.message) == bool(missing)
