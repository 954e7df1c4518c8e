# SPDX-License-Identifier: Apache-2.0
"""Records of made-up clusters, as launches would have left them."""

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np

from nearpeak.arrays import Floats, Indices
from nearpeak.nodes import plan, suspects
from nearpeak.nodes.journal import (
    SCHEMA,
    Begin,
    Launch,
    LaunchEnd,
    NodesJournal,
    Ranks,
    Recorded,
    Round,
    read,
)
from nearpeak.nodes.plan import Chosen, Rail
from nearpeak.nodes.rounds import on_nodes, on_rails
from nearpeak.nodes.topology import Level

# How many times as long messages of pairs (pairs x 2) take, of latency and of bandwidth; with rails
# an array of pairs x rails each.
Times = Callable[[Indices, bool], tuple[Floats, Floats]]
# The same within nodes: of nodes, GPUs, and the other GPUs or ranks with host memory.
TimesInside = Callable[[Indices, Indices, Indices, bool], Floats]


def chosen(count: int, **more: object) -> Chosen:
    """So many nodes, n0 to nN."""
    return Chosen(nodes=[f"n{number}" for number in range(count)], mpi="made", **more)  # type: ignore[arg-type]


def levels(*sizes: int, above: Sequence[int] = ()) -> list[Level]:
    """Leaves of so many nodes, and wider groups of so many leaves."""
    leaves = np.repeat(np.arange(len(sizes)), sizes)
    found = [Level(kind="leaf switch", names=[f"s{n}" for n in range(len(sizes))], of=[*leaves])]
    if above:
        wider = np.repeat(np.arange(len(above)), above)[leaves]
        names = [f"t{number}" for number in range(len(above))]
        found.append(Level(kind="switch of level 2", names=names, of=[*wider]))
    return [
        msgspec.structs.replace(level, of=[int(group) for group in level.of]) for level in found
    ]


def begin(of: Chosen) -> Begin:
    return Begin(
        schema=SCHEMA,
        nearpeak="0",
        started="2026-01-01T00:00:00+00:00",
        host="n0",
        library="made",
        settings="default",
        version="1",
        chosen=of,
    )


def rails(number: int) -> dict[str, object]:
    """The options for `number` GPUs on each node."""
    return {
        "buffers": "D,D",
        "rails": [Rail(gpu=str(gpu), adapter=f"mlx5_{gpu}:1") for gpu in range(number)],
    }


def record(
    folder: Path,
    of: Chosen,
    times: Times,
    launches: int | None = None,
    inside: TimesInside | None = None,
    gpus: Sequence[str] = (),
) -> Recorded:
    """A run of these nodes, or its first launches; `times` is told whether pairs are together, and
    `inside` whether it is between host and GPU. `gpus`: the names of the ranks' GPUs."""
    journal = NodesJournal(folder, begin(of))
    chance = np.random.default_rng(of.seed)
    for number, measures in enumerate(plan.planned(of)[:launches]):
        known: tuple[Indices | None, Indices | None] = (None, None)
        if measures.stage in ("sift", "again"):
            found = suspects.find(read(folder))
            known = found.pairs, found.labels
        together, alone = plan.rounds_of(of, number, *known)
        rounds = [*together, *alone]
        stage = measures.stage
        within = plan.rounds_inside(of, number) if inside else []
        begun = 3 * len(within)
        journal.append(
            Launch(
                launch=number,
                stage=stage,
                together=len(together),
                rounds=begun + len(rounds),
                inside=len(within),
                host=2 * len(within),
            )
        )
        if gpus:
            journal.append(Ranks(ranks=[{"device": {"name": name}} for name in gpus]))
        for turn, (order, pairs) in enumerate(itertools.product(range(3), within)):
            assert inside is not None
            ranks = on_nodes(pairs, len(of.nodes), of.per_node)
            low, high = (ranks % of.per_node).T
            ends = (high, low) if order == 1 else (low, high)
            ones = inside(ranks[:, 0] // of.per_node, *ends, order > 0)
            journal.append(_round(turn, ranks, ones, ones, chance))
        for turn, pairs in enumerate(rounds):
            ranks = on_rails(pairs, of.per_node)
            latency, bandwidth = times(pairs, turn < len(together))
            journal.append(_round(begun + turn, ranks, latency, bandwidth, chance))
        journal.append(LaunchEnd(launch=number, status="ok", message="", seconds=1.0))
    journal.close()
    return read(folder)


def _round(
    number: int, ranks: Indices, latency: Floats, bandwidth: Floats, chance: np.random.Generator
) -> Round:
    scatter = np.exp(0.01 * chance.standard_normal((2, len(ranks))))
    return Round(
        round=number,
        first=ranks[:, 0].tolist(),
        second=ranks[:, 1].tolist(),
        latency_us=(2.0 * latency.reshape(-1) * scatter[0]).tolist(),
        bandwidth_gbs=(10.0 / bandwidth.reshape(-1) * scatter[1]).tolist(),
    )
