# SPDX-License-Identifier: Apache-2.0
"""Do our latencies agree with those of the Intel MPI Benchmarks?

Runs IMB-MPI1 PingPong (from the catalogue's `intel`; it runs on any library of the MPICH ABI) and
`nearpeak-mpi latency` in interleaved launches: same library, same CPUs, same sizes. Prints for
each size the medians over the launches and the ratio of ours to IMB's, paired by turn, with its
interval.

Two things differ between the tools, and can be told apart here. IMB reports the mean over a
launch, we the median: the mean of our samples stands beside it. And IMB takes its buffers from
malloc, which puts them 16 bytes behind a page boundary, where ours, like OMB's, begin on one: our
launches are run with either.

    .venv/bin/python benchmarks/imb_agreement.py mpich intel --launches 8
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from collections import defaultdict
from functools import partial
from pathlib import Path

from nearpeak.libraries.build import build_mpi
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.launch import command_line
from nearpeak.libraries.model import Launch, Library, Rank
from nearpeak.machine.discover import discover
from nearpeak.machine.paths import discover_paths
from nearpeak.study.precision import interval

SIZES = [8, 1024, 65536, 1048576]
OURS = {"ours": "0", "ours, as malloc": "16"}  # bytes from a page boundary to the buffers

Times = dict[tuple[str, int], list[float]]  # (who, size): us of each launch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("libraries", nargs="*", default=["mpich"])
    parser.add_argument("--launches", type=int, default=8)
    arguments = parser.parse_args()
    paths, _ = discover_paths(discover(), [])
    path = next(p for p in paths if p.id == "host-host same-numa")
    ranks = [Rank(cpus=end.cpus[:1]) for end in path.ends]
    print(f"{path.id}, CPUs {[rank.cpus for rank in ranks]}, {arguments.launches} launches each")
    for name in arguments.libraries:
        times = interleaved(resolve(name), ranks, arguments.launches)
        for size in SIZES:
            theirs = times["IMB", size]
            print(f"{name:6} {size:8} B  IMB {statistics.median(theirs):9.3f} us")
            for who in [who for who, one in times if one == size and who != "IMB"]:
                ours = times[who, size]
                ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
                low, high = interval(ratios) or (min(ratios), max(ratios))
                print(
                    f"    {who:22} {statistics.median(ours):9.3f} us, ratio "
                    f"{statistics.median(ratios):.3f} [{low:.3f}, {high:.3f}]"
                )


def interleaved(library: Library, ranks: list[Rank], launches: int) -> Times:
    """Every alternative once a turn, in an order that changes from turn to turn."""
    times: Times = defaultdict(list)
    steps = [partial(run_imb, library, ranks, times)]
    steps += [partial(run_ours, library, ranks, times, who) for who in OURS]
    for turn in range(launches):
        for index in range(len(steps)):
            steps[(turn + index) % len(steps)]()
    return times


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


def run_imb(library: Library, ranks: list[Rank], times: Times) -> None:
    imb = resolve("intel").prefix / "bin" / "IMB-MPI1"
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as lengths:
        lengths.write("".join(f"{size}\n" for size in SIZES))
        lengths.flush()
        output = launch(library, ranks, [str(imb), "PingPong", "-msglen", lengths.name])
    for line in output.splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[0].isdigit() and int(fields[0]) in SIZES:
            times["IMB", int(fields[0])].append(float(fields[2]))


def run_ours(library: Library, ranks: list[Rank], times: Times, who: str) -> None:
    sizes = ",".join(str(size) for size in SIZES)
    options = ["--sizes", sizes, "--offset", OURS[who]]
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as records:
        program = [str(build_mpi(library)), "latency", *options, "--jsonl", records.name]
        launch(library, ranks, program)
        for line in Path(records.name).read_text().splitlines():
            record = json.loads(line)
            if record["record"] == "samples":
                samples, size = record["samples"], record["size_bytes"]
                times[who, size].append(statistics.median(samples))
                times[f"{who}, mean", size].append(statistics.fmean(samples))


if __name__ == "__main__":
    main()
