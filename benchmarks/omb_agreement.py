# SPDX-License-Identifier: Apache-2.0
"""Do our figures agree with those of the OSU micro-benchmarks?

Runs programs of OMB and nearpeak-mpi in interleaved launches: same library, same CPUs, same sizes.
Prints for each benchmark and size the medians over the launches and the ratio of ours to OMB's,
paired by turn, with its interval (of fewer than six launches the range). A launch that fails, or
has not ended after --limit seconds, is ended and named.

OMB is no part of this project: fetch it (https://mvapich.cse.ohio-state.edu/benchmarks/) and build
it for each library, with that library's compiler. The folder is that of the build, or of what it
installed:

    P=$HOME/.cache/nearpeak/mpi/mpich-5.0.2   # of `nearpeak mpi add mpich`
    mkdir build-mpich && cd build-mpich
    LD_LIBRARY_PATH=$P/lib ../osu-micro-benchmarks-7.4/configure CC=$P/bin/mpicc CXX=$P/bin/mpicxx
    LD_LIBRARY_PATH=$P/lib make -C c

(of Open MPI also `export OPAL_PREFIX=$P`). Then, on a quiet machine,

    .venv/bin/python benchmarks/omb_agreement.py mpich build-mpich --launches 8
    .venv/bin/python benchmarks/omb_agreement.py openmpi build-openmpi --launches 8 \
        --benchmark latency --benchmark bcast --ranks 4

What makes the two alike:

- Both are on the same CPUs. Of a library of the catalogue OMB gets the variables without which it
  does not run (makers.py), not the catalogue's: what these do to the library is in the ratio.
- OMB's messages of a window share a buffer, and 64 are in flight at every size: `--reuse single`
  and `--in-flight 256M` of ours. Of `fixed`, our default, each message has its own: it stands
  beside.
- OMB adds up MPI_CHAR unless it is told otherwise, for which libraries have no vector instructions:
  `-T mpi_float`, our default. With --type char it is MPI_CHAR on both sides.
- One-sided windows are allocated and operations flushed by default in both.
- Buffers begin on a page in both. Huge pages are kept from both, as OMB makes its buffers for the
  largest message and we make ours for each size.
- Of a collective operation OMB prints the mean over the ranks of their mean times. With `-f` it
  prints the largest of these means too ("max"): that is our "t_max", from `--keep-ranks`, and the
  mean is our "t_avg". What we report, the median of the time of the slowest rank, stands beside
  both. Of `bcast` OMB's mean is the lower the sooner the root leaves.
"""

import argparse
import os
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import agreement
import makers

from nearpeak.errors import UserError
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.library import Library

SIZES = [8, 1 << 10, 1 << 13, 1 << 16, 1 << 20, 1 << 22]
COLLECTIVE_SIZES = SIZES[:-1]
OMB, OURS = "OMB", "ours"


@dataclass(frozen=True)
class Measure:
    """What is the same of both tools."""

    sizes: list[int]
    unit: str = "us"
    factor: float = 1.0  # from OMB's column to the unit
    window: bool = False  # of messages
    adds: bool = False  # numbers of a type
    collective: bool = False
    pairs: bool = False  # on any even number of ranks

    @property
    def several(self) -> bool:
        """Whether it runs on more than two ranks."""
        return self.collective or self.pairs

    def theirs(self, number_type: str) -> list[str]:
        """OMB's options."""
        options = ["-m", f"{min(self.sizes)}:{max(self.sizes)}"]
        options += ["-T", f"mpi_{number_type}"] if self.adds else []
        return options + (["-f"] if self.collective else [])

    def ours(self, number_type: str) -> dict[str, list[str]]:
        """Our options, of each way that stands beside OMB's."""
        options = ["--type", number_type] if self.adds else []
        options += ["--keep-ranks"] if self.collective else []
        if not self.window:
            return {OURS: options}
        whole = [*options, "--in-flight", agreement.WINDOW_BYTES]
        return {OURS: [*whole, "--reuse", "single"], f"{OURS}, fixed": whole}


def rate(pairs: bool = False) -> Measure:
    """In GB/s, where OMB tells MB/s."""
    return Measure(SIZES, "GB/s", 1e-3, window=True, pairs=pairs)


MEASURES = {
    "latency": Measure(SIZES),
    "bw": rate(),
    "bibw": rate(),
    "mbw_mr": rate(pairs=True),
    "multi_lat": Measure(SIZES, pairs=True),
    "allreduce": Measure(COLLECTIVE_SIZES, collective=True, adds=True),
    "alltoall": Measure(COLLECTIVE_SIZES, collective=True),
    "bcast": Measure(COLLECTIVE_SIZES, collective=True),
    "reduce_scatter": Measure(COLLECTIVE_SIZES, collective=True, adds=True),
    "put_latency": Measure(SIZES),
    "get_latency": Measure(SIZES),
    "acc_latency": Measure(SIZES, adds=True),
}
# What of ours is held against what of theirs, in this order.
PAIRED = [
    (OURS, OMB),
    (f"{OURS}, fixed", OMB),
    (f"{OURS}, mean", OMB),
    (f"{OURS}, t_max", f"{OMB}, max"),
    (f"{OURS}, t_avg", OMB),
]


