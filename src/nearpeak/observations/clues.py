# SPDX-License-Identifier: Apache-2.0
"""Remarks of a tool's output on the machine and the route, which no table of figures has.

Each is a fact that a program printed: GPUs by name, hosts, NICs, transports of a debug log.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nearpeak.observations.launched import started
from nearpeak.observations.printed import first_match, first_number, matches

# A rank of nccl-tests and its GPU; of AMD's with a bus id of more parts.
DEVICE = re.compile(
    r"(?:#\s*)?Rank\s+(?P<rank>\d+)\s(?:\s*Group\s+\d+)?\s*Pid\s+\d+ on\s+(?P<host>\S+)?\s+device"
    r"\s+(?P<device>\d+) \[(?P<bus>[0-9a-fA-Fx:.]+)\] (?P<name>\S.*)"
)
# nvbandwidth: `Device 0: NVIDIA H100 80GB HBM3 (00000000:18:00)`.
LISTED = re.compile(
    r"Device \d{1,3}: (?P<name>\S.*?)\s*(?:\([0-9a-f]{8}:[0-9a-f]{2}:[0-9a-f]{2}\))?$"
)
PERFTEST_GPU = re.compile(r".*\bdevice name = \[(?P<name>[^\]]+)\]")
# perftest: `RDMA_Write BW Test`.
PERFTEST = re.compile(
    r"\s*(?:RDMA_)?(?P<verb>Write|Read|Send|Atomic)[\w ]*?"
    r" (?P<both>Bidirectional )?(?P<kind>BW|Latency) Test\b"
)
# NCCL_DEBUG=INFO: `Channel 00/0 : 1[0] -> 0[0] via SHM/direct/direct`.
ROUTE = re.compile(r".*\bNCCL INFO .*\bvia (?P<route>NET/\w+|[A-Z0-9]+\b)")
# `NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE`; numbers in brackets are taken off as tags are.
NETWORK = re.compile(r".*\bNCCL INFO NET/\w+ ?: Using (?P<nics>.*)")
NIC = re.compile(r"[\w-]+:\d+/(?:IB|RoCE)\b")
LOCAL, REMOTE = (re.compile(rf"\s*{end} address: LID (?P<lid>\w+) ") for end in ("local", "remote"))
GID = re.compile(r"\s*GID: (?P<gid>[0-9a-fA-F:]+)")
# nccl-tests: `warmup iters: 5 iters: 20`.
ITERATIONS = re.compile(r".*\bwarmup iters:? \d+ iters:? (?P<number>\d+)")
# ucx_perftest's server, of a client of the same host.
SELF = re.compile(r".*\bAccepted connection from (?:127\.|\[?::1\b|localhost)")
# `NCCL_ALGO=RING` in a command, or in NCCL's log what it was set to.
FORCED = re.compile(r""".*\bNCCL_ALGO(?:=| set by environment to )["']?(?P<name>[A-Za-z]+)\b""")
# NCCL's log of its choice: `AllReduce: 8192 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}`.
CHOSEN = re.compile(r".*\bNCCL INFO \w+: \d+ Bytes -> Algo (?P<name>\w+) proto\b")
NUMBERED = {"0": "tree", "1": "ring"}  # by versions that do not name it
DEBUG = re.compile(
    r".*\b(?:UCX was compiled with debug|--enable-debug\b|built with debug|assertions? enabled)",
    re.I,
)
# By what a command or a log names.
LIBRARIES = (
    ("intel", re.compile(r"\bI_MPI_[A-Z]|Intel\(R\) MPI Library|/impi/|intel-oneapi-mpi").search),
    ("ucx", re.compile(r"\bUCX\b|\bUCX_|\bucx_|[Oo]pen ?-?mpi|\s-?-mca\s|OMPI_", re.ASCII).search),
)
NO_LID = re.compile(r"0+|0x0+")


@dataclass(frozen=True)
class Clues:
    """Facts that an output has beside its figures. Empty or None: it does not say."""

    tool: str = ""  # the suite: "nccl-tests", "osu", ...
    program: str = ""  # of perftest, with what a table shows of its options: "ib_read_bw -b"
    gpus: tuple[str, ...] = ()  # product names, one for each rank or device
    hosts: int | None = None  # that the ranks were on
    routes: frozenset[str] = frozenset()  # "P2P", "SHM", "NVLS", "NET/IB", "NET/Socket"
    nics: int | None = None  # that NCCL uses on the host of its first rank
    looped: bool = False  # both ends of the connection were one port
    iterations: int | None = None  # of each size
    algorithm: str = ""  # that NCCL used at the largest size, or had to use: "ring", "tree", ...
    library: str = ""  # "intel": Intel MPI; "ucx": one that may use UCX
    debug: bool = False  # a library said that it was built for debugging


