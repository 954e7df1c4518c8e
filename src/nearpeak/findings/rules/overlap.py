# SPDX-License-Identifier: Apache-2.0
"""Communication that does not go on during computation."""

from collections.abc import Iterator

from nearpeak.findings.evidence import Rule, Seen, View, expected
from nearpeak.findings.settings import Setting
from nearpeak.findings.sources import Reference
from nearpeak.results.results import Source
from nearpeak.statistics.comparisons import better_in

# Times longer than the longer one of both alone: of two that are as long as each other, at most
# half is hidden. Where nothing is hidden it is 2.
LIMIT = 1.5


def find(view: View) -> Iterator[Seen]:
    """Every ratio of both at once to the longer one alone, beside the best that there can be."""
    for cell in view.unstaged:
        if cell.overlap is not None:
            ratios = better_in(view.attainable(cell), cell.by_block, cell.better)
            if found := expected(cell, ratios, dict.fromkeys(ratios, LIMIT)):
                yield Seen(cell, None, found)


RULE = Rule(
    name="overlap",
    tells=f"A nonblocking operation and a computation at once take more than {LIMIT:g} times as"
    " long as the longer one of them alone. That is no loss: what copies with a core hides nothing"
    " behind that core's work.",
    find=find,
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
