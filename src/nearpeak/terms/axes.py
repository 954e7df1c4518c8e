# SPDX-License-Identifier: Apache-2.0
"""What the axes of benchmarks say that more than one part of the program reads."""

from collections.abc import Mapping

STAGING = "staging"  # the axis of benchmarks that copy device buffers to the host themselves
DIRECT = "none"  # its value where they do not
CALLS = "calls"  # the axis that tells how messages are sent
PACK = "pack"  # the axis of datatypes: what gathers their blocks,
BY_LIBRARY = "direct"  # its value where the library gets the datatype,
BY_MPI = (BY_LIBRARY, "mpi")  # and those where MPI gathers them, asked or not
# What a case finds in the caches: how its buffers are used, and who touched them last. These axes
# every benchmark and every ceiling has; of what does not name them, the values are these.
State = tuple[tuple[str, str], ...]
USUAL_STATE: State = (("reuse", "fixed"), ("touch", "none"))


def state_of(axes: Mapping[str, str]) -> State:
    """What of the axes of a variant, or of a case, its ceiling must have too."""
    return tuple((name, axes.get(name, usual)) for name, usual in USUAL_STATE)


def staging(axes: Mapping[str, str]) -> str | None:
    """How the benchmark itself copies through host memory; None: the library gets the buffers.

    Such a cell is a baseline that every user could write, not what the library can do.
    """
    value = axes.get(STAGING, DIRECT)
    return None if value == DIRECT else value
