# SPDX-License-Identifier: Apache-2.0
"""The cost of a rank, or a NIC, far from its GPU."""

from collections.abc import Iterator

from nearpeak.findings.evidence import PossibleLoss, Rule, View, against
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import FAR_ADAPTER, Reference
from nearpeak.machine.gpu_paths import FAR, FAR_NIC, NEAR, TWO_NODES
from nearpeak.results.results import Source

LIMIT = 1.2  # times better: where ranks and adapters are is easily changed
NEARER = {FAR: NEAR, FAR_NIC: TWO_NODES}


def find(view: View) -> Iterator[PossibleLoss]:
    """Compares every cell of a far path with that of the near path."""
    cells = {(cell.who, cell.place.path, cell.case): cell for cell in view.unstaged}
    for cell in view.unstaged:
        other = cells.get((cell.who, NEARER.get(cell.place.path, ""), cell.case))
        if other is not None and (loss := against(cell, other, LIMIT)):
            yield PossibleLoss(cell, other, loss)


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return f"{it.subject}: {it.measured} against {it.better} on {it.other.place.path}, {it.ratio}."


RULE = Rule(
    name="far",
    tells=f"A figure is more than {LIMIT:g} times better if the rank runs at the NUMA node of its"
    f" GPU (`{NEAR}` against `{FAR}`), or through an adapter of that node (`{TWO_NODES}` against"
    f" `{FAR_NIC}`).",
    find=find,
    origin="placement",
    headline="{it.short}: {it.measured}, {it.better} on {it.other.place.path} ({it.times})",
    sentence=sentence,
    action="Bind each rank to cores near its GPU, and choose the adapter near it.",
    remedy="Bind each rank to cores near its GPU, and choose the adapter near it (nvidia-smi topo"
    " -m shows which; UCX_NET_DEVICES, one for each rank).",
    sources=[
        Reference(
            Source(
                text='C. Pearson and others, "Evaluating characteristics of CUDA communication'
                ' primitives on high-bandwidth interconnects", ICPE 2019',
                address="https://doi.org/10.1145/3297663.3310299",
            )
        ),
        FAR_ADAPTER,
    ],
    is_cause=True,
)
