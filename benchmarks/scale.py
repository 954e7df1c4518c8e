# SPDX-License-Identifier: Apache-2.0
"""All pairs of many nodes, simulated: what plan, results and page take, and what is found.

    python benchmarks/scale.py        # 64, 512 and 4096 nodes: some minutes, 1 GB in /tmp
    python benchmarks/scale.py --nodes 512 --repeat 20

Records as `nearpeak nodes` writes them, of a made-up cluster: nodes differ by 1 %, links by 1.5 %,
single measurements by 3 %, and one in a hundred of these is disturbed and takes up to three times
as long; pairs below one switch (32 nodes) have a tenth less latency. Slow are 0.5 % of the nodes
and 0.1 % of the links: they take 1.3 to 2 times what is usual in latency, in bandwidth or in both.
Printed is what is asked for: a plan in 10 s, results and page in 60 s, a page of 10 MB and a memory
of 2 GiB at most, every slow one found, and at most one in 10,000 others.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nearpeak.arrays import Booleans, Floats, Indices
from nearpeak.nodes import plan, suspects
from nearpeak.nodes.journal import Begin, Launch, LaunchEnd, NodesJournal, Round, read
from nearpeak.nodes.rounds import Round as Pairs
from nearpeak.nodes.rounds import lines
from nearpeak.terms.identity import Who

NODES = (64, 512, 4096)
SLOW_NODES, SLOW_LINKS = 0.005, 0.001  # shares
SLOWER = (1.3, 2.0)  # times as long
NODES_DIFFER, LINKS_DIFFER, SCATTER = 0.01, 0.015, 0.03
DISTURBED, MOST_DISTURBED = 0.01, 3.0
SWITCH, NEARER = 32, 0.9
LATENCY_US, BANDWIDTH_GBS = 1.6, 24.0
PLAN_SECONDS, RESULT_SECONDS, PAGE_BYTES, MEMORY_BYTES = 10.0, 60.0, 10 * 10**6, 2 * 2**30


@dataclass
class Cluster:
    """Factors of time, of latency (0) and bandwidth (1)."""

    nodes: Floats  # 2 x nodes
    slow_nodes: Indices
    slow_links: Indices  # pairs x 2
    link_factors: Floats  # 2 x slow links
    seed: int

    def times(self, pairs: Indices, metric: int, chance: np.random.Generator) -> Floats:
        """Of pairs (pairs x 2), relative to what is usual."""
        one, other = pairs.T
        logarithm = self.nodes[metric, one] + self.nodes[metric, other]
        logarithm = logarithm + LINKS_DIFFER * _fixed(pairs, self.seed + metric)
        which, at = self._slow(pairs)
        if metric == 0:
            near = (one // SWITCH == other // SWITCH) & ~which
            logarithm = logarithm + math.log(NEARER) * near
        logarithm += SCATTER * chance.standard_normal(len(pairs))
        disturbed = chance.random(len(pairs)) < DISTURBED
        logarithm[disturbed] += np.log(chance.uniform(1, MOST_DISTURBED, int(disturbed.sum())))
        logarithm[which] += self.link_factors[metric, at]
        return np.asarray(np.exp(logarithm))

    def _slow(self, pairs: Indices) -> tuple[Booleans, Indices]:
        count = self.nodes.shape[1]
        known, mine = plan.keys(self.slow_links, count), plan.keys(pairs, count)
        at = np.minimum(np.searchsorted(known, mine), max(len(known) - 1, 0))
        which = known[at] == mine if len(known) else np.zeros(len(mine), dtype=bool)
        return which, at[which]


def _fixed(pairs: Indices, seed: int) -> Floats:
    """A number of a standard normal distribution for each pair, always the same."""
    mixed = (pairs[:, 0].astype(np.uint64) << np.uint64(32)) | pairs[:, 1].astype(np.uint64)
    uniform: list[Floats] = []
    for turn in range(2):  # splitmix64 (Steele, Lea and Flood, OOPSLA 2014)
        z = mixed + np.uint64((seed * 2 + turn + 1) * 0x9E3779B97F4A7C15 % 2**64)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        uniform.append(((z ^ (z >> np.uint64(31))) >> np.uint64(11)).astype(float) / 2.0**53)
    return np.asarray(np.sqrt(-2 * np.log1p(-uniform[0])) * np.cos(2 * np.pi * uniform[1]))


def cluster(count: int, seed: int) -> Cluster:
    """A made-up one."""
    chance = np.random.default_rng([count, seed])
    nodes = NODES_DIFFER * chance.standard_normal((2, count))
    slow_nodes = chance.permutation(count)[: max(round(SLOW_NODES * count), 1)]
    nodes[:, slow_nodes] += _factors(len(slow_nodes), chance)
    number = max(round(SLOW_LINKS * math.comb(count, 2)), 1)
    drawn = np.sort(chance.integers(count, size=(2 * number + 8, 2)), axis=1)
    drawn = np.unique(drawn[drawn[:, 0] < drawn[:, 1]], axis=0)
    links = drawn[np.sort(chance.permutation(len(drawn))[:number])]
    return Cluster(nodes, slow_nodes, links, _factors(len(links), chance), seed)


def _factors(number: int, chance: np.random.Generator) -> Floats:
    """2 x number: logarithms; slow in the one, in the other or in both."""
    which = chance.integers(3, size=number)
    found = np.log(chance.uniform(*SLOWER, size=(2, number)))
    found[0, which == 1] = 0
    found[1, which == 0] = 0
    return found


def record(folder: Path, made: Cluster) -> float:
    """Writes the records of a run; the seconds that its plan has taken."""
    count = made.nodes.shape[1]
    chosen = plan.Chosen(
        nodes=[f"node{number:04}" for number in range(count)], mpi="simulated", seed=made.seed
    )
    begin = Begin(
        schema=1,
        nearpeak="simulated",
        started="2026-01-01T00:00:00+00:00",
        host="node0000",
        library=Who("simulated").library,
        settings="default",
        version="1",
        chosen=chosen,
    )
    journal = NodesJournal(folder, begin)
    chance = np.random.default_rng([count, made.seed, 1])
    seconds = 0.0
    known: dict[str, Indices | None] = {"whole": None, "survey": None}
    for number, measures in enumerate(plan.planned(chosen)):
        if measures.stage not in known:
            known[measures.stage] = suspects.find(read(folder)).pairs
        started = time.monotonic()
        together, alone = plan.rounds_of(chosen, number, known[measures.stage])
        with (folder / "rounds").open("w") as out:
            out.writelines(f"{line}\n" for line in lines([*together, *alone]))
        seconds = max(seconds, time.monotonic() - started)
        every = [*together, *alone]
        journal.append(
            Launch(launch=number, stage=measures.stage, together=len(together), rounds=len(every))
        )
        for turn, pairs in enumerate(every):
            journal.append(_round(turn, pairs, made, chance))
        journal.append(LaunchEnd(launch=number, status="ok", message="", seconds=60.0))
    journal.close()
    return seconds


def _round(number: int, pairs: Pairs, made: Cluster, chance: np.random.Generator) -> Round:
    latency = LATENCY_US * made.times(pairs, 0, chance)
    bandwidth = BANDWIDTH_GBS / made.times(pairs, 1, chance)
    return Round(
        round=number,
        first=pairs[:, 0].tolist(),
        second=pairs[:, 1].tolist(),
        latency_us=np.round(latency, 4).tolist(),
        bandwidth_gbs=np.round(bandwidth, 4).tolist(),
    )


@dataclass
class Judged:
    """What was found of what was planted."""

    planted: int
    missed: int
    others: int  # nodes and links that are not slow
    false: int


def judge(folder: Path, made: Cluster) -> Judged:
    """By nodes.json: nodes and links, each by its metric."""
    found = json.loads((folder / "nodes.json").read_text())
    numbers = {name: number for number, name in enumerate(found["nodes"])}
    said = {
        (verdict["metric"], *sorted(numbers[name] for name in verdict["nodes"]))
        for verdict in found["verdicts"]
    }
    slow: set[tuple[str | int, ...]] = set()
    for metric, name in enumerate(METRICS):
        factors = made.nodes[metric, made.slow_nodes]
        for node, factor in zip(made.slow_nodes.tolist(), factors.tolist(), strict=True):
            if factor > math.log(SLOWER[0]) / 2:  # in this metric, with what nodes differ by
                slow.add((name, node))
        for ends, factor in zip(
            made.slow_links.tolist(), made.link_factors[metric].tolist(), strict=True
        ):
            if factor > 0:
                slow.add((name, *ends))
    count = made.nodes.shape[1]
    others = 2 * (count + math.comb(count, 2)) - len(slow)
    return Judged(len(slow), len(slow - said), others, len(said - slow))


def report(folder: Path) -> tuple[float, int]:
    """Seconds and bytes of memory that results and page take, in a process of their own."""
    program = Path(sys.executable).with_name("nearpeak")
    code = (
        "import resource, subprocess, sys; "
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
    )
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code, str(program), "report", str(folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    return time.monotonic() - started, int(done.stdout)


def run(count: int, seed: int) -> bool:
    """One cluster; whether all that is asked for is met."""
    with tempfile.TemporaryDirectory(prefix="nearpeak-scale-") as name:
        folder = Path(name) / "nodes"
        made = cluster(count, seed)
        planning = record(folder, made)
        seconds, memory = report(folder)
        page = (folder / "nodes.html").stat().st_size
        judged = judge(folder, made)
    met = (
        planning <= PLAN_SECONDS
        and seconds <= RESULT_SECONDS
        and page <= PAGE_BYTES
        and memory <= MEMORY_BYTES
        and judged.missed == 0
        and judged.false * 10_000 <= judged.others
    )
    print(
        f"{count} nodes: plan {planning:.1f} s; results and page {seconds:.1f} s, "
        f"{memory / 2**20:.0f} MiB; page {page / 1e6:.2f} MB; {judged.planted} slow planted, "
        f"{judged.missed} missed; {judged.false} of {judged.others} others called slow: "
        + ("met" if met else "NOT MET"),
        flush=True,
    )
    return met


def main(words: Sequence[str] | None = None) -> int:
    """1 where something is not met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=NODES)
    parser.add_argument("--repeat", type=int, default=1, help="clusters of each number of nodes")
    parser.add_argument("--seed", type=int, default=0, help="of the first cluster")
    given = parser.parse_args(words)
    met = [run(count, given.seed + turn) for count in given.nodes for turn in range(given.repeat)]
    print(f"{sum(met)} of {len(met)} met")
    return int(not all(met))


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(main())
