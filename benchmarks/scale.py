# SPDX-License-Identifier: Apache-2.0
"""All pairs of simulated clusters with switches: what is found, who is named in error, the price.

    python benchmarks/scale.py                      # all clusters but those of 4096 nodes
    python benchmarks/scale.py --clusters tree-4096 dragonfly-4096 fat-tree-4096 gpus-4096
    python benchmarks/scale.py --clusters 24+8 --repeat 20 --unknown
    python benchmarks/scale.py --clusters 24+8 --repeat 20 --planted 1.2

Records as `nearpeak nodes` writes them, of made-up clusters (CLUSTERS): trees of two and three
levels, dragonflies, and rails, whose leaf switch has one adapter of each node; and nodes of several
GPUs with an adapter each. Farther pairs have a longer latency. The bandwidth of a pair is that of
its slowest part. Uplinks are tapered: pairs of a round share them, by a route that each pair has of
its own, or evenly.

Nodes differ by 1 %, links by 1.5 %. A value deviates as a launch of the recorded studies in
examples/ does from the median of its cell: by 6 % (robust standard deviation), one in a hundred by
more than 36 %. Slow are a node (by 1.1), another (by 1.2), a link (by 1.6), an uplink (by 1.5) and
a leaf (by 1.3), each in a leaf of its own, as far as there are as many. `--planted FACTOR` plants
one node alone, `--planted 1` nothing, `--unknown` gives no groups. Of clusters with GPUs, slow are
a node (by 1.2), three GPUs of other nodes (two by 1.3, one of them with host memory alone, one by
1.1) and a rail (by 1.25); `--planted` plants nothing there.

Printed is what is found, who else is named, and what plan, results and page of the first cluster
take. Seconds are those of a CPU, as the machine may be shared. Asked for are a plan in 10 s,
results and page in 60 s, a page of 10 MB, and 2 GiB of memory at most.
"""

import argparse
import itertools
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from verdict_power import recorded

from nearpeak.arrays import Floats, Indices
from nearpeak.nodes import plan, suspects
from nearpeak.nodes.build import build, to_json
from nearpeak.nodes.journal import (
    SCHEMA,
    Begin,
    Launch,
    LaunchEnd,
    NodesJournal,
    Ranks,
    Round,
    read,
)
from nearpeak.nodes.plan import Rail
from nearpeak.nodes.rounds import Round as Pairs
from nearpeak.nodes.rounds import lines, on_nodes, on_rails
from nearpeak.nodes.topology import Level
from nearpeak.statistics.nested import distances
from nearpeak.terms.buffers import HOST
from nearpeak.terms.identity import Who

NODES_DIFFER, LINKS_DIFFER = 0.01, 0.015
LATENCY_US, BANDWIDTH_GBS = 1.6, 24.0
PLAN_SECONDS, RESULT_SECONDS, PAGE_BYTES, MEMORY_BYTES = 10.0, 60.0, 10 * 10**6, 2 * 2**30
SLOW_NODES, SLOW_LINK, SLOW_UPLINK, BAD_LEAF = (1.1, 1.2), 1.6, 1.5, 1.3
SLOW_GPU, SLOW_RAIL, OLDER = 1.3, 1.25, 1.5
DRAWS = 4096  # values of the recorded scatter
Chance = np.random.Generator
Named = tuple[str, tuple[int, ...]]


class Cluster(NamedTuple):
    """A kind of cluster."""

    leaves: tuple[int, ...]  # nodes of each
    farther: tuple[float, ...]  # times the latency, by distance above a leaf
    above: tuple[int, ...] = ()  # leaves of each wider group
    taper: float = 1.0  # nodes of a leaf for each of its uplinks
    static: bool = False  # each pair has a route of its own, so that some share an uplink
    gpus: int = 0  # of each node, each with an adapter: the rails
    older: int = 0  # nodes, the last ones, whose GPUs are of another kind (by OLDER within a node)


