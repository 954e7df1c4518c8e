# SPDX-License-Identifier: Apache-2.0
"""Axes of benchmarks that more than one package reads."""

from collections.abc import Mapping

STAGING = "staging"  # the axis of benchmarks that copy device buffers to the host themselves
DIRECT = "none"  # its value where they do not
CALLS = "calls"  # the axis of the calls of MPI or NCCL,
AT_ONCE = "grouped"  # its value where operations run at the same time,
ONE_WAIT = (AT_ONCE, "enqueued", "graph")  # and those where the host waits for several at once
PACK = "pack"  # the axis of datatypes: the packer of their blocks,
BY_LIBRARY = "direct"  # its value where the library gets the datatype,
BY_MPI = (BY_LIBRARY, "mpi")  # and those where MPI packs them, explicitly or not
# The state of the caches: how buffers are used, and who touched them last. Every benchmark and
# every ceiling has these axes, with these values if not named.
State = tuple[tuple[str, str], ...]
USUAL_STATE: State = (("reuse", "fixed"), ("touch", "none"))


def state_of(axes: Mapping[str, str]) -> State:
    """The axes of a variant, or of a case, that its ceiling must share."""
    return tuple((name, axes.get(name, usual)) for name, usual in USUAL_STATE)


def staging(axes: Mapping[str, str]) -> str | None:
    """The way the benchmark itself stages through host memory; None: the library gets the buffers.

    A staged cell is a baseline that every user could write, not a figure of the library.
    """
    value = axes.get(STAGING, DIRECT)
    return None if value == DIRECT else value
