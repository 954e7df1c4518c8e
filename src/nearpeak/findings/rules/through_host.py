# SPDX-License-Identifier: Apache-2.0
"""Messages of device memory that go through the host's."""

from collections.abc import Iterator

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.messages import COPIES, Message, worst
from nearpeak.findings.sources import SLURM_GPUS
from nearpeak.observations.explained import Explanation, Part

LEAST = 0.1  # of the time of a message
# In the names of copies: within a GPU, and to a peer.
DIRECTLY = ("device to device", "to another GPU")


def find(view: View) -> Iterator[Noticed]:
    """Where buffers of both ranks are in GPUs, and the GPU copies to the host or from it."""
    yield from worst(view, _chosen, LEAST)


def _chosen(message: Message) -> list[Part]:
    explained = message.explanation
    if not set(explained.buffers) <= set("D,") or _directly(explained):
        return []
    return [
        part
        for part in message.budget.parts
        if part.kind == "device" and ("pageable" in part.name or "pinned" in part.name)
    ]


def _directly(explained: Explanation) -> bool:
    """Whether messages of any size go from one device to the other."""
    budgets = (budget for case in explained.cases for budget in case.budgets)
    parts = (part for budget in budgets for part in budget.parts)
    return any(
        part.kind == "device" and any(way in part.name for way in DIRECTLY) for part in parts
    )


RULE = Rule(
    name="through_host",
    tells="Buffers of both ranks are in GPUs, and messages between them are copied to the host and"
    " back, at all sizes that were looked at: these copies take a tenth or more of a message's"
    " time.",
    find=find,
    remedy="Look at why the GPUs are not reached directly (IPC, peer access).",
    fault=COPIES,
    sources=[
        SLURM_GPUS,
    ],
)
