# SPDX-License-Identifier: Apache-2.0
"""Cases in which a library is tried, and their outcomes."""

from typing import Literal

import msgspec

from nearpeak.terms.outcomes import GOOD, NOT_TRIED, Status
from nearpeak.terms.private import FreeText, Public

PLAIN = "plain"  # the usual allocator of every kind of buffers
# The checks of `nearpeak-mpi probe`.
DATA, CHURN, LEAK, GROW, IN_PLACE = "data", "churn", "leak", "grow", "inplace"
CHECKS = (DATA, CHURN, LEAK, GROW, IN_PLACE)
OF_SIZES = (DATA, IN_PLACE)  # checks of messages of the requested sizes
RANKS = 2  # of a case, unless it says otherwise


class TrialCase(msgspec.Struct, frozen=True, order=True):
    """One case to try."""

    buffers: Public  # of each rank: `D,D`
    operation: Public  # name of a benchmark, or `put`, `get`, `requests`, `busy_stream`
    allocator: Public = PLAIN  # of the ranks with buffers of its kind
    offset: int = 0  # bytes from the start of an allocation to the first buffer
    # `data`, `churn`, `leak`, `grow` or `inplace`
    # (docs/reference/reading-records.md#not-in-a-study-probe)
    check: Public = DATA
    ranks: int = RANKS  # number of ranks; 2 if a line of `conform.jsonl` has none


class Outcome(msgspec.Struct, kw_only=True, frozen=True):
    """The outcome of a case."""

    case: TrialCase  # the case
    status: Status  # how it ended
    # after a bad end, the status as the only case of a job; null: not tried
    alone: Status | None = None
    message: FreeText = ""  # the evidence; of `ok` the checks that were left out, if any
    size_bytes: int | None = None  # of the message at which it ended badly; null: all sizes
    rank: int | None = None  # of wrong data, the rank; else null
    byte: int | None = None  # of wrong data, the first bad byte of the message; else null
    expected: int | None = None  # of wrong data, that byte as sent; else null
    got: int | None = None  # of wrong data, that byte as received; else null
    leaked_host_bytes: float = (
        0.0  # of the host in each cycle of allocating, using and freeing buffers
    )
    leaked_device_bytes: float = 0.0  # of the device in each of these cycles
    seconds: float = 0.0  # time of the case
    command: FreeText = ""  # line for a POSIX shell that repeats it

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

    status: Literal["crashed", "hung"]  # how the job ended
    message: FreeText  # the evidence
    cases: int  # cases that the job had tried
    command: FreeText  # line for a POSIX shell that repeats the job