CLUSTERS = {
    "flat-4": Cluster((4,), ()),
    "2+2": Cluster((2, 2), (1.3,)),
    "flat-16": Cluster((16,), ()),
    "24+8": Cluster((24, 8), (1.15,)),
    "48+16": Cluster((48, 16), (1.2,)),
    "8+4": Cluster((8, 4), (1.3,)),
    "12+4 8+4": Cluster((12, 4, 8, 4), (1.15, 1.35), (2, 2)),
    "tree-64": Cluster((16,) * 4, (1.15,)),
    "tapered-64": Cluster((16,) * 4, (1.15,), taper=2),
    "static-64": Cluster((16,) * 4, (1.15,), taper=2, static=True),
    "fat-tree-64": Cluster((8,) * 8, (1.15, 1.3), (4, 4), taper=2),
    "dragonfly-64": Cluster((4,) * 16, (1.1, 1.4), (4,) * 4, static=True),
    "gpus-8": Cluster((8,), (), gpus=4),
    "gpus-12+4": Cluster((16,), (), gpus=4, older=4),
    "gpus-64": Cluster((16,) * 4, (1.15,), gpus=8),
    "gpus-128": Cluster((16,) * 8, (1.15,), gpus=8),
    "gpus-512": Cluster((32,) * 16, (1.15,), gpus=8),
    "gpus-4096": Cluster((64,) * 64, (1.15,), gpus=8),
    "tree-512": Cluster((32,) * 16, (1.15,), taper=2),
    "static-512": Cluster((32,) * 16, (1.15,), taper=2, static=True),
    "fat-tree-512": Cluster((16,) * 32, (1.15, 1.3), (8,) * 4, taper=2),
    "dragonfly-512": Cluster((8,) * 64, (1.1, 1.4), (8,) * 8, static=True),
    "rails-512": Cluster((64,) * 8, (1.25,)),
    "tree-4096": Cluster((64,) * 64, (1.15,), taper=2),
    "fat-tree-4096": Cluster((32,) * 128, (1.15, 1.3), (8,) * 16, taper=2),
    "dragonfly-4096": Cluster((16,) * 256, (1.1, 1.4), (16,) * 16, static=True),
}


@dataclass
class Made:
    """A cluster, and its slow parts. Logarithms of times: of latency (0) and of bandwidth (1)."""

    cluster: Cluster
    groups: list[Indices]  # of each node, by level
    nodes: Floats  # of each node
    seed: int
    leaf: int | None = None  # slow within, and to all others
    uplink: int | None = None  # the leaf
    link: tuple[int, int] | None = None
    gpus: Floats = field(default_factory=lambda: np.zeros((1, 1)))  # of each GPU: nodes x rails
    rails: Floats = field(default_factory=lambda: np.zeros(1))  # of each rail
    host: Floats = field(default_factory=lambda: np.zeros((1, 1)))  # of each GPU with host memory
    slow: dict[Named, float] = field(default_factory=dict)
    scatter: Floats = field(default_factory=lambda: _scatter())

    def times(self, pairs: Indices, chance: np.random.Generator, *, alone: bool) -> Floats:
        """Draws the times of the pairs of a round, each on all rails: 2 x (pairs x rails)."""
        number = len(self.rails)
        rail = np.tile(np.arange(number), len(pairs))
        pairs = np.repeat(pairs, number, axis=0)
        one, other = pairs.T
        far = distances(one, other, self.groups)
        latency = np.log(np.array([1.0, *self.cluster.farther]))[far]
        own = self.nodes[one] + self.nodes[other] + LINKS_DIFFER * _fixed(pairs, self.seed, rail)
        own = own + self.rails[rail]
        if number > 1:
            own = own + self.gpus[one, rail] + self.gpus[other, rail]
        if self.link is not None:
            own = own + math.log(SLOW_LINK) * (pairs == self.link).all(axis=1)
        leaves = self.groups[0]
        crosses = far > 0
        for leaf, factor in ((self.leaf, BAD_LEAF), (self.uplink, SLOW_UPLINK)):
            touched = (leaves[one] == leaf) | (leaves[other] == leaf)
            own = own + math.log(factor) * (touched & (crosses | (leaf == self.leaf)))
        # Each rail has switches of its own.
        load = np.zeros(len(pairs)) if alone or number > 1 else self._load(pairs, crosses)
        values = np.stack([latency + own, np.maximum(own, load)])
        return values + self.scatter[chance.integers(DRAWS, size=values.shape)]

    def inside(
        self,
        node: Indices,
        gpu: Indices,
        other: Indices,
        chance: np.random.Generator,
        *,
        host: bool,
    ) -> Floats:
        """Draws the times within nodes: 2 x pairs. Two GPUs share a switch."""
        far = np.where((gpu ^ other) == 1, 0.0, math.log(1.4))
        if host:
            own = far + self.host[node, gpu]
        else:
            own = far + self.gpus[node, gpu] + self.gpus[node, other]
        older = node >= len(self.nodes) - self.cluster.older
        own = own + math.log(OLDER) * older
        return np.asarray(own + self.scatter[chance.integers(DRAWS, size=(2, len(node)))])

    def _load(self, pairs: Indices, crosses: np.ndarray) -> Floats:
        """Returns the factor by which shared uplinks of leaves slow each pair."""
        sizes = np.array(self.cluster.leaves)
        uplinks = np.maximum(sizes / self.cluster.taper, 1).astype(np.intp)
        ends = self.groups[0][pairs].T
        if self.cluster.static:
            route = (np.abs(_fixed(pairs, 0)) * 1e6).astype(np.intp)
            places = [leaf * 4096 + route % uplinks[leaf] for leaf in ends]
        else:
            places = [leaf * 4096 for leaf in ends]
        flows = np.bincount(
            np.concatenate([place[crosses] for place in places]),
            minlength=4096 * len(sizes) + 1,
        )
        wide = 1 if self.cluster.static else uplinks
        shares = [
            flows[place] / (wide if self.cluster.static else wide[leaf])  # type: ignore[index]
            for place, leaf in zip(places, ends, strict=True)
        ]
        return np.asarray(np.log(np.maximum(np.maximum(*shares), 1.0)) * crosses)


