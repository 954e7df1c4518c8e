# SPDX-License-Identifier: Apache-2.0
"""Calls that wait for the GPU without traced work on it."""

from collections.abc import Iterator

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.messages import Message, worst
from nearpeak.findings.sentences import of_message
from nearpeak.findings.sources import FRAGMENTS
from nearpeak.observations.explained import Part

LEAST = 0.2  # of the time of a message


def find(view: View) -> Iterator[Noticed]:
    """Yields messages in which such waits take `LEAST` or more."""
    yield from worst(view, _chosen, LEAST)


def _chosen(message: Message) -> list[Part]:
    return [part for part in message.budget.parts if part.kind == "sync"]


RULE = Rule(
    name="waits_for_gpu",
    tells="Calls that wait for the GPU, or ask whether it is done, take a fifth or more of a"
    " message's time, while it copies and computes nothing and no other call is seen. Another rank"
    " may copy by its own instructions meanwhile: how much of that time it was in no call that is"
    " seen is told with each.",
    find=find,
    origin="software",
    headline="{it.short}: {it.parts}",
    sentence=of_message,
    action="Send larger messages or several at a time: each wait moves little.",
    remedy="Look at what the GPU copies (nearpeak explain -o): where that is little each time, send"
    " larger messages or several at a time, or have the library move small ones by the CPU"
    " (gdrcopy).",
    sources=[FRAGMENTS],
)
