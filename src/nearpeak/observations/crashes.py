# SPDX-License-Identifier: Apache-2.0
"""Lines that launchers, shells, libraries and tools print when a program crashes or is killed.

A table in the same output is not complete, even if each of its rows is.
"""

import re
from collections.abc import Sequence

SHOWN = 160  # characters of such a line, in a message
SIGNALS = (
    "Segmentation fault|Bus error|Aborted|Killed|Terminated|Illegal instruction"
    "|Floating point exception"
)
SAID = re.compile(
    "|".join(
        (
            # Open MPI's mpirun, prterun and their like, and its library
            r"noticed that process rank \d+",
            r"has exited due to process rank \d+",
            r"detected that one or more processes exited with non-zero",
            r"Primary job +terminated normally, but \d+ process",
            r"MPI_ABORT was invoked on rank",
            r"\*\*\* Process received signal \*\*\*",
            r"\*\*\* An error occurred in ",
            # MPICH's and Intel's, with MVAPICH's
            r"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
            r"KILLED BY SIGNAL: \d+",
            r"TERMINATED WITH THE EXIT STRING",
            r"application called MPI_Abort\(",
            r"Abort\(\d+\) on node \d+",
            r"Fatal error in (?:internal_|P?MPI_)",
            r"Caught error: \w+ .*\(signal \d+\)",
            # Slurm, PBS, LSF
            r"srun: error: .*\btasks? [\d,-]+: ",
            r"srun: Job step aborted",
            r"slurmstepd: error: .*(?:CANCELLED AT|oom[-_ ]kill)",
            r"=>> PBS: job killed",
            r"\bTERM_(?:RUNLIMIT|MEMLIMIT|OWNER|ADMIN)\b",
            # PALS, ALPS, jsrun
            r"\brank \d+ (?:died from signal|exited with code [1-9])",
            r"\bexit signal \w+",
            r"\bterminated with signal \d+",
            # Flux, Microsoft's
            r"\btask\(s\) exited with exit code [1-9]",
            r"^job aborted:",
            # shells, UCX, C++, nccl-tests, perftest
            rf"(?:^|: |\d )\s*(?:{SIGNALS})\b",
            r"Caught signal \d+ \(",
            r"^terminate called after throwing",
            r"^ASSERT in expression ",  # nvbandwidth
            r"Test (?:NCCL|CUDA|MPI) failure|: Test failure ",
            r"^Failed status \d+|^Completion with error at |^Failed to complete \w+ function",
        )
    )
)


ROW_OR_HEADING = tuple("#|0123456789")  # how lines of tables begin, which need no look


def find_crash(lines: Sequence[str]) -> str:
    """Quote the first line that reports a crash, with its number; empty: there is none."""
    for number, line in enumerate(lines, 1):
        if line and not line.startswith(ROW_OR_HEADING) and SAID.search(line):
            return f"line {number} says: {line[:SHOWN]}"
    return ""
