# SPDX-License-Identifier: Apache-2.0
"""Calls that wait for the GPU without traced work on it."""

from collections.abc import Iterator

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.messages import SMALL_BYTES, Message, by_host, pieces, worst
from nearpeak.findings.sentences import of_message
from nearpeak.findings.sources import FRAGMENTS
from nearpeak.machine.gpu_paths import takes_turns
from nearpeak.observations.explained import Part

LEAST = 0.2  # of the time of a message
MORE = "Send larger messages or several at a time"


def find(view: View) -> Iterator[Noticed]:
    """Yields messages in which such waits take `LEAST` or more, by what the GPU copies
    meanwhile."""
    yield from worst(view, _chosen, LEAST, _remedy)


def _chosen(message: Message) -> list[Part]:
    """The waits, but for those for many small pieces, which have a rule of their own."""
    in_pieces = pieces(message)
    return [part for part in message.budget.parts if part.kind == "sync" and part not in in_pieces]


def _remedy(message: Message) -> str:
    """The advice that fits the route of a message; empty where no copy was seen."""
    if takes_turns(message.explanation.path):
        return "Measure it under MPS: without it, ranks on one GPU take turns."
    copies = [part for part in message.budget.parts if part.kind == "device" and part.bytes]
    if not copies:
        return ""
    if message.case.size_bytes > SMALL_BYTES:
        return "Send several such messages at a time, with nonblocking calls."
    if any(map(by_host, copies)):
        return f"{MORE}, or let the CPU move small ones (GDRCopy)."
    return f"{MORE}."


RULE = Rule(
    name="waits_for_gpu",
    tells="Calls that wait for the GPU, or ask whether it is done, take a fifth or more of a"
    " message's time, while it copies and computes nothing and no other call is seen. Another rank"
    " may copy by its own instructions meanwhile: how much of that time it was in no call that is"
    " seen is told with each. Waits for many small pieces are not counted: the rule of pieces has"
    " them.",
    find=find,
    origin="software",
    headline="{it.short}: {it.parts}",
    sentence=of_message,
    remedy="Look at what goes on while the GPU is waited for (nearpeak explain -o).",
    sources=[FRAGMENTS],
)
