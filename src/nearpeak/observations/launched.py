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
GLUED = re.compile(r"(-[nN])(\d+)")
GPUS, THREADS = ("-g", "--ngpus"), ("-t", "--nthreads")  # of a process of nccl-tests


class Started(NamedTuple):
    """The ranks of a program, and the hosts that they were on. None: not known."""

    ranks: int | None = None
    hosts: int | None = None


def started(lines: Sequence[str]) -> Started:
    """What all command lines of benchmarks agree in."""
    runs = list(filter(None, map(_started, _joined(lines))))
    ranks, hosts = {run.ranks for run in runs}, {run.hosts for run in runs}
    return Started(*(one.pop() if len(one) == 1 else None for one in (ranks, hosts)))


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
    words = GLUED.sub(r"\1 \2", line.replace("=", " = ")).split()
    program = next((at for at, word in enumerate(words) if PROGRAM.fullmatch(word)), None)
    if program is None:
        return None
    launcher = _launcher(words[:program])
    options = dict(_options(words[launcher + 1 : program])) if launcher is not None else {}
    behind = dict(_options(words[program + 1 :])) if words[program].count("_perf") else {}
    each = (_number(behind, GPUS) or 1) * (_number(behind, THREADS) or 1)
    if launcher is None:
        return Started(each, 1) if each > 1 else None
    name = words[launcher].rsplit("/", 1)[-1]
    run = _allocated(options) if name in ALLOCATING else _placed(options)
    return Started(run.ranks * each if run.ranks else None, run.hosts)


def _launcher(words: Sequence[str]) -> int | None:
    names = [word.rsplit("/", 1)[-1] for word in words]
    return next((at for at, name in enumerate(names) if name in (*ALLOCATING, *OTHERS)), None)


def _options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields options with the word behind each, also behind an equals sign."""
    plain = [word for word in words if word != "="]
    yield from itertools.zip_longest(plain, plain[1:], fillvalue="")


def _number(options: Mapping[str, str], names: Sequence[str]) -> int | None:
    """The number behind the first of some options; None without one, or where it is none."""
    value = next((options[name] for name in names if name in options), "")
    return int(value) if re.fullmatch(r"[1-9]\d{0,6}", value) else None


def _allocated(options: Mapping[str, str]) -> Started:
    """The run of a launcher of a batch system."""
    hosts, each = _number(options, HOSTS), _number(options, PER_HOST)
    ranks = _number(options, RANKS) or (hosts * (each or 1) if hosts else None)
    if hosts is None and ranks and each:
        hosts = math.ceil(ranks / each)
    return Started(ranks, min(hosts, ranks) if hosts and ranks else hosts)


def _placed(options: Mapping[str, str]) -> Started:
    """The run of a launcher of an MPI library."""
    ranks = _number(options, RANKS)
    policy = next((options[name] for name in MAPPED if name in options), "")
    mapped = PER_NODE.search(policy)
    each = int(mapped[1]) if mapped else _number(options, (*PER_HOST, "-N"))
    filled = next((options[name] for name in FILLED if name in options), "")
    named = next((options[name] for name in NAMED if name in options), "")
    names = [name.partition(":") for name in (named or filled).split(",") if name]
    most = len({name for name, _, _ in names})
    if most == 1:
        return Started(ranks, 1)
    if not ranks:
        return Started()
    if each:
        return Started(ranks, min(math.ceil(ranks / each), most or ranks))
    if not named:
        return Started(ranks)
    if policy == "node":
        return Started(ranks, min(most, ranks))
    slots = Counter[str]()
    for name, _, number in names:
        slots[name] += int(number) if number.isdecimal() else 1
    filling = [name for name in slots for _ in range(slots[name])]
    return Started(ranks, len({*filling[:ranks]}) if len(filling) >= ranks else None)
