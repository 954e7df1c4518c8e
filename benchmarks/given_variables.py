# SPDX-License-Identifier: Apache-2.0
"""Measures the effect of each variable and flag that Nearpeak gives launches.

Each is left out in turn: launches with all and launches without one take turns in blocks, each in a
new random order, with a second launch with all in each block, which says how far two alike differ.
Latency at 8 B, 64 KiB and 1 MiB and windows of messages (bw) at 64 KiB and 1 MiB, in host memory,
over loopback TCP, and where there are GPUs with device buffers; in jobs of two nodes between them,
too (`--launch hosts`). Flags that let more ranks than CPUs
start are left out of such launches, too. One JSON file, written anew after each block:

    {"rows": [{"library": "openmpi", "name": "--bind-to", "launch": "H,H", "says": "alike",
               "error": "", "cases": {"latency 8 B": {"times": 1.01, "bounds": [0.98, 1.03],
               "alike": [0.97, 1.02], "blocks": 8}}}]}

`times`: how many times as long it takes without (of a rate: how many times less), by the median of
the blocks; `bounds`: the 95 % interval of that, the range with fewer than six blocks; `alike`: the
same of two launches that have all. `says`:

    does not run   without it the launch fails, each time, and with all it runs: `error` says how
    elsewhere      ranks then do not run on their CPUs or device, or with another library
    differs        in a case the bounds are on one side of 1 and of `alike`, and the median is more
                   than 10 % from 1
    alike          the bounds are within 20 % of 1 in each case where those of `alike` are; that
                   must be half of the cases or more, as the others are too noisy to say anything
    open           none of these

Proofs in src/nearpeak/libraries/given.toml name such rows. No launch begins after --seconds. Rows
of a file that is there stay, so that one file takes several runs. On a machine with other work,
`nice -n -15` before it helps.

On a machine with two GPUs, from a bundle (in its folder; this file beside it):

    NEARPEAK_CACHE=$PWD/cache NEARPEAK_BENCH=$PWD/bench PYTHONPATH=$PWD/src:$PWD/python \\
        python3 given_variables.py --mpi openmpi-cuda --mpi intel --launch D,D --seconds 170
"""

import argparse
import json
import math
import os
import random
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from nearpeak import folders
from nearpeak.errors import UserError
from nearpeak.files import write_whole
from nearpeak.launching import programs
from nearpeak.launching.paths import hosts_of_job
from nearpeak.launching.single import Single, choose
from nearpeak.launching.single_launch import LaunchFailed, figures, launched
from nearpeak.libraries import catalogue, given
from nearpeak.libraries.launch import LIBRARY_PATH, join_paths
from nearpeak.libraries.library import CommandLine, Library
from nearpeak.machine import discover
from nearpeak.numbers import size
from nearpeak.statistics.intervals import interval
from nearpeak.terms.benchmarks import named
from nearpeak.terms.command_words import PART

ALL = ""  # in the place of a name: nothing is left out
# In given.toml, by what a row says; what differs may be needed, or is settings of their own.
CLASSES = {"does not run": "needed", "elsewhere": "needed", "alike": "harmless", "differs": "?"}
FAR = 1.1  # times: less is not called a difference
SAME = 1.2  # times: bounds within it are called alike
FEWEST = 6  # blocks that anything is called by: fewer have no interval
MOST_FAILURES = 2  # of a variant: it is not started again
ELSEWHERE = "no figure of it counts: "
SIZES = {"latency": "8,64K,1M", "bw": "64K,1M"}
PATHS = {"network": "host-host tcp-loopback", "hosts": "host-host two-nodes"}  # else by buffers
CROWDED = "more ranks than CPUs"
FOR_CROWDS = ("--map-by",)  # all that is left out there: it is what these flags are for


@dataclass
class Variant:
    """Launches without one variable or flag."""

    name: str
    values: dict[int, dict[str, float]] = field(default_factory=dict)  # by block and case
    errors: list[str] = field(default_factory=list)


