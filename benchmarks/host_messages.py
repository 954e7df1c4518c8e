# SPDX-License-Identifier: Apache-2.0
"""Measures what GPU support costs messages in host memory, and which cure helps, by OMB.

OMB's osu_latency and osu_bw between two ranks and osu_allreduce between many, all with buffers in
host memory, under the makers' defaults (makers.py). Launches without GPU support, with it, and
with each cure take turns in blocks, each in a new random order:

    off       the library's GPU support is switched off
    on        it is on, and the ranks hold no GPU
    context   it is on, and each rank holds a GPU, as in an application with device buffers
              (plain/hold_context.c)
    queries   as `context`, behind `nearpeak layer --only-queries`
    layer     off, behind `nearpeak layer`, which takes device buffers; each rank holds a GPU

Each line of the table is a median over the blocks, how many times as long it takes as `off` (of a
rate: how many times less), and the bounds of that: the 95 % interval, or the range of fewer than
six blocks. One JSON file has all of it, written anew after each block:

    {"rows": [{"mpi": "intel", "way": "on", "case": "latency 8 B", "unit": "us",
               "blocks": {"0": 2.6}, "median": 2.6, "times": [6.2, 5.9, 6.4]}]}

OMB is what plain_agreement.py --prepare builds:

    .venv/bin/python benchmarks/plain_agreement.py --prepare DIR --omb-source osu-7.4.tar.gz
    cc -O2 -shared -fPIC benchmarks/plain/hold_context.c -o DIR/hold_context.so -ldl
    .venv/bin/python benchmarks/host_messages.py --omb DIR/omb --hold-context DIR/hold_context.so
"""

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import makers
from plain_agreement import find_omb, read_omb

from nearpeak.errors import UserError
from nearpeak.launching.process import run_tree
from nearpeak.libraries.build import build_layer, build_queries
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.library import CommandLine
from nearpeak.machine import discover
from nearpeak.statistics.intervals import interval

OFF, ON, CONTEXT, QUERIES, LAYER = "off", "on", "context", "queries", "layer"
# What switches GPU support of a library in MAKERS on and off; an empty row: it has no switch on.
SWITCH: dict[str, dict[str, dict[str, str]]] = {
    "intel": {ON: {"I_MPI_OFFLOAD": "1"}, OFF: {"I_MPI_OFFLOAD": "0"}},
    "openmpi-cuda": {
        ON: {},
        OFF: {
            "UCX_TLS": "^cuda",
            "OMPI_MCA_accelerator": "null",
            # Else it refuses UCX, as none of the transports of its list is there.
            "OMPI_MCA_opal_common_ucx_tls": "any",
        },
    },
    "mpich": {OFF: {}},
}
# Settings beside the makers' defaults that may be a cure, or that are said to be worse.
SETTINGS: dict[str, dict[str, dict[str, str]]] = {
    "openmpi-cuda": {"cache-off": {"UCX_MEMTYPE_CACHE": "n"}},
}
MANY = 0  # ranks: as many as were asked for


@dataclass(frozen=True)
class Launch:
    """One launch of OMB."""

    program: str
    sizes: str  # as OMB's -m has them
    ranks: int
    iterations: int
    unit: str
    cases: Mapping[int, str]  # by size in bytes


LAUNCHES = {
    "latency": Launch("latency", "8:8192", 2, 10_000, "us", {8: "8 B", 8192: "8 KiB"}),
    "bw": Launch("bw", "65536:65536", 2, 200, "MB/s", {65536: "64 KiB"}),
    "allreduce": Launch("allreduce", "8:8", MANY, 5_000, "us", {8: "8 B"}),
}


@dataclass(frozen=True)
class Way:
    """A way to start the ranks of one library."""

    mpi: str
    name: str
    env: Mapping[str, str]
    preload: Path | None = None
    context: bool = False


