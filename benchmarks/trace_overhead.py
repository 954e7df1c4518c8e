# SPDX-License-Identifier: Apache-2.0
"""How much slower does `nearpeak trace` make an application?

Runs a command as it is and with the library that counts its calls, in turn, each first in every
second pair. Prints the median of either, the median of the ratios of pairs with its interval (the
range where there are too few), and their range. What is timed is the command, without what
`nearpeak trace` does before and after it; with --time FORM what the application says itself: the
last number in its output that FORM, a regular expression, has a group for.

LAMMPS of Debian (packages lammps and lammps-examples), 4000 atoms of a liquid, 400 steps:

    sed 's/^run.*/run 400/' /usr/share/lammps/examples/melt/in.melt > in.melt
    .venv/bin/python benchmarks/trace_overhead.py --pairs 40 --time 'Loop time of ([0-9.]+)' -- \\
        mpirun -n 4 lmp -in in.melt

On a machine with other work, as root, before `mpirun`: `chrt -f 10`, with as many ranks as cores.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nearpeak.errors import UserError
from nearpeak.libraries.build import build_trace
from nearpeak.libraries.discover import resolve
from nearpeak.statistics.intervals import interval
from nearpeak.trace.application import library_of
from nearpeak.trace.run import environment


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", nargs="+")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--time", metavar="FORM", help="default: the command is timed")
    parser.add_argument("--mpi", metavar="SPEC", help="default: what the command is linked with")
    arguments = parser.parse_args()
    try:
        measure(arguments)
    except UserError as error:
        print(f"trace_overhead: {error}", file=sys.stderr)
        sys.exit(2)


def measure(arguments: argparse.Namespace) -> None:
    command = arguments.command
    library = resolve(arguments.mpi) if arguments.mpi else library_of(command)
    preload = build_trace(library)
    plain: list[float] = []
    traced: list[float] = []
    for pair in range(arguments.pairs):
        for with_trace in (False, True) if pair % 2 == 0 else (True, False):
            with tempfile.TemporaryDirectory() as folder:
                env = environment(command, library, preload, Path(folder))
                seconds = run(command, env if with_trace else dict(os.environ), arguments.time)
                if with_trace and not any(Path(folder).iterdir()):
                    raise UserError("nothing was counted: see what the command said")
            (traced if with_trace else plain).append(seconds)
        print(f"{pair + 1:3}: {plain[-1]:.4f}, traced {traced[-1]:.4f}", flush=True)
    unit = "" if arguments.time else " s"
    ratios = [slower / other for slower, other in zip(traced, plain, strict=True)]
    low, high = interval(ratios) or (min(ratios), max(ratios))
    print(
        f"{library.name} {library.version}, {len(ratios)} pairs: median"
        f" {statistics.median(plain):.4f}{unit}, traced {statistics.median(traced):.4f}{unit}"
        f" (ratio of these {statistics.median(traced) / statistics.median(plain):.4f});"
        f" least {min(plain):.4f}{unit}, traced {min(traced):.4f}{unit}"
    )
    print(
        f"ratio within pairs: median {statistics.median(ratios):.4f} [{low:.4f}, {high:.4f}],"
        f" range {min(ratios):.4f} to {max(ratios):.4f}"
    )


def run(command: list[str], env: dict[str, str], form: str | None) -> float:
    """Seconds that it took, or says itself."""
    begin = time.monotonic()
    done = subprocess.run(
        command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    seconds = time.monotonic() - begin
    if done.returncode:
        raise UserError(f"exit status {done.returncode}: {(done.stderr or done.stdout)[-500:]}")
    if form is None:
        return seconds
    told = re.findall(form, done.stdout)
    if not told:
        raise UserError(f"its output has nothing of the form {form!r}")
    return float(told[-1])


if __name__ == "__main__":
    main()
