# SPDX-License-Identifier: Apache-2.0
"""Ordinary host buffers, compared with pinned ones in the same case."""

from collections.abc import Iterator

from nearpeak.findings.evidence import WORTH, PossibleLoss, Rule, View
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import Reference
from nearpeak.results.results import Source


def find(view: View) -> Iterator[PossibleLoss]:
    """Compares every cell with H with that with P instead."""
    return view.with_memory("H", "P", WORTH)


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return (
        f"{it.subject}: {it.measured} against {it.better} with {it.other.case.buffers}, {it.ratio}."
    )


RULE = Rule(
    name="pageable",
    tells=f"The same case with pinned host buffers (`P`) is more than {WORTH:g} times better than"
    " with ordinary ones (`H`).",
    find=find,
    origin="software",
    headline="{it.short}: {it.measured}, {it.better} with {it.other.case.buffers} ({it.times})",
    sentence=sentence,
    action="Allocate the host's side as pinned memory, or pin it.",
    remedy="Allocate the host's side of such messages as pinned memory (cudaMallocHost,"
    " hipHostMalloc), or pin it (cudaHostRegister).",
    sources=[
        Reference(
            Source(
                text="NVIDIA, CUDA driver API, cuMemAllocHost: a device reads and writes"
                " page-locked memory with much higher bandwidth than pageable memory",
                address="https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html",
            )
        ),
    ],
)
