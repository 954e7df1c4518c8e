# SPDX-License-Identifier: Apache-2.0
"""One-sided operations slower than messages with the same bytes."""

from collections.abc import Iterator

from nearpeak.findings.evidence import WORTH, PossibleLoss, Rule, View, against, times
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import of_openmpi
from nearpeak.terms.axes import state_of
from nearpeak.terms.buffers import turned

ROUND_TRIP = 2.0  # messages: the time of an operation includes its acknowledgement or request


def find(view: View) -> Iterator[PossibleLoss]:
    """Compares every operation with the messages that bound it, in the direction of its data."""
    for cell in view.unstaged:
        benchmark = view.benchmarks[cell.case.benchmark]
        if benchmark.one_sided is None or benchmark.bound_by is None:
            continue
        buffers = cell.case.buffers
        moved = turned(buffers) if benchmark.one_sided == "get" else buffers
        scaled = ROUND_TRIP if cell.unit == "us" else 1.0
        for other in view.cells_like(cell, benchmark.bound_by, moved):
            if state_of(other.case.axes) != state_of(cell.case.axes) or other.unit != cell.unit:
                continue
            if loss := against(cell, times(other, scaled), WORTH):
                yield PossibleLoss(cell, other, loss, scaled)


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    messages = "messages of as many bytes"
    if it.evidence("own").unit == "us":
        messages = "a message of as many bytes there and one back"
    return (
        f"{it.subject}: {it.measured} against {it.better} of"
        f" {it.other.case.figure}, {messages}, {it.ratio}."
    )


RULE = Rule(
    name="one_sided",
    tells=f"A rate of puts or gets is more than {WORTH:g} times worse than that of messages, or one"
    f" of them takes more than {WORTH:g} times as long as a message of as many bytes there and one"
    " back: it must be acknowledged, or asked for.",
    find=find,
    origin="software",
    headline="{it.short}: {it.measured}, {it.better} by messages ({it.times})",
    sentence=sentence,
    remedy="Send messages instead, or try other windows and synchronisation (`win`, `sync`).",
    axes=["win", "sync"],
    sources=[
        of_openmpi(8652, "MPI_Put far below MPI_Send", "ucx"),
        of_openmpi(10573, "MPI_Get at a fraction of point-to-point", "ucx")._replace(
            hosts="several"
        ),
    ],
)
