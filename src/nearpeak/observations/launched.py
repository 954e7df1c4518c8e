# SPDX-License-Identifier: Apache-2.0
"""Ranks and hosts that the command line of a launcher names, where it stands in an output."""

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

ALLOCATING = ("srun", "flux")  # -N: hosts; of the others it is ranks of a host
OTHERS = ("mpirun", "mpiexec", "mpiexec.hydra", "mpiexec.mpich", "orterun", "prterun")
PROGRAM = re.compile(r"(?:.*/)?(?:osu_\w+|[IP]MB-\w+\S*|\w+_perf(?:_mpi)?|ucx_perftest)['\"]?")
RANKS = ("-n", "-np", "--np", "--ntasks")
HOSTS = ("-N", "--nodes")
PER_HOST = ("--ntasks-per-node", "--tasks-per-node", "-npernode", "--npernode", "-ppn", "--ppn")
NAMED = ("-H", "-host", "--host")
FILLED = ("-hosts", "--hosts")  # how many ranks each gets depends on the launcher
MAPPED = ("-map-by", "--map-by")
PER_NODE = re.compile(r"ppr:(\d+):node\b")
GLUED = re.compile(r"(?<!\S)(-[nN])(\d+)(?!\S)")
HOST = re.compile(r"[A-Za-z0-9][\w.-]*")  # and no variable, and no range of several
GPUS, THREADS = ("-g", "--ngpus"), ("-t", "--nthreads")  # of a process of nccl-tests


class Started(NamedTuple):
    """The ranks of a program, and the hosts that they were on. None: not known."""

    ranks: int | None = None
    hosts: int | None = None


def started(lines: Sequence[str]) -> Started:
    """The ranks and hosts in which all command lines of benchmarks agree."""
    runs = list(filter(None, map(_started, _joined(lines))))
    ranks, hosts = {run.ranks for run in runs}, {run.hosts for run in runs}
    return Started(*(values.pop() if len(values) == 1 else None for values in (ranks, hosts)))


def _joined(lines: Sequence[str]) -> Iterator[str]:
    """Yields the lines, with those that a backslash continues as one."""
    line = ""
    for part in lines:
        if part.endswith("\\"):
            line += part[:-1] + " "
            continue
        yield line + part
        line = ""
    yield line


def _started(line: str) -> Started | None:
    """The run of a line; None: it starts no benchmark."""
    if "osu_" not in line and "MB-" not in line and "perf" not in line:
        return None
    tokens = GLUED.sub(r"\1 \2", line.replace("=", " = ")).split()
    program = next((index for index, token in enumerate(tokens) if PROGRAM.fullmatch(token)), None)
    if program is None:
        return None
    if ":" in tokens:  # of several programs, each with its own hosts
        return Started()
    launcher = _launcher(tokens[:program])
    options = dict(_options(tokens[launcher + 1 : program])) if launcher is not None else {}
    behind = dict(_options(tokens[program + 1 :])) if tokens[program].count("_perf") else {}
    gpus = (_number(behind, GPUS) or 1) * (_number(behind, THREADS) or 1)
    if launcher is None:
        return Started(gpus, 1) if gpus > 1 else None
    name = tokens[launcher].rsplit("/", 1)[-1]
    run = _allocated(options) if name in ALLOCATING else _placed(options)
    if run.ranks == 1:  # others were started elsewhere
        return Started(gpus, 1) if gpus > 1 else Started()
    return Started(run.ranks * gpus if run.ranks else None, run.hosts)


def _launcher(tokens: Sequence[str]) -> int | None:
    names = [token.rsplit("/", 1)[-1] for token in tokens]
    return next((index for index, name in enumerate(names) if name in (*ALLOCATING, *OTHERS)), None)


def _options(tokens: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields options with the token behind each, also behind an equals sign."""
    plain = [token for token in tokens if token != "="]
    yield from itertools.zip_longest(plain, plain[1:], fillvalue="")


def _number(options: Mapping[str, str], names: Sequence[str]) -> int | None:
    """The number behind the first of some options; None without one, or where it is none."""
    value = next((options[name] for name in names if name in options), "")
    return int(value) if re.fullmatch(r"[1-9]\d{0,6}", value) else None


def _allocated(options: Mapping[str, str]) -> Started:
    """The run of a launcher of a batch system."""
    hosts, per_host = _number(options, HOSTS), _number(options, PER_HOST)
    ranks = _number(options, RANKS) or (hosts * (per_host or 1) if hosts else None)
    if hosts is None and ranks and per_host:
        hosts = math.ceil(ranks / per_host)
    return Started(ranks, min(hosts, ranks) if hosts and ranks else hosts)


def _placed(options: Mapping[str, str]) -> Started:
    """The run of a launcher of an MPI library."""
    ranks = _number(options, RANKS)
    policy = next((options[name] for name in MAPPED if name in options), "")
    mapped = PER_NODE.search(policy)
    per_host = int(mapped[1]) if mapped else _number(options, (*PER_HOST, "-N"))
    filled = next((options[name] for name in FILLED if name in options), "")
    named = next((options[name] for name in NAMED if name in options), "")
    names = [name.partition(":") for name in (named or filled).split(",") if name]
    if not all(HOST.fullmatch(name) for name, _, _ in names):
        names, named = [], ""
    most = len({name for name, _, _ in names})
    if most == 1:
        return Started(ranks, 1)
    if not ranks:
        return Started()
    if per_host:
        return Started(ranks, min(math.ceil(ranks / per_host), most or ranks))
    if not named:
        return Started(ranks)
    if policy == "node":
        return Started(ranks, min(most, ranks))
    slots = Counter[str]()
    for name, _, number in names:
        slots[name] += int(number) if number.isdecimal() else 1
    filling = [name for name in slots for _ in range(slots[name])]
    return Started(ranks, len({*filling[:ranks]}) if len(filling) >= ranks else None)
