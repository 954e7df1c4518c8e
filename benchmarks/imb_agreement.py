# SPDX-License-Identifier: Apache-2.0
"""Do our figures agree with those of the Intel MPI Benchmarks?

Runs IMB-MPI1 PingPong, Uniband and Biband (from the catalogue's `intel`; it runs on any library of
the MPICH ABI) and `nearpeak-mpi latency`, `bw` and `bibw` in interleaved launches: same library,
same CPUs, same sizes. Prints for each size the medians over the launches and the ratio of ours to
IMB's, paired by turn, with its interval. A launch that fails, or has not ended after --limit
seconds, is ended and named. IMB has one buffer for all messages of a window, which is our
`--reuse single`; our own default stands beside it.

With --benchmark allreduce (alltoall, bcast, allgather, barrier) it is the collective operation, on
--ranks N. What IMB tells of one, the mean time of the slowest rank, stands beside our median of the
slowest time: that is never below it, as another rank may be last each time.

With --benchmark put_latency (get_latency, acc_latency, get_acc_latency) it is IMB-RMA, whose
operations are each followed by a flush, as ours are by default.

Huge pages are kept from both: where the kernel gives them unasked, IMB's buffers, which are made
for its largest message, would have them and ours, made for each size, would not.

Two things differ between the tools, and can be told apart here. IMB reports the mean over a
launch, we the median: the mean of our samples stands beside it. And IMB takes its buffers from
malloc, which puts them 16 bytes behind a page boundary, where ours, like OMB's, begin on one: our
launches are run with either.

    .venv/bin/python benchmarks/imb_agreement.py mpich intel --launches 8
    .venv/bin/python benchmarks/imb_agreement.py mpich intel --launches 8 --benchmark bw

With --gpu it is IMB-MPI1-GPU and `--buffers D,D`, between the two GPUs of a path. IMB-MPI1-GPU
chooses no GPU: each rank takes the first that CUDA shows it. So it sees those of the path, its own
first. Ours are told which by UUID; they are run with the GPUs as they are, and shown as to IMB.

    .venv/bin/python benchmarks/imb_agreement.py intel --gpu --launches 8

On a machine without a package index, from an unpacked bundle (made with `nearpeak bundle --imb
--mpi intel --mpi openmpi-cuda`) with the checkout beside it:

    B=$PWD/nearpeak-bundle
    export PYTHONPATH=$B/src:$B/python NEARPEAK_CACHE=$B/cache NEARPEAK_BENCH=$B/bench
    python3 benchmarks/imb_agreement.py intel --gpu --launches 8
"""

import argparse
import ctypes
import math
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import agreement

from nearpeak.errors import UserError
from nearpeak.libraries import catalogue
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.library import Library, Settings
from nearpeak.terms.path import DataPath


@dataclass(frozen=True)
class Measure:
    """A benchmark of ours, IMB's of the same, and what both tell."""

    imb: str
    unit: str
    factor: float  # from IMB's column to the unit
    sizes: list[int]
    program: str = "IMB-MPI1"
    options: tuple[str, ...] = ()
    columns: tuple[int, int] = (4, 2)  # of IMB's table: how many, and ours, from 0
    collective: bool = False  # on any number of ranks


def collective(imb: str, sizes: list[int]) -> Measure:
    """IMB's t_max: the mean over iterations, each behind a barrier, of the slowest rank."""
    columns = (4, 2) if sizes == [0] else (5, 3)  # a barrier has none of bytes
    options = ("-iter", "2000", "-iter_policy", "off", "-sync", "on")
    return Measure(imb, "us", 1.0, sizes, options=options, columns=columns, collective=True)


MOVED = [8, 1024, 65536, 1048576]
# By itself IMB-RMA calls 100 of them: first use and the lock around all count. The third number is
# that of operations each followed by a flush, the second the most MB that they may move.
ALL_FLUSHED = ("-iter", "2000,2000,2000", "-iter_policy", "off")
MEASURES = {
    "latency": Measure("PingPong", "us", 1.0, [8, 1024, 65536, 1048576]),
    "bw": Measure("Uniband", "GB/s", 1e-3, [65536, 1048576, 4194304]),
    "bibw": Measure("Biband", "GB/s", 1e-3, [65536, 1048576, 4194304]),
    "put_latency": Measure("Unidir_put", "us", 1.0, MOVED, "IMB-RMA", ALL_FLUSHED),
    "get_latency": Measure("Unidir_get", "us", 1.0, MOVED, "IMB-RMA", ALL_FLUSHED),
    "acc_latency": Measure("Accumulate", "us", 1.0, MOVED, "IMB-RMA", ALL_FLUSHED),
    "get_acc_latency": Measure("Get_accumulate", "us", 1.0, MOVED, "IMB-RMA", ALL_FLUSHED),
    "allreduce": collective("Allreduce", MOVED),
    "alltoall": collective("Alltoall", MOVED),
    "bcast": collective("Bcast", MOVED),
    "allgather": collective("Allgather", MOVED),
    "barrier": collective("Barrier", [0]),
}
GPU_SIZES = [8, 8192, 1048576, 16777216]
# By itself IMB sends 40 MB at most of each size (16 MiB twice), and 2 GB is the most that can be
# asked for. Run twice, once to warm up: 1 s where 16 MiB take 50 us, 24 s where they take 1.5 ms.
REPETITIONS = ["-iter", "4000", "-iter_policy", "off"]
# Hydra's PMI_RANK tells the rank before MPI_Init. Arguments: each rank's GPUs, then the program.
SHOW_GPUS = (
    'if [ "$PMI_RANK" = 0 ]; then gpus=$1; else gpus=$2; fi; shift 2; '
    'CUDA_VISIBLE_DEVICES=$gpus; export CUDA_VISIBLE_DEVICES; exec "$@"'
)


