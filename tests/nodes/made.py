# SPDX-License-Identifier: Apache-2.0
"""Records of made-up clusters, as launches would have left them."""

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
    Recorded,
    Round,
    read,
)
from nearpeak.nodes.plan import Chosen
from nearpeak.nodes.topology import Level

# How many times as long messages of pairs (pairs x 2) take, of latency and of bandwidth.
Times = Callable[[Indices, bool], tuple[Floats, Floats]]


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


def record(folder: Path, of: Chosen, times: Times, launches: int | None = None) -> Recorded:
    """A run of these nodes, or its first launches; `times` is told whether pairs are together."""
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
        journal.append(
            Launch(launch=number, stage=stage, together=len(together), rounds=len(rounds))
        )
        for turn, pairs in enumerate(rounds):
            scatter = np.exp(0.01 * chance.standard_normal((2, len(pairs))))
            latency, bandwidth = times(pairs, turn < len(together))
            journal.append(
                Round(
                    round=turn,
                    first=pairs[:, 0].tolist(),
                    second=pairs[:, 1].tolist(),
                    latency_us=(2.0 * latency * scatter[0]).tolist(),
                    bandwidth_gbs=(10.0 / bandwidth * scatter[1]).tolist(),
                )
            )
        journal.append(LaunchEnd(launch=number, status="ok", message="", seconds=1.0))
    journal.close()
    return read(folder)