def _scatter() -> Floats:
    """Values of the recorded launches, relative to the median of their cell."""
    curves = [curve - np.median(curve, axis=1, keepdims=True) for curve in recorded()]
    every = np.sort(np.concatenate([curve.reshape(-1) for curve in curves]))
    return np.asarray(np.quantile(every, (np.arange(DRAWS) + 0.5) / DRAWS))


def _fixed(pairs: Indices, seed: int, rail: Indices | None = None) -> Floats:
    """A number of a standard normal distribution for each pair on its rail, always the same."""
    mixed = (pairs[:, 0].astype(np.uint64) << np.uint64(32)) | pairs[:, 1].astype(np.uint64)
    if rail is not None:
        mixed |= rail.astype(np.uint64) << np.uint64(24)
    uniform: list[Floats] = []
    for turn in range(2):  # splitmix64 (Steele, Lea and Flood, OOPSLA 2014)
        z = mixed + np.uint64((seed * 2 + turn + 1) * 0x9E3779B97F4A7C15 % 2**64)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        uniform.append(((z ^ (z >> np.uint64(31))) >> np.uint64(11)).astype(float) / 2.0**53)
    return np.asarray(np.sqrt(-2 * np.log1p(-uniform[0])) * np.cos(2 * np.pi * uniform[1]))


def made(cluster: Cluster, seed: int, planted: float | None) -> Made:
    """A cluster with its slow parts, or with one slow node alone."""
    chance = np.random.default_rng([len(cluster.leaves), seed])
    leaves = np.repeat(np.arange(len(cluster.leaves)), cluster.leaves)
    groups = [leaves]
    if cluster.above:
        groups.append(np.repeat(np.arange(len(cluster.above)), cluster.above)[leaves])
    nodes = NODES_DIFFER * chance.standard_normal(len(leaves))
    found = Made(cluster, groups, nodes, seed)
    places = chance.permutation(len(cluster.leaves)).tolist()
    if cluster.gpus:
        _with_gpus(found, chance, healthy=planted is not None)
        return found

    def node(leaf: int) -> int:
        return int(chance.choice(np.flatnonzero(leaves == leaf)))

    if planted is not None:
        if planted > 1:
            _plant(found, node(places[0]), planted)
        return found
    for leaf, factor in zip(places, SLOW_NODES, strict=False):
        _plant(found, node(leaf), factor)
    if len(places) >= 4:
        found.link = (min(ends := (node(places[2]), node(places[3]))), max(ends))
        found.slow["link", found.link] = SLOW_LINK
    if len(places) >= 8:
        found.uplink, found.leaf = places[4], places[5]
        found.slow["uplink", (found.uplink,)] = SLOW_UPLINK
        found.slow["group", (found.leaf,)] = BAD_LEAF
    return found


def _with_gpus(found: Made, chance: np.random.Generator, *, healthy: bool) -> None:
    """Gives each node its GPUs. Unless all are healthy, a node, three GPUs and a rail are slow: one
    GPU is slow to all others, one to host memory alone, one is a little slow."""
    count, rails = len(found.nodes), found.cluster.gpus
    found.gpus = NODES_DIFFER * chance.standard_normal((count, rails))
    found.host = NODES_DIFFER * chance.standard_normal((count, rails))
    found.rails = np.zeros(rails)
    if healthy:
        return
    nodes, numbers = chance.permutation(count).tolist(), chance.permutation(rails).tolist()
    _plant(found, nodes[0], SLOW_NODES[1])
    for node, rail, table, factor in (
        (nodes[1], numbers[0], found.gpus, SLOW_GPU),
        (nodes[2], numbers[1], found.gpus, SLOW_NODES[0]),
        (nodes[3], numbers[2], found.host, SLOW_GPU),
    ):
        table[node, rail] = math.log(factor)
        found.slow["GPU", (node, rail)] = factor
    found.rails[numbers[3]] = math.log(SLOW_RAIL)
    found.slow["rail", (numbers[3],)] = SLOW_RAIL


