# SPDX-License-Identifier: Apache-2.0
"""Messages of device memory that go through host memory."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.messages import COPIES, Message, MessageGroup, by_host, messages, worst
from nearpeak.findings.sentences import of_message
from nearpeak.findings.sources import SLURM_GPUS
from nearpeak.observations.explained import Part

LEAST = 0.1  # of the time of a message
FEWEST = 2  # sizes: small messages may go through the host where large ones do not


def find(view: View) -> Iterator[Noticed]:
    """Yields messages between GPUs that are copied only through host memory, at every size."""
    groups: dict[MessageGroup, list[Message]] = defaultdict(list)
    for message in messages(view):
        groups[message.group].append(message)
    always = {group for group, alike in groups.items() if _always(alike)}
    yield from worst(view, lambda m: _copies(m) if m.group in always else [], LEAST)


def _always(alike: Iterable[Message]) -> bool:
    """True if messages of several sizes go through the host, and none by another route."""
    sizes: dict[int, bool] = defaultdict(bool)
    for message in alike:
        copies = _copies(message)
        if any(part.kind == "device" and part not in copies for part in message.budget.parts):
            return False
        sizes[message.case.size_bytes] |= bool(copies)
    return len(sizes) >= FEWEST and all(sizes.values())


def _copies(message: Message) -> list[Part]:
    """The copies to or from the host, if both buffers are in GPUs."""
    if not set(message.explanation.buffers) <= set("D,"):
        return []
    return [part for part in message.budget.parts if part.kind == "device" and by_host(part)]


RULE = Rule(
    name="through_host",
    tells="Buffers of both ranks are in GPUs, and messages between them are copied to the host or"
    f" from it, at each of {FEWEST} or more sizes that were looked at, while the GPU does nothing"
    " else for any of them: these copies take a tenth or more of a message's time.",
    find=find,
    origin="settings",
    headline="{it.short}: {it.parts}",
    sentence=of_message,
    remedy="Look at why the GPUs are not reached directly (IPC, peer access).",
    fault=COPIES,
    sources=[
        SLURM_GPUS,
    ],
)
