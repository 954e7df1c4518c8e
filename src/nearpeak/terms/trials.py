# SPDX-License-Identifier: Apache-2.0
"""What is tried of a library, case by case, and how that ended."""

from typing import Literal

import msgspec

from nearpeak.terms.outcomes import GOOD, NOT_TRIED, Status

PLAIN = "plain"  # the usual allocator of every kind of buffers
# The checks of `nearpeak-mpi probe`.
DATA, CHURN, LEAK, GROW, IN_PLACE = "data", "churn", "leak", "grow", "inplace"
CHECKS = (DATA, CHURN, LEAK, GROW, IN_PLACE)
OF_SIZES = (DATA, IN_PLACE)  # checks of messages of the sizes that are asked for
RANKS = 2  # of a case, unless it says otherwise


class TrialCase(msgspec.Struct, frozen=True, order=True):
    """What is tried at once."""

    buffers: str  # of each rank: "D,D"
    operation: str  # a benchmark's name, or what has no benchmark: "put"
    allocator: str = PLAIN  # of the ranks with buffers that it gives
    offset: int = 0  # bytes from where an allocation begins to the first buffer
    check: str = DATA
    ranks: int = RANKS


class Outcome(msgspec.Struct, kw_only=True, frozen=True):
    """How a case ended."""

    case: TrialCase
    # "failed": the library did not start; "not tried": the message says why
    status: Status
    # Where it ended badly, how it does as the only case of a job; None: that is still to be tried.
    alone: Status | None = None
    message: str = ""  # the evidence; of "ok" what was left out, if anything
    size_bytes: int | None = None  # of the message at which it ended, where not well
    rank: int | None = None  # wrong data: where, and the first bad byte of the message
    byte: int | None = None
    expected: int | None = None
    got: int | None = None
    leaked_host_bytes: float = 0.0  # each time that buffers are allocated, used and freed
    leaked_device_bytes: float = 0.0
    seconds: float = 0.0
    command: str = ""  # repeats it: one line for a POSIX shell

    @property
    def bad(self) -> bool:
        """Whether it ended in any other way than well or not tried."""
        return self.status not in (GOOD, NOT_TRIED)

    @property
    def settled(self) -> bool:
        """Whether nothing is left to try."""
        return not self.bad or self.alone is not None


class BadEnd(msgspec.Struct, kw_only=True, frozen=True):
    """How a job ended badly while it was at no case: as a rule behind the last, in MPI_Finalize."""

    status: Literal["crashed", "hung"]
    message: str  # the evidence
    cases: int  # whose ends are known
    # Repeats the last of them, in a conformance run the whole job: one line for a POSIX shell.
    command: str
