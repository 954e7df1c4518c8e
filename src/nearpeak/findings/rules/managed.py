# SPDX-License-Identifier: Apache-2.0
"""Managed memory, compared with device memory in the same case."""

from collections.abc import Iterator

from nearpeak.findings.evidence import WORTH, PossibleLoss, Rule, View
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import Reference
from nearpeak.results.results import Source


def find(view: View) -> Iterator[PossibleLoss]:
    """Compares every cell with M with that with D instead."""
    return view.with_memory("M", "D", WORTH)


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return (
        f"{it.subject}: {it.measured} against {it.better} with {it.other.case.buffers}, {it.ratio}."
    )


RULE = Rule(
    name="managed",
    tells=f"The same case with a device's own buffers (`D`) is more than {WORTH:g} times better"
    " than with managed ones (`M`).",
    find=find,
    origin="software",
    headline="{it.short}: {it.measured}, {it.better} with {it.other.case.buffers} ({it.times})",
    sentence=sentence,
    action="Communicate from memory of cudaMalloc or hipMalloc.",
    remedy="Communicate from buffers of cudaMalloc or hipMalloc, and keep managed memory for the"
    " rest.",
    sources=[
        Reference(
            Source(
                text="ucx-py #836: UCX moves managed memory between GPUs through bounce buffers",
                address="https://github.com/rapidsai/ucx-py/pull/836",
            ),
            components=("ucx",),
            memory="managed",
        ),
    ],
)