@dataclass(frozen=True)
class Comparison:
    """What is run: IMB's program with its options, and ours with each set of options by name."""

    path: DataPath
    benchmark: str
    sizes: list[int]
    imb: list[str]
    ours: dict[str, list[str]]
    as_imb: str  # the one of ours that sees the GPUs as IMB does
    cpus: list[int]  # of each rank
    settings: Settings  # IMB's
    limit_seconds: float

    @property
    def measure(self) -> Measure:
        return MEASURES[self.benchmark]

    @property
    def gpus(self) -> list[str]:
        """UUIDs of the GPUs at the ends; empty in host memory."""
        return [end.gpu for end in self.path.ends if end.gpu]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("libraries", nargs="*", help="default: mpich; with --gpu intel")
    parser.add_argument("--launches", type=int, default=8)
    parser.add_argument("--benchmark", choices=MEASURES, default="latency")
    parser.add_argument("--gpu", action="store_true", help="buffers in the memory of two GPUs")
    parser.add_argument("--ranks", type=int, default=2, help="of a collective operation")
    parser.add_argument("--path", help="default: host-host same-numa; with --gpu gpu-gpu nvlink")
    parser.add_argument("--limit", type=float, default=60, help="seconds that a launch may take")
    arguments = parser.parse_args()
    agreement.without_huge_pages()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            compare(arguments, Path(scratch))
    except UserError as error:
        print(f"imb_agreement: {error}", file=sys.stderr)
        sys.exit(2)


def compare(arguments: argparse.Namespace, scratch: Path) -> None:
    comparison = (gpu_comparison if arguments.gpu else host_comparison)(arguments, scratch)
    path = comparison.path
    unit = comparison.measure.unit
    print(
        f"{comparison.benchmark}, {path.id}, CPUs {comparison.cpus}, {arguments.launches} launches"
    )
    for name in arguments.libraries or (["intel"] if arguments.gpu else ["mpich"]):
        times = measured(comparison, resolve(name), arguments.launches, scratch)
        for size in comparison.sizes:
            theirs = times["IMB", size]
            print(
                f"{name:6} {size:8} B  IMB {agreement.median(theirs):9.3f} {unit}, "
                f"{len(theirs)} launches"
            )
            for who in [
                who for who, timed in times if timed == size and who in shown_of(comparison)
            ]:
                ours = times[who, size]
                words = agreement.ratio_words(ours, theirs)
                line = f"    {who:22} {agreement.median(ours):9.3f} {unit}"
                if words:
                    line += f", {words}"
                print(line)


def shown_of(comparison: Comparison) -> list[str]:
    """What of ours stands beside IMB, which tells the mean of the slowest rank."""
    more = ("", ", mean", ", t_max")
    return [f"{who}{suffix}" for who in comparison.ours for suffix in more]


def host_comparison(arguments: argparse.Namespace, scratch: Path) -> Comparison:
    path = agreement.find_path(arguments.path or "host-host same-numa", "host")
    measure = MEASURES[arguments.benchmark]
    if measure.unit == "us":
        # From a page boundary to the buffers, in bytes.
        ours = {"ours": ["--offset", "0"], "ours, as malloc": ["--offset", "16"]}
    else:
        whole = ["--in-flight", agreement.WINDOW_BYTES]
        ours = {
            "ours, single": [*whole, "--reuse", "single"],
            "ours, single, malloc": [*whole, "--reuse", "single", "--offset", "16"],
            "ours, fixed": whole,
        }
    imb = [imb_program(measure.program), measure.imb, *lengths(measure.sizes, scratch)]
    imb += measure.options
    if measure.collective:
        # IMB calls a large one for a second.
        ours["ours, 1 s"] = ["--offset", "0", "--slot-ms", "1000"]
        ours = {who: [*options, "--keep-ranks"] for who, options in ours.items()}
        cpus = agreement.cores(arguments.ranks)
        imb += ["-npmin", str(len(cpus))]
    elif arguments.ranks == 2:
        cpus = [end.cpus[0] for end in path.ends]
    else:
        raise UserError(f"{arguments.benchmark} is measured between 2 ranks")
    settings = Settings()
    return Comparison(
        path, arguments.benchmark, measure.sizes, imb, ours, "", cpus, settings, arguments.limit
    )