@dataclass
class Launches:
    """Launches of one library in one place."""

    library: str
    place: str  # its buffers, or what it is
    parts: list[tuple[Single, str]]  # with its sizes; all of them in one launch
    variants: list[Variant]
    alike: Variant = field(default_factory=lambda: Variant(ALL))
    all: Variant = field(default_factory=lambda: Variant(ALL))
    better: dict[str, str] = field(default_factory=dict)  # by case

    @property
    def chosen(self) -> Single:
        """The library and where it runs: of the first part."""
        return self.parts[0][0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--mpi", action="append", help="default: all of the catalogue that are here"
    )
    parser.add_argument(
        "--launch",
        action="append",
        help="buffers (H,H), network, crowded or hosts, which is for jobs of two nodes; "
        "default: all others that the machine has",
    )
    parser.add_argument("--name", action="append", help="leave out this one; default: each")
    parser.add_argument("--blocks", type=int, default=8, help="at most")
    parser.add_argument("--seconds", type=float, default=170.0, help="for everything")
    parser.add_argument("--limit", type=float, default=15.0, help="seconds for one launch")
    parser.add_argument("--slot-ms", default="10", help="for each case of a launch")
    parser.add_argument("--output", type=Path, default=Path("given-variables.json"))
    arguments = parser.parse_args()
    try:
        measure(arguments)
    except UserError as error:
        print(f"given_variables: {error}", file=sys.stderr)
        sys.exit(2)


def measure(arguments: argparse.Namespace) -> None:
    ends = time.monotonic() + arguments.seconds
    names = arguments.mpi or [e.name for e in catalogue.libraries().values() if e.installed]
    gpus = discover.discover().gpus
    places = arguments.launch or ["H,H", "network", "crowded", *(["D,D", "H,D"] if gpus else [])]
    planned = []
    for name in names:
        for place in places:
            try:
                planned.append(plan(name, place, arguments.name))
            except UserError as error:
                print(f"{name}, {place}: left out: {error}", file=sys.stderr)
    for launches in planned:  # what is inherited must not stand in for what is left out
        for variant in launches.variants:
            if variant.name != LIBRARY_PATH:  # the user's own stays
                os.environ.pop(variant.name, None)
    before = json.loads(arguments.output.read_text()) if arguments.output.exists() else None
    joined(before, document(planned))  # refuses a file of other libraries before measuring
    chance = random.Random(1)
    for block in range(arguments.blocks):
        for launches in planned:
            one_block(launches, block, chance, arguments, ends)
            write_whole(arguments.output, text(joined(before, document(planned))))
    show(planned, arguments.output)


def plan(name: str, place: str, only: Sequence[str] | None) -> Launches:
    """UserError where the machine has no such place."""
    if place == "crowded":
        ranks = len(os.sched_getaffinity(0)) + 1
        chosen = choose("allreduce", name, "run allreduce", ranks=ranks, oversubscribe=True)
        launches = Launches(name, CROWDED, [(chosen, "8")], [])
    else:
        path = PATHS.get(place)
        buffers = "H,H" if path else place
        hosts = ",".join(hosts_of_job()) if place == "hosts" else None
        chosen = choose("latency", name, "run latency", path=path, buffers=buffers, hosts=hosts)
        measured = programs.describe_library(chosen.library, programs.TOOLS).benchmarks
        parts = [
            (replace(chosen, benchmark=named(measured, each)), sizes)
            for each, sizes in SIZES.items()
        ]
        launches = Launches(name, place, parts, [])
    launches.library = launches.chosen.library.name  # a prefix is this machine's alone
    line = launches.chosen.line([])
    flags = [flag.name for flag in given.flags(line.argv, program(launches.chosen))]
    left_out = [n for n in dict.fromkeys([*line.env, *flags]) if n not in ("-x", "-n")]
    if place == "crowded":
        left_out = [n for n in left_out if n in FOR_CROWDS]
    launches.variants = [Variant(n) for n in left_out if not only or n in only]
    if not launches.variants:
        raise UserError("nothing is to be left out")
    return launches


def program(chosen: Single) -> list[str]:
    """The path of nearpeak-mpi in the launch line."""
    argv = chosen.line([]).argv
    return [next(word for word in argv if word.endswith("nearpeak-mpi"))]


