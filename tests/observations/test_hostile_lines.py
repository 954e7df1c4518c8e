# SPDX-License-Identifier: Apache-2.0
"""Lines on which an expression that tries all ways to match would take hours: each file of them is
read, or refused, in another process that may take no such time."""

import subprocess
import sys
from pathlib import Path

import pytest

from nearpeak.observations.printed import LONGEST_LINE

FILE_BYTES = 1 << 18
LIMIT_SECONDS = 120  # for a hang: an expression with nested repetition takes ten times as long
READ = """
import sys
from nearpeak.errors import UserError
from nearpeak.observations.load import load
from pathlib import Path
try:
    load(Path(sys.argv[1]))
except UserError as error:
    assert error.__cause__ is None, error
    print(error)
"""
# Before the hostile lines, what repeats in them, what ends them.
IMB = "#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part\n# Benchmarking PingPong\n"
UCX = "| API: protocol layer |\n"
PERFTEST = " RDMA_Write BW Test\n"
OSU = "# OSU MPI Latency Test v7.4\n"
HOSTILE = {
    "a field of blanks": (UCX, "| Abc:", " ", "x"),
    "a field of names": (UCX, "| A", "b ", "x"),
    "a rule of dashes": (UCX, "+a", "-", "x"),
    "a command": (UCX, "ucx_perftest", " -t", "\x01"),
    "a count of blanks": (PERFTEST, "Number of qps", " ", "x"),
    "words of a heading": (PERFTEST, "#bytes #iterations ", "a ", "x"),
    "brackets of a heading": (PERFTEST, "#bytes #iterations ", "a[", "x"),
    "a name of a program": (IMB, "", "IMB-A", "b"),
    "dashes behind a program": (IMB, "IMB-AA", "-", " "),
    "tags": (IMB, "", "[1]", "x"),
    "ranks in brackets": (IMB, "(", ", rank=1", "x"),
    "times": (IMB, "", "12:00:00 ", "x"),
    "blanks": (OSU, "", " ", "\x01x"),
    "escapes": (OSU, "", "\x1b]", "x"),
    "columns": (OSU, "# Size Latency (us)", " a", "\x01"),
    "rows": (OSU, "8", " 1.1", "x"),
    "glued figures": (OSU, " 1.11", "[1]", "x"),
    "crashes": (OSU, "srun: error: ", "srun: error: ", "x"),
}


def hostile(begin: str, head: str, unit: str, tail: str) -> str:
    """A file of lines that are as long as may be."""
    most = LONGEST_LINE - len(head) - len(tail)
    line = head + unit * (most // len(unit)) + tail + "\n"
    return begin + line * (FILE_BYTES // len(line))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_of_hostile_lines_is_read_or_refused(name: str, tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    file.write_text(hostile(*HOSTILE[name]))
    done = subprocess.run(
        [sys.executable, "-c", READ, str(file)],
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1


def test_a_line_of_a_mebibyte_is_of_no_table(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    file.write_text(UCX + "| Abc:" + " " * (1 << 20) + "x\n")
    done = subprocess.run(
        [sys.executable, "-c", READ, str(file)],
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout.count("\n")) == (0, 1)
