# SPDX-License-Identifier: Apache-2.0
"""Messages between host memories, with the GPU support of the library on and off."""

from collections.abc import Iterator

from nearpeak.findings.evidence import WORTH, PossibleLoss, Rule, View, against
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import Reference
from nearpeak.machine.paths import GPU_SUPPORT, SAME_NUMA
from nearpeak.results.results import Source


def find(view: View) -> Iterator[PossibleLoss]:
    """Compares every cell with GPU support on with that with it off."""
    for cell, other in view.variants:
        if cell.place.gpu_support and (loss := against(cell, other, WORTH)):
            yield PossibleLoss(cell, other, loss)


SOURCES = [
    Reference(
        Source(
            text="CSCS documentation, pull request 410: from driver 580 on"
            " cuPointerGetAttributes is faster than cuPointerGetAttribute; a preloaded library"
            " that asks by it almost restores the performance of Cray MPICH",
            address="https://github.com/eth-cscs/cscs-docs/pull/410",
        )
    ),
    Reference(
        Source(
            text="Open MPI issue 14337: with CUDA drivers from 580 on messages in host memory"
            " are slower where Open MPI supports CUDA",
            address="https://github.com/open-mpi/ompi/issues/14337",
        ),
        components=("openmpi",),
    ),
]


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return (
        f"{it.who.label}, {it.other.place.path}, {it.case}: {it.measured}"
        f" with the library's GPU support on against {it.better} with it off,"
        f" {it.ratio}."
    )


RULE = Rule(
    name="gpu_support",
    tells="A message between host memories, or a collective operation, is more than"
    f" {WORTH:g} times better with the library's GPU support off (`{SAME_NUMA}` against"
    f" `{SAME_NUMA}{GPU_SUPPORT}`).",
    find=find,
    origin="settings",
    headline="{it.short}: {it.measured} with GPU support, {it.better} without ({it.times})",
    sentence=sentence,
    action="Switch GPU support off where no message has device buffers.",
    remedy="Where no message has device buffers, switch GPU support off; else put the layer before"
    " the library with it off. With NVIDIA's driver from 580 on, `nearpeak layer --only-queries`"
    " (`--mpi NAME@queries`) may help.",
    sources=SOURCES,
    is_cause=True,
)
