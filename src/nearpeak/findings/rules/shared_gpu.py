# SPDX-License-Identifier: Apache-2.0
"""A rank with host memory that holds the GPU of the other rank, compared with a private one."""

from collections.abc import Iterator

from nearpeak.findings.evidence import WORTH, PossibleLoss, Rule, View, against
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import Reference
from nearpeak.machine.gpu_paths import NEAR, NEAR_SAME_GPU
from nearpeak.results.results import Source


def find(view: View) -> Iterator[PossibleLoss]:
    """Compares every cell of two ranks that hold one GPU with that of ranks that do not."""
    for cell, other in view.variants:
        if cell.place.host_device == "same" and (loss := against(cell, other, WORTH)):
            yield PossibleLoss(cell, other, loss)


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return (
        f"{it.who.label}, {it.other.place.path}, {it.case}: {it.better}"
        f" where the host's rank holds a GPU of its own against {it.measured} where both ranks"
        f" hold the same one, time-sliced, {it.ratio}."
    )


RULE = Rule(
    name="shared_gpu",
    tells=f"A message between the host's memory and a GPU is more than {WORTH:g} times better where"
    f" the host's rank holds a GPU of its own (`{NEAR}` against `{NEAR_SAME_GPU}`).",
    find=find,
    origin="placement",
    headline="{it.short}: {it.measured} on one GPU, {it.better} on two ({it.times})",
    sentence=sentence,
    action="Give each rank a GPU of its own, or use MPS.",
    remedy="Give each rank a GPU of its own, or run ranks that share one under MPS.",
    sources=[
        Reference(
            Source(
                text="NVIDIA, Multi-Process Service: without it a GPU has the work of one process"
                " at a time, and switches between processes",
                address="https://docs.nvidia.com/deploy/mps/when-to-use-mps.html",
            )
        ),
    ],
    is_cause=True,
)