@dataclass(frozen=True)
class Comparison:
    """What is run."""

    library: Library
    program: Path  # OMB's
    benchmark: str
    number_type: str
    iterations: int | None
    cpus: list[int]
    limit_seconds: float

    @property
    def measure(self) -> Measure:
        return MEASURES[self.benchmark]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", help="as of `nearpeak mpi list`, like mpich")
    parser.add_argument("folder", type=Path, help="where OMB was built for it")
    parser.add_argument("--launches", type=int, default=8)
    parser.add_argument("--benchmark", choices=MEASURES, action="append", help="default: all")
    parser.add_argument("--ranks", type=int, default=2, help="of what runs on more than two")
    parser.add_argument("--type", choices=["float", "int", "char"], default="float")
    parser.add_argument("--iterations", type=int, help="of OMB, at every size; default: its own")
    parser.add_argument("--limit", type=float, default=120, help="seconds that a launch may take")
    arguments = parser.parse_args()
    agreement.without_huge_pages()
    try:
        library = resolve(arguments.library)
        two = [end.cpus[0] for end in agreement.find_path("host-host same-numa", "host").ends]
        for benchmark in arguments.benchmark or MEASURES:
            cpus = agreement.cores(arguments.ranks) if MEASURES[benchmark].several else two
            comparison = Comparison(
                library=library,
                program=find_program(arguments.folder, benchmark),
                benchmark=benchmark,
                number_type=arguments.type,
                iterations=arguments.iterations,
                cpus=cpus,
                limit_seconds=arguments.limit,
            )
            with tempfile.TemporaryDirectory() as scratch:
                show(comparison, measured(comparison, arguments.launches, Path(scratch)))
    except UserError as error:
        print(f"omb_agreement: {error}", file=sys.stderr)
        sys.exit(2)


def find_program(folder: Path, benchmark: str) -> Path:
    """OMB's program in a folder, at any depth; UserError without it."""
    name = f"osu_{benchmark}"
    for path in sorted(folder.resolve().rglob(name)):
        if path.is_file() and os.access(path, os.X_OK):
            return path
    raise UserError(
        f"there is no {name} in {folder}: build OMB there, as the head of this file says"
    )


def measured(comparison: Comparison, launches: int, scratch: Path) -> agreement.Times:
    """Every alternative once a turn."""
    times = agreement.no_times()
    steps = [partial(run_omb, comparison, scratch, times)]
    steps += [
        partial(run_ours, comparison, scratch, times, who, options)
        for who, options in comparison.measure.ours(comparison.number_type).items()
    ]
    agreement.interleaved(steps, launches)
    return times


def show(comparison: Comparison, times: agreement.Times) -> None:
    """A line for each of ours at each size."""
    measure = comparison.measure
    kind = f", {comparison.number_type}" if measure.adds else ""
    print(f"{comparison.benchmark}{kind}, {comparison.library.name}, CPUs {comparison.cpus}")
    for size in measure.sizes:
        for who, other in PAIRED:
            ours, theirs = times.get((who, size), {}), times.get((other, size), {})
            if not ours and (who, other) != PAIRED[0]:
                continue
            words = agreement.ratio_words(ours, theirs) or "no ratio: nothing to be paired"
            print(
                f"{size:9} B  {other:8} {agreement.median(theirs):10.3f}  {who:12}"
                f" {agreement.median(ours):10.3f} {measure.unit:4}  {words}",
                flush=True,
            )


def run_omb(comparison: Comparison, scratch: Path, times: agreement.Times, turn: int) -> None:
    measure = comparison.measure
    log = scratch / "OMB.log"
    program = [str(comparison.program), *measure.theirs(comparison.number_type)]
    if comparison.iterations:
        program += ["-i", str(comparison.iterations)]
    library, cpus, limit = comparison.library, comparison.cpus, comparison.limit_seconds
    if library.entry in makers.MAKERS and not library.layer:
        line = makers.command_line(library.entry, program, [str(cpu) for cpu in cpus])
        agreement.start(line, log, limit)
    else:  # the catalogue has no variables for it
        agreement.launch(library, program, cpus, log, limit)
    # Of collective operations: size, mean, least, largest, iterations; else size, value, and more.
    for text in log.read_text(errors="replace").splitlines():
        fields = text.split()
        if len(fields) < 2 or not fields[0].isdigit() or int(fields[0]) not in measure.sizes:
            continue
        size = int(fields[0])
        times[OMB, size][turn] = float(fields[1]) * measure.factor
        if measure.collective:
            times[f"{OMB}, max", size][turn] = float(fields[3]) * measure.factor


def run_ours(
    comparison: Comparison,
    scratch: Path,
    times: agreement.Times,
    who: str,
    options: list[str],
    turn: int,
) -> None:
    records = scratch / "ours.jsonl"
    library, benchmark = comparison.library, comparison.benchmark
    program = agreement.our_program(library, benchmark, comparison.measure.sizes, options, records)
    log = scratch / f"{who}.log"
    agreement.launch(library, program, comparison.cpus, log, comparison.limit_seconds)
    first = ""
    for record in agreement.our_samples(records):
        first = first or record["metric"]  # of several the main one
        if record["metric"] == first:
            agreement.keep(times, who, turn, record)


if __name__ == "__main__":
    main()