@dataclass
class Row:
    """The figures of one way in one launch, by case and block."""

    way: Way
    launch: Launch
    values: dict[str, dict[int, float]] = field(default_factory=dict)
    failure: str = ""

    @property
    def cases(self) -> list[str]:
        return [f"{self.launch.program} {size}" for size in self.launch.cases.values()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--omb", type=Path, required=True, metavar="DIR")
    parser.add_argument(
        "--hold-context", type=Path, required=True, metavar="FILE", help="plain/hold_context.c"
    )
    parser.add_argument("--mpi", action="append", help=f"repeated; default: {', '.join(SWITCH)}")
    parser.add_argument("--way", action="append", help="repeated; default: each")
    parser.add_argument(
        "--launch", action="append", choices=LAUNCHES, help="repeated; default: each"
    )
    parser.add_argument("--ranks", type=int, default=16, help="of the allreduce; default: 16")
    parser.add_argument("--blocks", type=int, default=8, help="at most; default: 8")
    parser.add_argument("--seconds", type=float, default=300, help="for everything")
    parser.add_argument("-o", "--output", type=Path, default=Path("host-messages.json"))
    arguments = parser.parse_args()
    try:
        measure(arguments)
    except UserError as error:
        print(f"host_messages: {error}", file=sys.stderr)
        sys.exit(2)


def measure(arguments: argparse.Namespace) -> None:
    ends = time.monotonic() + arguments.seconds
    ways = [way for mpi in arguments.mpi or SWITCH for way in ways_of(mpi)]
    ways = [way for way in ways if not arguments.way or way.name in arguments.way]
    rows = [Row(way, LAUNCHES[name]) for way in ways for name in arguments.launch or LAUNCHES]
    shell, _ = makers.without_settings(os.environ)
    chance = random.Random(1)
    for block in range(arguments.blocks):
        for row in chance.sample(rows, len(rows)):
            if time.monotonic() < ends and not row.failure:
                one_launch(row, block, arguments, shell)
        arguments.output.write_text(json.dumps(document(rows), indent=1) + "\n", "utf-8")
        print(f"block {block}: {ends - time.monotonic():.0f} s are left", flush=True)
        if time.monotonic() >= ends:
            break
    show(rows)


def ways_of(mpi: str) -> list[Way]:
    """UserError for a library without a row in SWITCH."""
    if mpi not in SWITCH:
        raise UserError(f"{mpi} has no row in SWITCH: add what switches its GPU support")
    switch = SWITCH[mpi]
    ways = [
        Way(mpi, OFF, switch[OFF]),
        Way(mpi, LAYER, switch[OFF], build_layer(resolve(mpi)), context=True),
    ]
    if ON in switch:
        on = switch[ON]
        ways += [
            Way(mpi, ON, on),
            Way(mpi, CONTEXT, on, context=True),
            Way(mpi, QUERIES, on, build_queries(), context=True),
        ]
        for name, env in SETTINGS.get(mpi, {}).items():
            ways += [
                Way(mpi, name, {**on, **env}, context=True),
                Way(mpi, f"{name} {QUERIES}", {**on, **env}, build_queries(), context=True),
            ]
    return ways


def one_launch(
    row: Row, block: int, arguments: argparse.Namespace, shell: Mapping[str, str]
) -> None:
    """Keeps its figures, or its failure."""
    launch = row.launch
    program = find_omb(arguments.omb, makers.MAKERS[row.way.mpi].abi, launch.program)
    words = [str(program), "-m", launch.sizes, "-i", str(launch.iterations), "-x", "200"]
    preloads = [arguments.hold_context] if row.way.context else []
    preloads += [row.way.preload] if row.way.preload else []
    if preloads:
        words = ["env", f"LD_PRELOAD={':'.join(map(str, preloads))}", *words]
    cpus = [str(cpu) for cpu in sorted(os.sched_getaffinity(0))][: launch.ranks or arguments.ranks]
    line = makers.command_line(row.way.mpi, words, cpus, gpus=bool(discover.discover().gpus))
    line = CommandLine(argv=line.argv, env={**shell, **line.env, **row.way.env})
    log = arguments.output.with_suffix(".log")
    log.unlink(missing_ok=True)
    outcome = run_tree(line.argv, env=line.env, log=log, limit_seconds=40)
    said = log.read_text("utf-8", errors="replace") if log.exists() else ""
    figures = read_omb(said)
    if outcome.end != "exited" or outcome.exit_status or not launch.cases.keys() <= figures.keys():
        row.failure = f"{outcome.end} {outcome.exit_status}: {said.strip()[-600:]}"
        print(f"{row.way.mpi} {row.way.name}, {launch.program}: {row.failure}", flush=True)
        return
    for size, case in zip(launch.cases, row.cases, strict=True):
        row.values.setdefault(case, {})[block] = figures[size]


def document(rows: Sequence[Row]) -> dict[str, Any]:
    machine = discover.discover()
    off = {(row.way.mpi, row.launch.program): row for row in rows if row.way.name == OFF}
    return {
        "made": time.strftime("%Y-%m-%d", time.gmtime()),
        "gpus": [gpu.name for gpu in machine.gpus],
        "driver": machine.provenance.nvidia_driver or "",
        "versions": {mpi: resolve(mpi).version for mpi in {row.way.mpi for row in rows}},
        "rows": [
            {
                "mpi": row.way.mpi,
                "way": row.way.name,
                "env": dict(row.way.env),
                "case": case,
                "unit": row.launch.unit,
                "blocks": row.values.get(case, {}),
                "median": median(row.values[case].values()) if case in row.values else None,
                "times": times(row, off.get((row.way.mpi, row.launch.program)), case),
                "failure": row.failure,
            }
            for row in rows
            for case in row.cases
        ],
    }


def times(row: Row, off: Row | None, case: str) -> list[float] | None:
    """Says how many times as long as `off` a row takes, with bounds; None without common blocks."""
    own, others = row.values.get(case, {}), off.values.get(case, {}) if off else {}
    both = [block for block in own if block in others]
    if not both or row is off:
        return None
    ratios = [own[block] / others[block] for block in both]
    if row.launch.unit != "us":
        ratios = [1 / ratio for ratio in ratios]
    low, high = interval(ratios, positive=True) or (min(ratios), max(ratios))
    return [round(value, 3) for value in (median(ratios), low, high)]


def show(rows: Sequence[Row]) -> None:
    cases = list(dict.fromkeys(case for row in rows for case in row.cases))
    print(f"\n{'':13} {'':18}" + "".join(f"{case:>34}" for case in cases))
    ways = list(dict.fromkeys((row.way.mpi, row.way.name) for row in rows))
    cells = {(row["mpi"], row["way"], row["case"]): row for row in document(rows)["rows"]}
    for mpi, name in ways:
        shown = [words(cells[mpi, name, case]) for case in cases]
        print(f"{mpi:13} {name:18}" + "".join(f"{text:>34}" for text in shown))


def words(cell: Mapping[str, Any]) -> str:
    if cell["median"] is None:
        return "failed" if cell["failure"] else "-"
    ratio = "{:.2f} [{:.2f}, {:.2f}]".format(*cell["times"]) if cell["times"] else ""
    return f"{cell['median']:.4g} {cell['unit']} {ratio}"


if __name__ == "__main__":
    main()