def _plant(found: Made, node: int, factor: float) -> None:
    found.nodes[node] = math.log(factor)
    found.slow["node", (node,)] = factor


def levels_of(cluster: Made) -> list[Level]:
    """The groups, as Slurm would name them."""
    kinds = ("leaf switch", "switch of level 2")
    return [
        Level(kind=kind, names=[f"s{level}-{n}" for n in range(int(of.max()) + 1)], of=of.tolist())
        for level, (kind, of) in enumerate(zip(kinds, cluster.groups, strict=False))
    ]


def record(folder: Path, cluster: Made, *, unknown: bool) -> float:
    """Writes the records of a run; the seconds that its plan has taken."""
    count = len(cluster.nodes)
    chosen = plan.Chosen(
        nodes=[f"node{number:04}" for number in range(count)],
        mpi="simulated",
        seed=cluster.seed,
        levels=[] if unknown else levels_of(cluster),
        levels_from="" if unknown else "Slurm",
        rails=[Rail(gpu=str(gpu), adapter="made") for gpu in range(cluster.cluster.gpus)],
        buffers="D,D" if cluster.cluster.gpus else HOST,
    )
    begin = Begin(
        schema=SCHEMA,
        nearpeak="simulated",
        started="2026-01-01T00:00:00+00:00",
        host="node0000",
        library=Who("simulated").library,
        settings="default",
        version="1",
        chosen=chosen,
    )
    journal = NodesJournal(folder, begin)
    chance = np.random.default_rng([count, cluster.seed, 1])
    seconds = 0.0
    known: dict[str, suspects.Suspects] = {}
    for number, measures in enumerate(plan.planned(chosen)):
        again: tuple[Indices, Indices | None] | tuple[()] = ()
        if measures.stage in ("sift", "again"):
            if measures.stage not in known:
                known[measures.stage] = suspects.find(read(folder))
            again = known[measures.stage].pairs, known[measures.stage].labels
        started = time.process_time()
        together, alone = plan.rounds_of(chosen, number, *again)
        every = [*together, *alone]
        with (folder / "rounds").open("w") as out:
            out.writelines(f"{line}\n" for line in lines(every))
        seconds = max(seconds, time.process_time() - started)
        rails = chosen.per_node
        if cluster.cluster.gpus:
            journal.append(Ranks(ranks=[*_ranks(cluster)]))
        inside = plan.rounds_inside(chosen, number)
        begun = 3 * len(inside)
        journal.append(
            Launch(
                launch=number,
                stage=measures.stage,
                together=len(together),
                rounds=begun + len(every),
                inside=len(inside),
                host=2 * len(inside),
            )
        )
        for turn, (order, pairs) in enumerate(itertools.product(range(3), inside)):
            ranks = on_nodes(pairs, count, rails)
            low, high = (ranks % rails).T
            ends = (high, low) if order == 1 else (low, high)
            values = cluster.inside(ranks[:, 0] // rails, *ends, chance, host=order > 0)
            journal.append(_round(turn, ranks, values))
        for turn, pairs in enumerate(together):
            values = cluster.times(pairs, chance, alone=False)
            journal.append(_round(begun + turn, on_rails(pairs, rails), values))
        if alone:
            values = cluster.times(np.concatenate(alone), chance, alone=True)
            begun += len(together)
            for turn, pairs in enumerate(alone):
                columns = values[:, turn * rails : (turn + 1) * rails]
                journal.append(_round(begun + turn, on_rails(pairs, rails), columns))
        journal.append(LaunchEnd(launch=number, status="ok", message="", seconds=60.0))
    journal.close()
    return seconds


def _ranks(cluster: Made) -> Iterator[dict[str, object]]:
    """Yields the GPU of each rank, with its name alone: the results use nothing else of it."""
    for node in range(len(cluster.nodes)):
        name = "older" if node >= len(cluster.nodes) - cluster.cluster.older else "usual"
        for _ in range(cluster.cluster.gpus):
            yield {"device": {"name": name}}


def _round(number: int, pairs: Pairs, values: Floats) -> Round:
    return Round(
        round=number,
        first=pairs[:, 0].tolist(),
        second=pairs[:, 1].tolist(),
        latency_us=np.round(LATENCY_US * np.exp(values[0]), 4).tolist(),
        bandwidth_gbs=np.round(BANDWIDTH_GBS * np.exp(-values[1]), 4).tolist(),
    )


def named(found: dict[str, Any], cluster: Made) -> set[Named]:
    """Returns everything that nodes.json calls slow in any metric. A group is that of its first
    node. A slow GPU is found if it is named alone, or together with its NIC or host memory; its NIC
    alone is named in error."""
    numbers = {name: number for number, name in enumerate(found["nodes"])}
    groups = [
        {group["name"]: int(of[group["nodes"][0]]) for group in level["groups"]}
        for level, of in zip(found["levels"], cluster.groups, strict=False)
    ]
    said: set[Named] = set()
    for verdict in found["verdicts"]:
        index = numbers if verdict["level"] is None else groups[verdict["level"]]
        ends = tuple(sorted(index[name] for name in verdict["groups"] or verdict["nodes"]))
        kind = verdict["kind"] if not verdict["level"] else f"{verdict['kind']} of level 2"
        if verdict["rail"] is not None:
            part = "NIC" if verdict["part"] == "NIC" else "GPU"
            kind = {"node": part, "rail": "rail"}.get(kind, f"{kind} of a rail")
            ends = (*ends, verdict["rail"])
        said.add((kind, ends))
    return said


def report(folder: Path) -> tuple[float, int]:
    """Seconds of a CPU and bytes of memory that results and page take, by themselves."""
    code = (
        "import resource, subprocess, sys; "
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); "
        "used = resource.getrusage(resource.RUSAGE_CHILDREN); "
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)"
    )
    command = [str(Path(sys.executable).with_name("nearpeak")), "report", str(folder)]
    done = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, check=True
    )
    seconds, memory = done.stdout.split()
    return float(seconds), int(memory)


