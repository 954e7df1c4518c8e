# SPDX-License-Identifier: Apache-2.0
"""What comparisons with other benchmarks share: interleaved launches of theirs and ours on the same
CPUs, paired by turn, and the ratio of what they tell."""

import ctypes
import json
import os
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from nearpeak.errors import UserError
from nearpeak.launching.process import run_tree
from nearpeak.libraries.build import build_mpi
from nearpeak.libraries.launch import command_line
from nearpeak.libraries.library import CommandLine, Launch, Library, Rank, Settings
from nearpeak.machine.discover import discover
from nearpeak.machine.paths import discover_paths
from nearpeak.statistics.intervals import interval
from nearpeak.terms.path import DataPath

PR_SET_THP_DISABLE = 41  # linux/prctl.h
WINDOW_BYTES = "256M"  # in flight: 64 messages of 4 MiB, as in IMB and OMB

Times = dict[tuple[str, int], dict[int, float]]  # (who, size): the value of each turn's launch


def no_times() -> Times:
    """Of nobody, until there are some."""
    return defaultdict(dict)


def without_huge_pages() -> None:
    """Of whoever is launched from now on: where the kernel gives them unasked, buffers that are
    made for the largest message would have them, and ours, made for each size, would not."""
    ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)


def interleaved(steps: Sequence[Callable[[int], None]], launches: int) -> None:
    """Every step once a turn, in an order that changes from turn to turn."""
    for turn in range(launches):
        for index in range(len(steps)):
            steps[(turn + index) % len(steps)](turn)


def launch(
    library: Library,
    program: list[str],
    cpus: Sequence[int],
    log: Path,
    limit_seconds: float,
    settings: Settings = Settings(),
    gpu: bool = False,
) -> None:
    """One launch, a rank on each CPU, as a study would start it; else as start()."""
    ranks = [Rank(cpus=[cpu]) for cpu in cpus]
    line = command_line(library, Launch(program=program, ranks=ranks, settings=settings, gpu=gpu))
    start(line, log, limit_seconds)


def start(line: CommandLine, log: Path, limit_seconds: float) -> None:
    """Runs a command line with its output in `log`; says so when it failed or had to be ended."""
    log.unlink(missing_ok=True)
    outcome = run_tree(
        line.argv, env={**os.environ, **line.env}, log=log, limit_seconds=limit_seconds
    )
    if outcome.end == "exited" and outcome.exit_status == 0:
        return
    if outcome.end == "hung":
        how = f"had not ended after {limit_seconds:g} s and was ended"
    else:
        how = outcome.reason or f"failed with {outcome.exit_status}"
    lines = [text.strip() for text in log.read_text(errors="replace").splitlines()]
    said = [text for text in lines if text and not text.startswith("=")]  # Hydra's banner
    told = next((text for text in said if "rror" in text), said[-1] if said else "nothing")
    print(f"{log.stem} {how}; it said: {told}", flush=True)


def our_program(
    library: Library, benchmark: str, sizes: Sequence[int], options: Sequence[str], records: Path
) -> list[str]:
    """nearpeak-mpi, whose records go to a file that is empty before."""
    records.unlink(missing_ok=True)
    asked = ["--sizes", ",".join(map(str, sizes)), "--jsonl", str(records)]
    return [str(build_mpi(library)), benchmark, *options, *asked]


def our_samples(records: Path) -> Iterator[dict[str, Any]]:
    """The records of samples in a file."""
    for line in records.read_text().splitlines() if records.exists() else []:
        record = json.loads(line)
        if record["record"] == "samples":
            yield record


def keep(times: Times, who: str, turn: int, record: dict[str, Any]) -> None:
    """A launch of ours: the median of its samples, and their mean. Where those of each rank are
    kept, also what others tell of collective operations: of the ranks' means the largest, and the
    mean of all.
    """
    samples, size = record["samples"], record["size_bytes"]
    times[who, size][turn] = statistics.median(samples)
    times[f"{who}, mean", size][turn] = statistics.fmean(samples)
    if of_ranks := record.get("ranks"):
        means = [statistics.fmean(times) for times in of_ranks]
        times[f"{who}, t_max", size][turn] = max(means)
        times[f"{who}, t_avg", size][turn] = statistics.fmean(means)


def median(times: dict[int, float]) -> float:
    """Over the launches; nan of none."""
    return statistics.median(times.values()) if times else float("nan")


def ratio_words(ours: dict[int, float], theirs: dict[int, float]) -> str:
    """`ratio 1.020 [0.990, 1.050]`: the median over turns, with its interval, or the range of few;
    empty where no turn has both."""
    ratios = [our / theirs[turn] for turn, our in ours.items() if theirs.get(turn)]
    if not ratios:
        return ""
    low, high = interval(ratios) or (min(ratios), max(ratios))
    return f"ratio {statistics.median(ratios):.3f} [{low:.3f}, {high:.3f}]"


def cores(ranks: int) -> list[int]:
    """A CPU of as many cores, of the first NUMA nodes; UserError where there are too few."""
    here = discover()
    allowed = set(here.allowed_cpus)
    order = [core.cpus[0] for core in here.cores if core.cpus[0] in allowed]
    if ranks > len(order):
        raise UserError(f"{ranks} ranks on {len(order)} cores")
    return order[:ranks]


def find_path(name: str, memory: str) -> DataPath:
    """The path of this name between two memories of this kind; UserError says why there is none."""
    paths, missing = discover_paths(discover(), [], all_pairs=True)
    for path in paths:
        if path.id == name:
            if [end.memory for end in path.ends] != [memory] * 2 or path.transport != "memory":
                raise UserError(f"{name!r} is not compared: choose a path in {memory} memory")
            if path.mps:
                raise UserError(f"{name!r} is not compared: no MPS daemon is started here")
            return path
    kind = name.split()[0]
    why = [str(lack) for lack in missing if lack.path == name]
    why = why or [str(lack) for lack in missing if lack.path.startswith(kind)]
    has = [path.id for path in paths if path.id.startswith(kind)]
    raise UserError(
        f"this machine has no path {name!r}"
        + (f" ({'; '.join(why)})" if why else "")
        + (
            f": choose one of {', '.join(has)}"
            if has
            else f", nor another {kind} one: `nearpeak machine` shows its paths"
        )
    )
