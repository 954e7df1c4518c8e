# SPDX-License-Identifier: Apache-2.0
"""Do our latencies agree with those of the Intel MPI Benchmarks?

Runs IMB-MPI1 PingPong (from the catalogue's `intel`; it runs on any library of the MPICH ABI) and
`nearpeak-mpi latency` in interleaved launches: same library, same CPUs, same sizes. Prints for
each size both medians over the launches and their ratio.

IMB reports the mean over a launch, we the median; so that the two can be told apart, the mean of
our samples stands beside it.

    .venv/bin/python benchmarks/imb_agreement.py mpich intel --launches 8
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from functools import partial
from pathlib import Path

from nearpeak.libraries.build import build_mpi
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.launch import command_line
from nearpeak.libraries.model import Launch, Library, Rank
from nearpeak.machine.discover import discover
from nearpeak.machine.paths import discover_paths

SIZES = [8, 1024, 65536, 1048576]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("libraries", nargs="*", default=["mpich"])
    parser.add_argument("--launches", type=int, default=8)
    arguments = parser.parse_args()
    paths, _ = discover_paths(discover(), [])
    path = next(p for p in paths if p.id == "host-host same-numa")
    ranks = [Rank(cpus=end.cpus[:1]) for end in path.ends]
    imb = resolve("intel").prefix / "bin" / "IMB-MPI1"
    print(f"{path.id}, CPUs {[rank.cpus for rank in ranks]}, {arguments.launches} launches each")
    print(
        f"{'library':10} {'bytes':>8} {'IMB us':>9} {'ours us':>9} {'our mean':>9} "
        f"{'ours/IMB':>9} {'mean/IMB':>9}"
    )
    for name in arguments.libraries:
        library = resolve(name)
        theirs: dict[int, list[float]] = {size: [] for size in SIZES}
        ours: dict[int, list[float]] = {size: [] for size in SIZES}
        means: dict[int, list[float]] = {size: [] for size in SIZES}
        for turn in range(arguments.launches):
            steps = [
                partial(run_imb, library, imb, ranks, theirs),
                partial(run_ours, library, ranks, ours, means),
            ]
            for step in steps if turn % 2 else reversed(steps):
                step()
        for size in SIZES:
            imb_us, our_us, mean_us = (
                statistics.median(values[size]) for values in (theirs, ours, means)
            )
            print(
                f"{name:10} {size:8} {imb_us:9.3f} {our_us:9.3f} {mean_us:9.3f} "
                f"{our_us / imb_us:9.3f} {mean_us / imb_us:9.3f}"
            )


def launch(library: Library, ranks: list[Rank], program: list[str]) -> str:
    """Standard output of one launch, which must succeed."""
    line = command_line(library, Launch(program=program, ranks=ranks))
    done = subprocess.run(
        line.argv,
        env={**os.environ, **line.env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return done.stdout


def run_imb(library: Library, imb: Path, ranks: list[Rank], into: dict[int, list[float]]) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as lengths:
        lengths.write("".join(f"{size}\n" for size in SIZES))
        lengths.flush()
        output = launch(library, ranks, [str(imb), "PingPong", "-msglen", lengths.name])
    for line in output.splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[0].isdigit() and int(fields[0]) in into:
            into[int(fields[0])].append(float(fields[2]))


def run_ours(
    library: Library,
    ranks: list[Rank],
    medians: dict[int, list[float]],
    means: dict[int, list[float]],
) -> None:
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as records:
        sizes = ",".join(str(size) for size in SIZES)
        launch(
            library,
            ranks,
            [str(build_mpi(library)), "latency", "--sizes", sizes, "--jsonl", records.name],
        )
        for line in Path(records.name).read_text().splitlines():
            record = json.loads(line)
            if record["record"] == "samples":
                medians[record["size_bytes"]].append(statistics.median(record["samples"]))
                means[record["size_bytes"]].append(statistics.fmean(record["samples"]))


if __name__ == "__main__":
    main()