def one_block(
    launches: Launches,
    block: int,
    chance: random.Random,
    arguments: argparse.Namespace,
    ends: float,
) -> None:
    """One launch of each, and a second one with all, until the time is over."""
    turns = [launches.all, launches.alike, *launches.variants]
    chance.shuffle(turns)
    for variant in turns:
        if time.monotonic() > ends:
            return
        if len(variant.errors) >= MOST_FAILURES or any(map(is_hung, variant.errors)):
            continue
        try:
            variant.values[block] = one_launch(launches, variant.name, arguments)
        except LaunchFailed as error:
            variant.errors.append(plain(str(error), launches.chosen.library))
        said = "ok" if block in variant.values else variant.errors[-1]
        where = f"{launches.library}, {launches.place}, without {variant.name or 'nothing'}"
        print(f"{block} {where}: {said}", flush=True)


def is_hung(error: str) -> bool:
    """Such a launch takes all the time that one may: it is not tried again."""
    return "did not end" in error


def one_launch(launches: Launches, name: str, arguments: argparse.Namespace) -> dict[str, float]:
    """The figures of a launch without `name`, by case. LaunchFailed."""
    chosen = launches.chosen
    sampling = ["--slot-ms", arguments.slot_ms, "--least-samples", "5"]

    def line(jsonl: list[str]) -> CommandLine:
        words = ["--sizes", launches.parts[0][1], *sampling, *jsonl]
        for part, sizes in launches.parts[1:]:
            words += [PART, *part.program_options(["--sizes", sizes, *sampling, *jsonl])]
        return without(chosen, chosen.line(words), name)

    with chosen.mps():
        records = launched(chosen, line, False, arguments.limit, 1.0)
    found = {}
    for measured in figures(*records):
        case = f"{measured.case.benchmark} {size(measured.case.size_bytes)}"
        found[case] = measured.value
        launches.better[case] = measured.case.better
    return found


def without(chosen: Single, line: CommandLine, name: str) -> CommandLine:
    """The line without a variable or a flag; whole for ALL. Of LD_LIBRARY_PATH only what the
    library's entry of the catalogue has: the library itself must be found."""
    if name == LIBRARY_PATH:
        library = chosen.library
        rest = join_paths(str(library.libmpi.parent), os.environ.get(LIBRARY_PATH, ""))
        return CommandLine(argv=line.argv, env={**line.env, name: rest})
    argv = list(line.argv)
    env = {key: value for key, value in line.env.items() if key != name}
    for at in [at for at in range(len(argv) - 1) if argv[at : at + 2] == ["-x", name]][::-1]:
        del argv[at : at + 2]
    for flag in given.flags(line.argv, program(chosen)):
        if flag.name == name:
            at = next(i for i in range(len(argv)) if argv[i : i + len(flag.words)] == flag.words)
            del argv[at : at + len(flag.words)]
    return CommandLine(argv=argv, env=env)


def plain(text: str, library: Library) -> str:
    """The first line, without what is this machine's alone."""
    line = text.strip().partition("\n")[0]
    names = {str(library.prefix): "PREFIX", str(folders.cache()): "CACHE"}
    for own, word in {**names, socket.gethostname(): "HOST"}.items():
        line = line.replace(own, word)
    return line[:200]


def compared(launches: Launches, variant: Variant) -> dict[str, dict[str, Any]]:
    """Compares launches without the variable to launches with all, by case."""
    found = {}
    for case, better in launches.better.items():
        ratios = times(variant, launches, case, better)
        alike = times(launches.alike, launches, case, better)
        if ratios and alike:
            found[case] = {
                "times": round(median(ratios), 3),
                "bounds": bounds(ratios),
                "alike": bounds(alike),
                "blocks": len(ratios),
            }
    return found


def bounds(ratios: Sequence[float]) -> list[float]:
    """The interval of the median; with few values, their range."""
    low, high = interval(ratios, positive=True) or (min(ratios), max(ratios))
    return [round(low, 3), round(high, 3)]


