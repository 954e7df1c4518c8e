# SPDX-License-Identifier: Apache-2.0
"""Do the counters of links agree with the payload, do they notice messages that go through the
host, and what do they cost?

For a machine with two GPUs that NVLink joins. For each library a study of messages between them
(latency and bw, D,D, 64 KiB to 16 MiB), as it is and without the memory of the other GPU (IPC):

- as it is, NVLink should count the payload of 16 MiB, within 5 %, and wrong_path be silent;
- without IPC, wrong_path should fire.

Then launches of the same cases with and without counters, in turn, each first in every second
pair: the median ratio of their times with its interval (the range where there are too few), and
the part of a launch that readings take by themselves. They should cost 1 % at most. Last, how long
the state of the path's GPUs takes that a study reads before and after each launch.

    .venv/bin/python benchmarks/counters.py intel openmpi-cuda mpich+layer --pairs 20

On a machine without a package index, from an unpacked bundle (`nearpeak bundle --mpi intel --mpi
openmpi-cuda --mpi mpich`) with the checkout beside it, some five minutes for each library:

    B=$PWD/nearpeak-bundle
    export PYTHONPATH=$B/src:$B/python NEARPEAK_CACHE=$B/cache NEARPEAK_BENCH=$B/bench
    python3 benchmarks/counters.py intel --pairs 12

Prints a line for each question. Exit status 1: an answer is not as it should be; 2: bad input.
"""

import argparse
import json
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nearpeak.findings.build import build_results
from nearpeak.machine.states import StateReader
from nearpeak.results.results import Cell, Results
from nearpeak.statistics.intervals import interval

NEARPEAK = (sys.executable, "-c", "from nearpeak.cli.main import main; main()")
PATH = "gpu-gpu nvlink"
SIZES = "64K,1M,16M"
LARGE = 16 << 20
AGREES = 0.05  # of the payload
MOST_COST = 0.01  # of a launch
STATES = 25  # readings before a launch, and after it
THROUGH_HOST = "through-host"
# Variables that keep a library from the memory of another GPU. The layer has one for messages of
# 1 MiB and less.
WITHOUT_IPC = {
    "intel": {"I_MPI_OFFLOAD_IPC": "0"},
    "openmpi-cuda": {"UCX_TLS": "^cuda_ipc"},
    "+layer": {"NEARPEAK_LAYER_INLINE": str(1 << 20)},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("libraries", nargs="+", help="intel, openmpi-cuda, mpich+layer, ...")
    parser.add_argument("--pairs", type=int, default=20, help="of launches with and without")
    parser.add_argument("--keep", type=Path, help="a folder for the studies")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.libraries if variables(name) is None]
    if unknown:
        print(f"counters: how to turn off IPC is not known of {unknown[0]}", file=sys.stderr)
        sys.exit(2)
    good = True
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for library in arguments.libraries:
            study = measure(library, folder)
            good &= agree(library, build_results(study))
            good &= cost(library, study, arguments.pairs)
        states(study)
    sys.exit(0 if good else 1)


def variables(library: str) -> dict[str, str] | None:
    """The environment variables that turn IPC off; None if they are not known."""
    key = "+layer" if library.endswith("+layer") else library
    return WITHOUT_IPC.get(key)


def measure(library: str, folder: Path) -> Path:
    """The folder of a study of a library with both settings."""
    env = ", ".join(f'{name} = "{value}"' for name, value in (variables(library) or {}).items())
    file = folder / f"{library}.toml"
    file.write_text(
        f'paths = ["{PATH}"]\nbuffers = ["D,D"]\nbenchmarks = ["latency", "bw"]\n'
        f'sizes = "{SIZES}"\nlaunches = 3\nslot_ms = 100\n'
        f'[[library]]\nmpi = "{library}"\n[[library.settings]]\nname = "default"\n'
        f'[[library.settings]]\nname = "{THROUGH_HOST}"\nenv = {{ {env} }}\n'
    )
    study = folder / f"study-{library}"
    done = subprocess.run([*NEARPEAK, "study", file, "-o", study], check=False)
    if not (study / "results.json").exists():
        sys.exit(f"counters: {library}: the study ended with {done.returncode}")
    return study


