# SPDX-License-Identifier: Apache-2.0
"""Messages of device memory that go through the host's."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.messages import COPIES, Message, Where, messages, worst
from nearpeak.findings.sources import SLURM_GPUS
from nearpeak.observations.explained import Part

LEAST = 0.1  # of the time of a message
FEWEST = 2  # sizes: small messages may go through the host where large ones do not
HOST = ("pageable", "pinned")  # in the name of a copy


def find(view: View) -> Iterator[Noticed]:
    """Where buffers of both ranks are in GPUs, and at each size the GPU copies to the host or from
    it, and in no other way."""
    seen: dict[Where, list[Message]] = defaultdict(list)
    for message in messages(view):
        seen[message.where].append(message)
    always = {where for where, alike in seen.items() if _always(alike)}
    yield from worst(view, lambda m: _copies(m) if m.where in always else [], LEAST)


def _always(alike: Iterable[Message]) -> bool:
    """Whether messages of several sizes go through the host, and none in another way."""
    sizes: dict[int, bool] = defaultdict(bool)
    for message in alike:
        copies = _copies(message)
        if any(part.kind == "device" and part not in copies for part in message.budget.parts):
            return False
        sizes[message.case.size_bytes] |= bool(copies)
    return len(sizes) >= FEWEST and all(sizes.values())


def _copies(message: Message) -> list[Part]:
    """To the host or from it, where both buffers are in GPUs."""
    if not set(message.explanation.buffers) <= set("D,"):
        return []
    return [
        part
        for part in message.budget.parts
        if part.kind == "device" and any(memory in part.name for memory in HOST)
    ]


RULE = Rule(
    name="through_host",
    tells="Buffers of both ranks are in GPUs, and messages between them are copied to the host or"
    f" from it, at each of {FEWEST} or more sizes that were looked at, while the GPU does nothing"
    " else for any of them: these copies take a tenth or more of a message's time.",
    find=find,
    remedy="Look at why the GPUs are not reached directly (IPC, peer access).",
    fault=COPIES,
    sources=[
        SLURM_GPUS,
    ],
)
