# SPDX-License-Identifier: Apache-2.0
"""The buffers of each rank, written "D,D": which of them fit a path, and which device they need.

H is host memory, P pinned host memory, D a device's, M managed.
"""

from nearpeak.errors import UserError
from nearpeak.machine.model import Endpoint, Path
from nearpeak.study.model import Plan

MEMORY = {"H": "host", "P": "host", "D": "gpu", "M": "gpu"}
HOST = "H,H"
NO_DEVICE = "-"


def parse_buffers(text: str) -> str:
    """`D,D` in its one spelling; UserError for anything but two of H, P, D and M."""
    kinds = [kind.strip().upper() for kind in text.split(",")]
    if len(kinds) != 2 or not set(kinds) <= set(MEMORY):
        raise UserError(
            f"{text!r} are no buffers: give the kind of each rank's, like D,D or H,D; "
            "H (host), P (pinned host), D (device), M (managed)"
        )
    return ",".join(kinds)


def needs_gpu(buffers: str) -> bool:
    """Whether a rank has memory that only an accelerator's driver gives."""
    return buffers != HOST


def in_flight_bytes(plan: Plan, buffers: str) -> int:
    """Bytes in flight at most in a launch with these buffers: GPUs need many to be busy."""
    return plan.gpu_in_flight_bytes if needs_gpu(buffers) else plan.in_flight_bytes


def in_gpu(buffers: str) -> bool:
    """Whether a rank's memory is a GPU's."""
    return any(MEMORY[kind] == "gpu" for kind in buffers.split(","))


def rank_ends(path: Path, buffers: str) -> tuple[Endpoint, Endpoint] | None:
    """The end of the path that each rank sits at; None where such buffers do not fit the path.

    With D,H on a path from the host to a GPU rank 0 has the GPU. Pinned memory is not for paths
    without a GPU, as only a driver gives it.
    """
    wanted = [MEMORY[kind] for kind in buffers.split(",")]
    for one, other in (path.ends, path.ends[::-1]):
        if [one.memory, other.memory] == wanted:
            pinned = "P" in buffers and not (one.gpu or other.gpu)
            return None if pinned else (one, other)
    return None


def default_buffers(path: Path, symmetric: bool) -> list[str]:
    """What is measured on a path when nothing was asked for.

    A benchmark that is not symmetric sends one way: between the host and a GPU it is run both ways.
    """
    memories = sorted(end.memory for end in path.ends)
    if memories == ["gpu", "gpu"]:
        return ["D,D"]
    if memories == ["gpu", "host"]:
        return ["H,D"] if symmetric else ["H,D", "D,H"]
    return [HOST]


def ceiling_buffers(buffers: str) -> str:
    """The buffers whose ceiling holds for these: it is the path's, however memory was allocated."""
    return ",".join({"host": "H", "gpu": "D"}[MEMORY[kind]] for kind in buffers.split(","))


def ceiling_metrics(plan: Plan, buffers: str) -> list[str]:
    """What is measured of these buffers of a ceiling: the metrics of all that it holds for."""
    holds = (one for one in plan.variants if ceiling_buffers(one.buffers) == buffers)
    return sorted({variant.metric for variant in holds} - {""})


def devices(ends: tuple[Endpoint, Endpoint]) -> list[str]:
    """The device of each end by UUID; `-` for the host's memory."""
    return [end.gpu or NO_DEVICE for end in ends]


def rank_devices(ends: tuple[Endpoint, Endpoint]) -> list[str]:
    """The device of each rank by UUID.

    A rank at the host's end takes the other's, as the ranks of most programs have one: pinned
    memory needs it, and some libraries do (Intel MPI 2021.19 crashes at its end where a rank that
    exchanged host memory with a device has none of its own).
    """
    return [end.gpu or other.gpu or NO_DEVICE for end, other in zip(ends, ends[::-1], strict=True)]
