# SPDX-License-Identifier: Apache-2.0
"""conform.json: all cases, and how they ended. Sizes in bytes, times in seconds."""

import msgspec

from nearpeak.terms.identity import Who
from nearpeak.terms.outcomes import NOT_TRIED
from nearpeak.terms.trials import BadEnd, Outcome

SCHEMA = 1


class Memory(msgspec.Struct, kw_only=True, frozen=True, order=True):
    """A way to allocate the buffers of both ranks."""

    buffers: str  # "D,D"
    allocator: str = "plain"
    summary: str = ""  # how it is allocated; "" of plain


class Operation(msgspec.Struct, kw_only=True, frozen=True):
    """An operation that was tried in every memory."""

    name: str
    family: str  # "pt2pt", "collective", "rma", "datatype", "overlap", "stream"
    summary: str = ""


class Tried(msgspec.Struct, kw_only=True):
    """One library with its settings."""

    library: str
    settings: str
    version: str
    planned: int  # cases
    outcomes: list[Outcome]
    bad_ends: list[BadEnd]  # of jobs that were at no case

    @property
    def label(self) -> str:
        """`openmpi`, `openmpi@dmabuf-off`."""
        return Who(self.library, self.settings).label

    @property
    def bad(self) -> list[Outcome]:
        """The outcomes that are neither good nor untried, in order."""
        return [outcome for outcome in self.outcomes if outcome.bad]

    @property
    def left(self) -> int:
        """Cases that are still to be tried, or to be tried alone."""
        return self.planned - sum(outcome.settled for outcome in self.outcomes)

    @property
    def untried(self) -> bool:
        """True if none of its cases could be tried: there is no finding about the library."""
        return not self.left and all(outcome.status == NOT_TRIED for outcome in self.outcomes)


class Conformance(msgspec.Struct, kw_only=True):
    """The whole of conform.json."""

    schema: int
    nearpeak: str  # version
    started: str  # ISO 8601, UTC
    host: str
    gpus: list[str]  # names, in order
    driver: str | None  # of NVIDIA
    depth: str  # "quick", "default" or "full"
    path: str | None  # that was named for buffers on devices
    sizes: list[int]  # of messages, of checks of data
    complete: bool  # whether everything planned was tried
    memories: list[Memory]
    operations: list[Operation]
    libraries: list[Tried]

    @property
    def failed(self) -> bool:
        """True if a case or a job ended badly."""
        return any(library.bad or library.bad_ends for library in self.libraries)

    @property
    def untried(self) -> list[str]:
        """The libraries of which no case could be tried."""
        return [library.label for library in self.libraries if library.untried]
