# SPDX-License-Identifier: Apache-2.0
"""Do the programs of two builds measure the same? Those of a bundle, and this machine's compiler's.

Runs both in interleaved launches on the same two CPUs. Prints for each benchmark and size the
medians over the launches and the ratio of the other's to ours, paired by turn, with its interval
(of fewer than six launches the range). Ceilings (`pair`, `memory`) move bytes by themselves, so
that the compiler can matter most. OTHER is a cache folder, as that of an unpacked bundle:

    .venv/bin/nearpeak bundle -o b.tar.xz --mpi mpich && tar xf b.tar.xz
    .venv/bin/python benchmarks/portable_build.py mpich nearpeak-bundle/cache --launches 12
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import agreement

from nearpeak.errors import UserError
from nearpeak.libraries import build
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.library import Library

SIZES = "8,8K,64K,1M,4M"
OURS = [
    ["latency", "--sizes", SIZES],
    ["bw", "--sizes", SIZES],
    ["allreduce", "--sizes", SIZES],
    ["vector", "--sizes", SIZES],
    ["jacobi2d", "--sizes", "1024"],
]
HERE, OTHER = "here", "other"
LIMIT_SECONDS = 120


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", help="as of `nearpeak mpi list`, like mpich")
    parser.add_argument("other", type=Path, help="a cache folder with other programs")
    parser.add_argument("--launches", type=int, default=12)
    arguments = parser.parse_args()
    try:
        library = resolve(arguments.library)
        two = [end.cpus[0] for end in agreement.find_path("host-host same-numa", "host").ends]
        cpus = ",".join(map(str, two))
        ceilings = [
            ["pair", "--cpus", cpus, "--sizes", SIZES, "--metrics", "latency,bw"],
            ["memory", "--cpus", cpus, "--memory-node", "0"],
        ]
        ours = {"mpi": build.build_mpi(library), "native": build.build_native()}
        programs = {
            name: {
                HERE: program,
                OTHER: arguments.other / "build" / program.parent.name / program.name,
            }
            for name, program in ours.items()
        }
        with tempfile.TemporaryDirectory() as scratch:
            for words in OURS:
                compare(words, arguments.launches, programs["mpi"], Path(scratch), library, two)
            for words in ceilings:
                compare(words, arguments.launches, programs["native"], Path(scratch))
    except UserError as error:
        print(f"portable_build: {error}", file=sys.stderr)
        sys.exit(2)


def compare(
    words: Sequence[str],
    launches: int,
    programs: dict[str, Path],
    scratch: Path,
    library: Library | None = None,
    cpus: Sequence[int] = (),
) -> None:
    """A line for each figure of a command line; `library`: who launches it, unless nobody does."""
    values: dict[str, dict[str, dict[int, float]]] = {HERE: {}, OTHER: {}}

    def run(who: str, turn: int) -> None:
        records, log = scratch / "records.jsonl", scratch / f"{who}.log"
        records.unlink(missing_ok=True)
        command = [str(programs[who]), *words, "--jsonl", str(records)]
        if library:
            agreement.launch(library, command, cpus, log, LIMIT_SECONDS)
        else:
            subprocess.run(command, capture_output=True, timeout=LIMIT_SECONDS, check=True)
        for record in agreement.our_samples(records):
            figure = " ".join(
                str(record[key])
                for key in ("metric", "method", "size_bytes")
                if record.get(key) is not None
            )
            values[who].setdefault(figure, {})[turn] = statistics.median(record["samples"])

    agreement.interleaved([partial(run, who) for who in programs], launches)
    print(" ".join(words))
    for figure, here in values[HERE].items():
        other = values[OTHER].get(figure, {})
        print(
            f"{figure:40} {agreement.median(here):12.4g} {agreement.median(other):12.4g}  "
            f"{agreement.ratio_words(other, here)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
