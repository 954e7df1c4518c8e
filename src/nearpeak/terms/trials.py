# SPDX-License-Identifier: Apache-2.0
"""Cases in which a library is tried, and their outcomes."""

from typing import Literal

import msgspec

from nearpeak.terms.outcomes import GOOD, NOT_TRIED, Status

PLAIN = "plain"  # the usual allocator of every kind of buffers
# The checks of `nearpeak-mpi probe`.
DATA, CHURN, LEAK, GROW, IN_PLACE = "data", "churn", "leak", "grow", "inplace"
CHECKS = (DATA, CHURN, LEAK, GROW, IN_PLACE)
OF_SIZES = (DATA, IN_PLACE)  # checks of messages of the requested sizes
RANKS = 2  # of a case, unless it says otherwise


class TrialCase(msgspec.Struct, frozen=True, order=True):
    """One case to try."""

    buffers: str  # of each rank: "D,D"
    operation: str  # the name of a benchmark, or "put", which has none
    allocator: str = PLAIN  # of the ranks with buffers of its kind
    offset: int = 0  # bytes from the start of an allocation to the first buffer
    check: str = DATA
    ranks: int = RANKS


class Outcome(msgspec.Struct, kw_only=True, frozen=True):
    """The outcome of a case."""

    case: TrialCase
    # "failed": the library did not start; "not tried": the message says why
    status: Status
    # After a bad end, the status as the only case of a job; None: still to be tried.
    alone: Status | None = None
    message: str = ""  # the evidence; of "ok" the checks that were left out, if any
    size_bytes: int | None = None  # of the message at which it ended badly
    rank: int | None = None  # data corruption: the rank, and the first bad byte of the message
    byte: int | None = None
    expected: int | None = None
    got: int | None = None
    leaked_host_bytes: float = 0.0  # by each cycle of allocating, using and freeing buffers
    leaked_device_bytes: float = 0.0
    seconds: float = 0.0
    command: str = ""  # repeats it: one line for a POSIX shell

    @property
    def bad(self) -> bool:
        """True if it was tried and did not end well."""
        return self.status not in (GOOD, NOT_TRIED)

    @property
    def settled(self) -> bool:
        """True if nothing is left to try."""
        return not self.bad or self.alone is not None


class BadEnd(msgspec.Struct, kw_only=True, frozen=True):
    """The bad end of a job outside of any case, mostly in MPI_Finalize after the last one."""

    status: Literal["crashed", "hung"]
    message: str  # the evidence
    cases: int  # with known outcomes
    # Repeats the last case, in a conformance run the whole job: one line for a POSIX shell.
    command: str
