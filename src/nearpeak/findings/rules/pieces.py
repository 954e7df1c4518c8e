# SPDX-License-Identifier: Apache-2.0
"""Messages that the GPU copies in many small pieces."""

from collections.abc import Iterator

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.messages import COPIES, Message, worst
from nearpeak.findings.sentences import of_message
from nearpeak.findings.settings import Setting
from nearpeak.findings.sources import FRAGMENTS
from nearpeak.numbers import size
from nearpeak.observations.explained import Part

LEAST = 0.1  # of the time of a message, with the calls that copy and wait
COPIES_BY = "cuMemcpy"  # prefix of the names of calls
MOST = 8  # pieces of a message that are accepted
SMALL_BYTES = 64 << 10  # of a piece: larger ones take their time for the bytes


def find(view: View) -> Iterator[Noticed]:
    """Yields messages that the GPU copies in more and small pieces."""
    yield from worst(view, _chosen, LEAST)


def _chosen(message: Message) -> list[Part]:
    parts = message.budget.parts
    pieces = [
        part
        for part in parts
        if part.kind == "device"
        and part.bytes
        and part.bytes <= SMALL_BYTES
        and message.count_per_message(part) > MOST
    ]
    ranks = {part.rank for part in pieces}
    return pieces + [
        part
        for part in parts
        if part.rank in ranks
        and message.count_per_message(part) > MOST
        and (part.kind == "sync" or (part.kind == "call" and part.name.startswith(COPIES_BY)))
    ]


RULE = Rule(
    name="pieces",
    tells=f"A message between two ranks is copied to or from the GPU in more than {MOST} pieces of"
    f" at most {size(SMALL_BYTES)}, and the calls that copy and wait for them take a tenth or more"
    " of its time.",
    find=find,
    origin="settings",
    headline="{it.short}: {it.pieces}",
    sentence=of_message,
    action="Have larger pieces, or another protocol.",
    remedy="Have larger pieces, or another protocol for such messages.",
    settings=[
        Setting(
            "ucx",
            "UCX_CUDA_COPY_BW",
            "h2d:25GBps,d2h:25GBps,d2d:1000GBps,default:10GBps",
            "the GPU's copies are taken to be as fast as a link of today: protocols with large ones"
            " are chosen",
        )
    ],
    fault=COPIES,
    sources=[FRAGMENTS],
)
