# SPDX-License-Identifier: Apache-2.0
"""Collective operations on device memory, compared with the host's and the copies."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

import msgspec

from nearpeak.findings.evidence import WORTH, PossibleLoss, Rule, View, expected
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import of_openmpi
from nearpeak.observations.imported import SOME_RANKS
from nearpeak.observations.observed import Block
from nearpeak.results.results import CeilingPoint, Cell
from nearpeak.statistics.comparisons import better_in
from nearpeak.terms.buffers import HOST, in_gpu
from nearpeak.terms.identity import Case, Place, Who

KIND_OF = {"gpu": "D", "host": "H"}  # the buffers of each kind of end


def find(view: View) -> Iterator[PossibleLoss]:
    """Compares operations on device memory with the same ones of as many ranks in host memory."""
    on_host: dict[tuple[Who, Case, int], list[Cell]] = defaultdict(list)
    cells = [cell for cell in view.unstaged if cell.place.path != SOME_RANKS]
    for cell in cells:
        if cell.case.buffers == HOST and view.benchmarks[cell.case.benchmark].traffic:
            on_host[cell.who, cell.case, len(cell.place.ends)].append(cell)
    for cell in cells:
        traffic = view.benchmarks[cell.case.benchmark].traffic
        ranks = len(cell.place.ends)
        if traffic is None or not in_gpu(cell.case.buffers) or cell.unit != "us" or not cell.case.x:
            continue
        copies = _copies(view, cell, traffic.algorithm_bytes(1, ranks))
        case = msgspec.structs.replace(cell.case, buffers=HOST)
        for other in on_host[cell.who, case, ranks]:
            if _same_transport(cell.place, other.place) and (
                possible_loss := _compare(cell, other, copies)
            ):
                yield possible_loss


def _same_transport(place: Place, other: Place) -> bool:
    """True if both have the same transport and number of hosts."""
    return (place.transport, place.hosts) == (other.transport, other.hosts)


def _compare(cell: Cell, other: Cell, copies: Mapping[Block, float]) -> PossibleLoss | None:
    staged = {block: us + copies[block] for block, us in other.by_block.items() if block in copies}
    ratios = better_in(staged, cell.by_block, cell.better)
    loss = expected(cell, ratios, dict.fromkeys(ratios, WORTH))
    return PossibleLoss(cell, other, loss) if loss else None


def _copies(view: View, cell: Cell, pieces: int) -> dict[Block, float]:
    """The time (us) to copy this many pieces of the size of the case to the host and back.

    By the best ceiling of such messages between host and GPU inside a host.
    """
    points = _between(view, cell.case.x)
    best = min(points, key=lambda point: point.value, default=None)
    return {block: 2 * pieces * us for block, us in best.readings[0].items()} if best else {}


def _between(view: View, size_bytes: int) -> Iterator[CeilingPoint]:
    for path in view.observations.paths:
        place = path.place
        if sorted(place.ends) != ["gpu", "host"] or path.between_hosts:
            continue
        buffers = ",".join(KIND_OF[end] for end in place.ends)
        for benchmark in view.benchmarks.values():
            if benchmark.one_message:
                name = benchmark.name
                metric = benchmark.main.name
                case = Case(benchmark=name, metric=metric, buffers=buffers, axes={}, x=size_bytes)
                if point := view.ceilings.point(place, case):
                    yield point


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return (
        f"{it.subject}: {it.measured} against {it.better} on the host"
        f" ({it.other.place.path}): {it.ratio_in_blocks} as long as there with the copies to"
        " the host and back."
    )


RULE = Rule(
    name="collectives",
    tells=f"A collective operation on device memory takes more than {WORTH:g} times as long as the"
    " same between as many ranks on the host and the copies of all data to the host and back, by"
    " the ceiling of messages between the host and a GPU.",
    find=find,
    origin="software",
    headline="{it.short}: {it.times_in_blocks} as long as on the host, copies included",
    sentence=sentence,
    remedy="Copy the data to the host for such operations, or use NCCL or RCCL.",
    sources=[
        of_openmpi(2397, "MPI_Allreduce on device memory far slower")._replace(memory="device"),
    ],
)
