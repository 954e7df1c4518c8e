# SPDX-License-Identifier: Apache-2.0
"""Missing communication/computation overlap."""

from collections.abc import Iterator

from nearpeak.findings.evidence import PossibleLoss, Rule, View, expected
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.settings import Setting
from nearpeak.findings.sources import Reference
from nearpeak.numbers import number
from nearpeak.results.results import Source
from nearpeak.statistics.comparisons import better_in

# Times the longer one of both alone. Equal parts hide at most half of their sum; without overlap it
# is 2.
LIMIT = 1.5


def find(view: View) -> Iterator[PossibleLoss]:
    """Compares every ratio of both at once to the longer one alone with the best possible."""
    for cell in view.unstaged:
        if cell.overlap is not None:
            ratios = better_in(view.attainable(cell), cell.by_block, cell.better)
            if loss := expected(cell, ratios, dict.fromkeys(ratios, LIMIT)):
                yield PossibleLoss(cell, None, loss)


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return (
        f"{it.subject}: beside a computation that takes about as long, both take"
        f" {number(it.evidence('own').value)} times as long as the longer one alone."
        " How much this path could hide was not measured."
    )


RULE = Rule(
    name="overlap",
    tells=f"A nonblocking operation and a computation at once take more than {LIMIT:g} times as"
    " long as the longer one of them alone. That is no loss: what copies with a core hides nothing"
    " behind that core's work.",
    find=find,
    origin="software",
    headline="{it.short}: hardly overlaps with a computation",
    sentence=sentence,
    action="Call MPI_Test during the computation.",
    remedy="Call MPI_Test now and then during the computation, or let the library progress by"
    " itself.",
    settings=[
        Setting("mpich", "MPIR_CVAR_ASYNC_PROGRESS", "1", "a thread of its own makes progress"),
        Setting("intel", "I_MPI_ASYNC_PROGRESS", "1", "a thread of its own makes progress"),
    ],
    sources=[
        Reference(
            Source(
                text='T. Hoefler and A. Lumsdaine, "Message progression in parallel computing: to'
                ' thread or not to thread?", IEEE Cluster 2008',
                address="https://doi.org/10.1109/CLUSTR.2008.4663774",
            )
        ),
    ],
    does_less=True,
)