def times(variant: Variant, launches: Launches, case: str, better: str) -> list[float]:
    both = [
        b for b, v in variant.values.items() if case in v and case in launches.all.values.get(b, {})
    ]
    ratios = [variant.values[b][case] / launches.all.values[b][case] for b in both]
    return ratios if better == "lower" else [1 / ratio for ratio in ratios]


def says(variant: Variant, cases: dict[str, dict[str, Any]]) -> str:
    """Judges a variable in the words of the module's docstring."""
    if variant.errors and not variant.values:
        apart = all(error.startswith(ELSEWHERE) for error in variant.errors)
        return "elsewhere" if apart else "does not run"
    if not cases or variant.errors or min(case["blocks"] for case in cases.values()) < FEWEST:
        return "open"
    if any(map(differs, cases.values())):
        return "differs"
    quiet = [case for case in cases.values() if is_near(case["alike"])]
    enough = 2 * len(quiet) >= len(cases)
    return "alike" if enough and all(is_near(case["bounds"]) for case in quiet) else "open"


def differs(case: dict[str, Any]) -> bool:
    (low, high), (least, most) = case["bounds"], case["alike"]
    off = abs(math.log(case["times"])) > math.log(FAR)
    return off and (high < min(1.0, least) or low > max(1.0, most))


def is_near(bounds: Sequence[float]) -> bool:
    return all(abs(math.log(end)) <= math.log(SAME) for end in bounds)


def document(planned: Sequence[Launches]) -> dict[str, Any]:
    machine = discover.discover()
    rows = []
    for launches in planned:
        for variant in launches.variants:
            cases = compared(launches, variant)
            rows.append(
                {
                    "library": launches.library,
                    "name": variant.name,
                    "launch": launches.place,
                    "says": says(variant, cases) if launches.all.values else "open",
                    "error": variant.errors[0] if variant.errors else "",
                    "cases": cases,
                }
            )
    versions = {launches.library: launches.chosen.library.version for launches in planned}
    return {
        "made": time.strftime("%Y-%m-%d", time.gmtime()),
        "cpus": len(os.sched_getaffinity(0)),
        "gpus": [gpu.name for gpu in machine.gpus],
        "driver": machine.provenance.nvidia_driver or "",
        "versions": versions,
        "rows": rows,
    }


def joined(before: dict[str, Any] | None, now: dict[str, Any]) -> dict[str, Any]:
    """With the rows of a file that is there, but for those that are measured again. UserError where
    it is of another machine or version."""
    if before is None:
        return now
    for what in ("cpus", "gpus", "driver"):
        if before[what] != now[what]:
            raise UserError(f"the file is of another machine ({what} {before[what]}): name another")
    versions = {**before["versions"], **now["versions"]}
    if before["versions"].items() - versions.items():
        raise UserError(f"the file is of other versions ({before['versions']}): name another")
    again = {key(row) for row in now["rows"]}
    kept = [row for row in before["rows"] if key(row) not in again]
    return {**now, "versions": versions, "rows": [*kept, *now["rows"]]}


def key(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["library"], row["launch"], row["name"]


def text(whole: dict[str, Any]) -> str:
    """One row in a line."""
    rows = ",\n".join("  " + json.dumps(row) for row in whole["rows"])
    head = json.dumps({**whole, "rows": []}, indent=1)
    return head.replace('"rows": []', f'"rows": [\n{rows}\n ]') + "\n"


def show(planned: Sequence[Launches], output: Path) -> None:
    rows = document(planned)["rows"]
    for row in rows:
        worst = max(row["cases"].items(), key=lambda c: abs(math.log(c[1]["times"])), default=None)
        told = (
            f"{worst[0]}: {worst[1]['times']} {worst[1]['bounds']}, alike {worst[1]['alike']}"
            if worst
            else row["error"]
        )
        print(f"{row['library']:13}{row['launch']:21}{row['name']:38}{row['says']:13}{told}")
    print(f"\nWhat may be written in given.toml, where {output} is kept in benchmarks/recorded:")
    for row in rows:
        if kind := CLASSES.get(row["says"]):
            file = f"benchmarks/recorded/{output.name}"
            print(f"{kind}: {file}#{row['library']}, {row['launch']}, {row['name']}")


if __name__ == "__main__":
    main()
