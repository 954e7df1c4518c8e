# SPDX-License-Identifier: Apache-2.0
"""conform.json: all cases, and how they ended. Sizes in bytes, times in seconds."""

import msgspec

from nearpeak.terms.identity import Who
from nearpeak.terms.outcomes import NOT_TRIED
from nearpeak.terms.private import Public
from nearpeak.terms.trials import BadEnd, Outcome

SCHEMA = 1


class Memory(msgspec.Struct, kw_only=True, frozen=True, order=True):
    """A way to allocate the buffers of both ranks."""

    buffers: Public  # of both ranks: `D,D`
    allocator: Public = "plain"  # its name
    summary: Public = ""  # how it is allocated; empty for `plain`


class Operation(msgspec.Struct, kw_only=True, frozen=True):
    """An operation that was tried in every memory."""

    name: Public  # of a benchmark, or `put`, `get`, `requests`, `busy_stream`
    family: Public  # `pt2pt`, `collective`, `rma`, `datatype`, `overlap`, `stream`
    summary: Public = ""  # one line for people


class Tried(msgspec.Struct, kw_only=True):
    """One library with its settings."""

    library: str  # its name
    settings: str  # name of its settings
    version: str  # of the library
    planned: int  # number of cases
    outcomes: list[Outcome]  # of each case that was tried
    bad_ends: list[BadEnd]  # of jobs that ended badly during no case

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
    """The complete file."""

    schema: int  # version of this format
    nearpeak: str  # version of Nearpeak
    started: str  # ISO 8601 in UTC
    host: str  # its name
    gpus: list[str]  # their names, in order
    driver: str | None  # version of NVIDIA's driver; null: none
    depth: str  # `quick`, `default` or `full`
    path: str | None  # path named for buffers on devices (`--path`); null: none
    sizes: list[int]  # bytes of messages, of checks of data in plain memory
    complete: bool  # everything planned was tried
    memories: list[Memory]  # kinds of buffers
    operations: list[Operation]  # operations that were tried
    libraries: list[Tried]  # outcomes of each library

    @property
    def failed(self) -> bool:
        """True if a case or a job ended badly."""
        return any(library.bad or library.bad_ends for library in self.libraries)

    @property
    def untried(self) -> list[str]:
        """The libraries of which no case could be tried."""
        return [library.label for library in self.libraries if library.untried]
