# SPDX-License-Identifier: Apache-2.0
"""One GPU shared by the ranks, with a daemon of MPS and without."""

from collections.abc import Iterator

from nearpeak.findings.evidence import WORTH, PossibleLoss, Rule, View, against
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import Reference
from nearpeak.results.results import Source


def find(view: View) -> Iterator[PossibleLoss]:
    """Compares every cell with that of the path that differs only in the daemon."""
    for cell, other in view.variants:
        if other.place.mps == cell.place.mps:
            continue
        for worse, better in ((cell, other), (other, cell)):
            if loss := against(worse, better, WORTH):
                yield PossibleLoss(worse, better, loss)


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    better = it.other.place
    ways = ("under MPS", "without") if better.mps else ("without MPS", "under it")
    without = it.place if better.mps else better
    return (
        f"{it.who.label}, {without.path}, {it.case}: {it.better} {ways[0]}"
        f" against {it.measured} {ways[1]}, {it.ratio}."
    )


RULE = Rule(
    name="mps",
    tells=f"One GPU shared by the ranks is more than {WORTH:g} times better under MPS than without,"
    " or the other way round.",
    find=find,
    origin="placement",
    headline="{it.short}: {it.measured} {it.mps}, {it.better} {it.other_mps} ({it.times})",
    sentence=sentence,
    action="Let ranks share a GPU {it.other_mps}.",
    remedy="Start MPS where it is faster (`nvidia-cuda-mps-control -d`), and end it where it is"
    " slower.",
    sources=[
        Reference(
            Source(
                text="NVIDIA, Multi-Process Service: kernels and copies of several processes"
                " overlap, and the GPU need not switch between them",
                address="https://docs.nvidia.com/deploy/mps/when-to-use-mps.html",
            )
        ),
    ],
    is_cause=True,
)