def clues_of(lines: Sequence[str], tool: str) -> Clues:
    """Look for all of them in the lines of an output of `tool`."""
    devices = matches(DEVICE.match, lines)
    names = [match["name"].strip() for match in devices] or _listed(lines)
    network = first_match(NETWORK.match, lines)
    return Clues(
        tool=tool,
        program=_program(lines) if tool == "perftest" else "",
        gpus=tuple(names),
        hosts=_hosts(lines, devices, tool),
        routes=frozenset(match["route"] for match in matches(ROUTE.match, lines)),
        nics=(len(NIC.findall(network["nics"])) or None) if network else None,
        looped=_looped(lines),
        iterations=first_number(ITERATIONS.match, lines),
        algorithm=_algorithm(lines),
        library=next((name for name, seen in LIBRARIES if first_match(seen, lines)), ""),
        debug=first_match(DEBUG.match, lines) is not None,
    )


def _hosts(lines: Sequence[str], devices: Sequence[re.Match[str]], tool: str) -> int | None:
    """The hosts by the list of all ranks, else by the command line, else by what a tool says."""
    if tool == "nvbandwidth" or first_match(SELF.match, lines):
        return 1
    all_ranks = len({device["rank"] for device in devices}) > max(_numbers(devices), default=0)
    listed = _listed_hosts(devices) if all_ranks else None
    return listed or (started(lines).hosts if tool != "perftest" else None)


def _numbers(devices: Iterable[re.Match[str]]) -> list[int]:
    return [int(device["rank"]) for device in devices]


def _listed_hosts(devices: Sequence[re.Match[str]]) -> int | None:
    """Counts the hosts: a GPU that is listed again is one of another host of the same name.

    None where a short bus id, which has no domain, is listed again: it may be of two GPUs.
    """
    gpus = Counter(map(_gpu, filter(_has_host, devices)))
    if any(number > 1 and ":" not in bus for (_, bus, _), number in gpus.items()):
        return None
    most: dict[str, int] = {}
    for (host, *_), number in gpus.items():
        most[host] = max(number, most.get(host, 0))
    return sum(most.values()) or None


def _algorithm(lines: Sequence[str]) -> str:
    """The algorithm that NCCL chose last, else the one that the user forced; empty without one."""
    chosen = [match["name"].lower() for match in matches(CHOSEN.match, lines)][-1:]
    forced = {match["name"].lower() for match in matches(FORCED.match, lines)}
    names = chosen or (list(forced) if len(forced) == 1 else [""])
    return NUMBERED.get(names[0], names[0])


def _has_host(device: re.Match[str]) -> bool:
    return bool(device["host"])


def _gpu(device: re.Match[str]) -> tuple[str, str, str]:
    """Its host and bus id; of a short id, which has no domain, its number too."""
    return device["host"], device["bus"], "" if ":" in device["bus"] else device["device"]


def _listed(lines: Iterable[str]) -> list[str]:
    """The GPUs of a list of devices, each once; else the one that perftest picked."""
    lines = list(lines)
    listed = dict.fromkeys(match[0] for match in matches(LISTED.match, lines))
    names = [match["name"] for match in filter(None, map(LISTED.match, listed))]
    return names or [match["name"] for match in matches(PERFTEST_GPU.match, lines)][:1]


def _program(lines: Sequence[str]) -> str:
    """The program of perftest, by its title and the GPU that it picked."""
    title = first_match(PERFTEST.match, lines)
    if not title:
        return ""
    name = f"ib_{title['verb'].lower()}" + ("_bw" if title["kind"] == "BW" else "_lat")
    both_ways = "-b" if title["both"] else ""
    on_gpu = "--use_cuda=0" if first_match(PERFTEST_GPU.match, lines) else ""
    return " ".join(filter(None, [name, both_ways, on_gpu]))


def _looped(lines: Sequence[str]) -> bool:
    """True if perftest's two ends have one address: the LID, or the GID where there is none."""
    local, remote = (first_match(end.match, lines) for end in (LOCAL, REMOTE))
    if not local or not remote:
        return False
    if not NO_LID.fullmatch(local["lid"]):
        return local["lid"] == remote["lid"]
    gids = [match["gid"] for match in matches(GID.match, lines)]
    return len(gids) == 2 and gids[0] == gids[1]
