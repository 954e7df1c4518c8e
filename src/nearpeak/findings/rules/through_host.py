# SPDX-License-Identifier: Apache-2.0
"""Messages of device memory that go through the host's."""

from collections.abc import Iterator

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.messages import Message, worst
from nearpeak.findings.sources import SLURM_GPUS
from nearpeak.observations.explained import Part

LEAST = 0.0


def find(view: View) -> Iterator[Noticed]:
    """Where buffers of both ranks are in GPUs, and the GPU copies to the host or from it."""
    yield from worst(view, _chosen, LEAST)


def _chosen(message: Message) -> list[Part]:
    if not set(message.explanation.buffers) <= set("D,"):
        return []
    return [
        part
        for part in message.budget.parts
        if part.kind == "device" and ("pageable" in part.name or "pinned" in part.name)
    ]


RULE = Rule(
    name="through_host",
    tells="Buffers of both ranks are in GPUs, and a message between them is copied to the host"
    " and back.",
    find=find,
    remedy="Look at why the GPUs are not reached directly (IPC, peer access), or, where that is"
    " slower for small messages, at the threshold from which on it is done.",
    sources=[
        SLURM_GPUS,
    ],
)