def run(name: str, repeat: int, seed: int, planted: float | None, *, unknown: bool) -> bool:
    """Clusters of one kind; whether all that is asked for is met."""
    found: Counter[str] = Counter()
    all_planted: Counter[str] = Counter()
    false: Counter[str] = Counter()
    runs = 0
    worst = [0.0, 0.0, 0, 0]  # seconds of plan and report, bytes of memory and page
    for turn in range(repeat):
        with tempfile.TemporaryDirectory(prefix="nearpeak-scale-") as place:
            folder = Path(place) / "nodes"
            cluster = made(CLUSTERS[name], seed + turn, planted)
            planning = record(folder, cluster, unknown=unknown)
            if turn:
                costs = (planning, 0.0, 0, 0)
                found_here = to_json(build(read(folder)))
            else:  # as users do, in a process of its own
                costs = (planning, *report(folder), (folder / "nodes.html").stat().st_size)
                found_here = (folder / "nodes.json").read_text()
            said = named(json.loads(found_here), cluster)
        for (kind, ends), factor in cluster.slow.items():
            all_planted[f"{kind} {factor:g}"] += 1
            found[f"{kind} {factor:g}"] += (kind, ends) in said
        # All pairs that leave a bad leaf are slow, too.
        others = said - cluster.slow.keys() - {("uplink", (cluster.leaf,))}
        false.update(kind for kind, _ in others)
        runs += bool(others)
        worst = [*map(max, worst, costs)]
    limits = (PLAN_SECONDS, RESULT_SECONDS, MEMORY_BYTES, PAGE_BYTES)
    met = all(value <= limit for value, limit in zip(worst, limits, strict=True))
    parts = [f"{kind} {found[kind]}/{number}" for kind, number in all_planted.items()]
    print(
        f"{name}{' unknown' * unknown}: found {', '.join(parts) or '-'}; named in error in"
        f" {runs} of {repeat} runs {dict(false) or ''}; plan {worst[0]:.1f} s, results and page"
        f" {worst[1]:.1f} s, {worst[2] / 2**20:.0f} MiB, page {worst[3] / 1e6:.2f} MB"
        + ("" if met else ": NOT MET"),
        flush=True,
    )
    return met


def main(words: Sequence[str] | None = None) -> int:
    """1 where something is not met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    default = [name for name in CLUSTERS if not name.endswith("-4096")]
    parser.add_argument("--clusters", nargs="+", default=default, choices=[*CLUSTERS])
    parser.add_argument("--repeat", type=int, default=2, help="clusters of each kind")
    parser.add_argument("--seed", type=int, default=0, help="of the first cluster")
    parser.add_argument("--planted", type=float, help="how slow one node is; nothing else")
    parser.add_argument("--unknown", action="store_true", help="without groups")
    given = parser.parse_args(words)
    met = [
        run(name, given.repeat, given.seed, given.planted, unknown=given.unknown)
        for name in given.clusters
    ]
    return int(not all(met))


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(main())