def gpu_comparison(arguments: argparse.Namespace, scratch: Path) -> Comparison:
    path = agreement.find_path(arguments.path or "gpu-gpu nvlink", "gpu")
    devices = ",".join(str(end.gpu) for end in path.ends)
    names = ["ours", "ours, GPUs as IMB"]
    measure = MEASURES[arguments.benchmark]
    more = ["--keep-ranks"] if measure.collective else []
    ours = {who: ["--buffers", "D,D", "--devices", devices, *more] for who in names}
    imb = [imb_program("IMB-MPI1-GPU"), measure.imb, *lengths(GPU_SIZES, scratch)]
    imb += [*(measure.options or REPETITIONS), "-mem_alloc_type", "device"]
    settings = cuda_runtime(scratch)
    cpus = [end.cpus[0] for end in path.ends]
    return Comparison(
        path, arguments.benchmark, GPU_SIZES, imb, ours, names[1], cpus, settings, arguments.limit
    )


def imb_program(name: str) -> str:
    program = resolve("intel").prefix / "bin" / name
    if not program.exists():
        raise UserError(f"no {program}: bundle it with `nearpeak bundle --mpi intel --imb`")
    return str(program)


def lengths(sizes: list[int], scratch: Path) -> list[str]:
    """IMB's options for these sizes, which it reads from a file and cuts to 4 MiB unless told."""
    file = scratch / "lengths.txt"
    file.write_text("".join(f"{size}\n" for size in sizes))
    return ["-msglen", str(file), "-msglog", f"0:{math.ceil(math.log2(max([1, *sizes])))}"]


def cuda_runtime(scratch: Path) -> Settings:
    """What lets IMB-MPI1-GPU find libcudart.so: it loads it by this name, without a version.

    Where there is no CUDA toolkit, the one in NVIDIA's wheel of UCX does. UserError without either.
    """
    try:
        ctypes.CDLL("libcudart.so")
    except OSError:
        found = [
            *sorted(Path("/usr/local").glob("cuda*/lib64/libcudart.so")),
            *sorted(catalogue.entry("ucx-cuda").prefix.glob("*.libs/libcudart*.so*")),
        ]
        if not found:
            raise UserError(
                "IMB-MPI1-GPU needs libcudart.so: put its folder in LD_LIBRARY_PATH, "
                "or run `nearpeak mpi add openmpi-cuda`, which brings one"
            ) from None
        folder = scratch / "cuda"
        folder.mkdir()
        (folder / "libcudart.so").symlink_to(found[0].resolve())
        return Settings(env={"LD_LIBRARY_PATH": str(folder)})
    return Settings()


def measured(
    comparison: Comparison, library: Library, launches: int, scratch: Path
) -> agreement.Times:
    """Every alternative once a turn."""
    times = agreement.no_times()
    steps = [partial(run_imb, comparison, library, scratch, times)]
    steps += [
        partial(run_ours, comparison, library, scratch, times, who) for who in comparison.ours
    ]
    agreement.interleaved(steps, launches)
    return times


def launch(
    comparison: Comparison,
    library: Library,
    program: list[str],
    log: Path,
    settings: Settings = Settings(),
) -> None:
    """One launch with its output in `log`."""
    limit, gpu = comparison.limit_seconds, bool(comparison.gpus)
    agreement.launch(library, program, comparison.cpus, log, limit, settings, gpu)


def shown(comparison: Comparison, program: list[str]) -> list[str]:
    """The program with the GPUs of the path to be seen, each rank's own first."""
    if not (gpus := comparison.gpus):
        return program
    orders = [",".join(dict.fromkeys(order)) for order in (gpus, gpus[::-1])]
    return ["sh", "-c", SHOW_GPUS, "sh", *orders, *program]


def run_imb(
    comparison: Comparison, library: Library, scratch: Path, times: agreement.Times, turn: int
) -> None:
    log = scratch / "IMB.log"
    launch(comparison, library, shown(comparison, comparison.imb), log, comparison.settings)
    measure = comparison.measure
    count, column = measure.columns
    for line in log.read_text(errors="replace").splitlines():
        fields = line.split()
        if len(fields) != count or not fields[0].isdigit():
            continue
        size = int(fields[0]) if measure.sizes != [0] else 0
        if size in comparison.sizes:
            # One-sided operations are measured twice; the second time with one flush for all.
            times["IMB", size].setdefault(turn, float(fields[column]) * measure.factor)


def run_ours(
    comparison: Comparison,
    library: Library,
    scratch: Path,
    times: agreement.Times,
    who: str,
    turn: int,
) -> None:
    records = scratch / "ours.jsonl"
    options = comparison.ours[who]
    program = agreement.our_program(
        library, comparison.benchmark, comparison.sizes, options, records
    )
    if who == comparison.as_imb:
        program = shown(comparison, program)
    launch(comparison, library, program, scratch / f"{who}.log")
    for record in agreement.our_samples(records):
        agreement.keep(times, who, turn, record)


if __name__ == "__main__":
    main()
