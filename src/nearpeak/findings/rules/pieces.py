# SPDX-License-Identifier: Apache-2.0
"""Messages that the GPU gets in many small pieces."""

from collections.abc import Iterator

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.messages import Message, worst
from nearpeak.findings.sources import issue
from nearpeak.observations.explained import Part

LEAST = 0.0
MOST = 8  # pieces of a message that are told nothing of


def find(view: View) -> Iterator[Noticed]:
    """Where the GPU copies more often."""
    yield from worst(view, _chosen, LEAST)


def _chosen(message: Message) -> list[Part]:
    return [
        part
        for part in message.budget.parts
        if part.kind == "device" and part.bytes and part.count > MOST
    ]


RULE = Rule(
    name="pieces",
    tells="A message between two ranks is copied to or from the GPU in more than eight pieces.",
    find=find,
    remedy="Have larger pieces, or the other protocol: a smaller rendezvous threshold"
    " (UCX_RNDV_THRESH), larger fragments (UCX_RNDV_FRAG_SIZE), or buffers that the GPU"
    " can reach itself (pinned, IPC).",
    sources=[
        issue("openucx/ucx", 8391, "copies in small fragments, each waited for", "UCX"),
    ],
)
