# SPDX-License-Identifier: Apache-2.0
"""What tests of launches have in common: which libraries they are for, their CPUs, command lines.

Tests import it by its name: `from mpi_launches import one_library` (tests/conftest.py).
"""

import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest

# Seconds for a launch, or what else a test waits for: only what hangs takes so long, however busy
# the machine is.
LIMIT = 600

# MPICH's ranks give way after 4096 polls in vain, by sched_yield, which need not let others run:
# where they share CPUs, sleeps take a fifth of the CPU time. Many short waits, as of a probe, take
# longer.
SLEEPS = {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
SLEEPS_SOON = {**SLEEPS, "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "64"}


def cpus_of(ranks: int) -> list[int]:
    """The CPU of each rank, of two at most."""
    mine = sorted(os.sched_getaffinity(0))
    return [(mine[0], mine[-1])[rank % 2] for rank in range(ranks)]


def own_cpus(cpus: list[int]) -> dict[str, str]:
    """Where each rank has a CPU of its own, Open MPI's do not give it to other tests at each poll:
    that would take a slice of time for each message."""
    return {"OMPI_MCA_mpi_yield_when_idle": "0"} if len(set(cpus)) == len(cpus) else {}


def sharing(cpus: list[int]) -> dict[str, str]:
    """Variables for ranks of an application on these CPUs, which other tests have too."""
    own = own_cpus(cpus)
    return {
        **own,
        # MPICH's ranks with a CPU of their own give way, and do not sleep.
        **SLEEPS_SOON,
        **({"MPIR_CVAR_ENABLE_HEAVY_YIELD": "0"} if own else {}),
        "MPIR_CVAR_POSIX_POLL_FREQUENCY": "10",  # in collectives, of looks without a yield
    }


def measured_with(*libraries: str) -> pytest.MarkDecorator:
    """With these in turn, and not with Open MPI and MPICH."""
    return pytest.mark.parametrize("measured_library", libraries, indirect=True)


one_library = measured_with("mpich")  # what is not about the library
every_library = measured_with("openmpi", "mpich", "intel")

every_number_of_ranks = pytest.mark.parametrize(
    ("measured_library", "ranks"),
    [*(("mpich", ranks) for ranks in (1, 2, 3, 4, 6)), ("openmpi", 4), ("intel", 3)],
    indirect=["measured_library"],
)


@contextmanager
def reserved_port() -> Iterator[int]:
    """A TCP port that a program with SO_REUSEADDR can listen on, and nobody else is given.

    A port that was merely free a moment ago may be another test's by now: of a launch beside it, or
    of any connection, whose own end has one, too.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("", 0))
        yield holder.getsockname()[1]


def with_options(names: Iterable[str], *words: str) -> list[str]:
    """Each benchmark with these options of its own."""
    return [word for name in names for word in (name, *words)]