def agree(library: str, results: Results) -> bool:
    """Prints what links counted beside the payload, and whether the rule fired as it should."""
    good = True
    for cell in results.cells:
        print(f"{label(cell)}: {words(cell)}", flush=True)
        if cell.who.settings == "default" and cell.case.x == LARGE:
            off = abs(nvlink(cell) - 1)
            good &= off <= AGREES
            print(f"{'ok' if off <= AGREES else 'NOT'}: within {100 * off:.2f} % of the payload")
    if results.counting:
        for unread in results.counting.unread:
            print(f"not counted: {unread.kind}: {unread.why}")
    fired = {
        finding.who.settings: finding
        for finding in results.findings
        if finding.kind == "wrong_path" and finding.who
    }
    for settings, expected in (("default", False), (THROUGH_HOST, True)):
        facts = (
            "; ".join(f"{fact.name} {fact.value}" for fact in fired[settings].facts)
            if (settings in fired)
            else "silent"
        )
        right = (settings in fired) == expected
        good &= right
        print(f"{'ok' if right else 'NOT'}: {library}, {settings}: wrong_path: {facts}", flush=True)
    return good


def label(cell: Cell) -> str:
    """`intel@through-host latency 65536`."""
    return f"{cell.who.label} {cell.case.benchmark} {cell.case.x}"


def words(cell: Cell) -> str:
    """The bytes that links counted in a cell, in times of its payload."""
    if cell.counted is None:
        return "nothing counted"
    least = dict.fromkeys(cell.counted.at_least, ">= ")
    times = ", ".join(
        f"{kind} {least.get(kind, '')}{value:.4f}" for kind, value in cell.counted.times.items()
    )
    return f"payload {cell.counted.payload_bytes:.0f} B in {cell.counted.seconds:.3f} s: {times}"


def nvlink(cell: Cell) -> float:
    """The bytes on NVLink in times of the payload."""
    return 0.0 if cell.counted is None else cell.counted.times.get("nvlink", 0.0)


def cost(library: str, study: Path, pairs: int) -> bool:
    """Prints what counters cost of a launch, by its time and by the readings themselves."""
    command = next(
        record["command"]
        for record in records(study / "records.jsonl")
        if record["record"] == "launch"
        and record["role"] == "mpi"
        and record["settings"] == "default"
    )
    ratios: list[float] = []
    shares: list[float] = []
    for pair in range(pairs):
        seconds: dict[bool, float] = {}
        for counted in (False, True) if pair % 2 == 0 else (True, False):
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "records.jsonl"
                off = "" if counted else " --no-counters"
                line = f"{command}{off} --jsonl {shlex.quote(str(file))}"
                begin = time.monotonic()
                subprocess.run(["/bin/sh", "-c", line], check=True, capture_output=True)
                seconds[counted] = time.monotonic() - begin
                if counted:
                    shares.append(spent_us(file) / 1e6 / seconds[counted])
        ratios.append(seconds[True] / seconds[False])
        print(f"{pair + 1:3}: {seconds[False]:.3f} s, counted {seconds[True]:.3f} s", flush=True)
    low, high = interval(ratios) or (min(ratios), max(ratios))
    share = statistics.median(shares)
    good = share <= MOST_COST
    print(
        f"{'ok' if good else 'NOT'}: {library}: with counters {statistics.median(ratios):.4f} times"
        f" the time [{low:.4f}, {high:.4f}]; opening and readings take {100 * share:.2f} % of a"
        f" launch ({100 * min(shares):.2f} to {100 * max(shares):.2f})",
        flush=True,
    )
    return good


def states(study: Path) -> None:
    """Prints how long it takes to read the state of the GPUs before and after a launch."""
    plan = json.loads((study / "plan.json").read_text(encoding="utf-8"))
    gpus = [end["gpu"] for path in plan["paths"] for end in path["ends"] if end.get("gpu")][:2]
    reader = StateReader()
    reader.read([], gpus)  # opens NVML, and finds what the GPUs answer
    took: dict[bool, list[float]] = {False: [], True: []}
    for recount in [False, True] * STATES:
        begin = time.monotonic()
        reader.read([], gpus, recount=recount)
        took[recount].append(1e3 * (time.monotonic() - begin))
    reader.close()
    before, after = (statistics.median(took[recount]) for recount in (False, True))
    print(f"state of {len(gpus)} GPUs: {before:.2f} ms before a launch, {after:.2f} ms after it")


def spent_us(file: Path) -> float:
    """The time for opening and reading the counters, on the slowest rank, in microseconds."""
    total = 0.0
    for record in records(file):
        total += (record.get("counters") or {}).get("opening_us", 0.0)
        total += (record.get("counted") or {}).get("reading_us", 0.0)
    return total


def records(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


if __name__ == "__main__":
    main()
