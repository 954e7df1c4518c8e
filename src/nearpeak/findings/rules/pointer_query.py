# SPDX-License-Identifier: Apache-2.0
"""Messages in host memory whose library queries the driver for each buffer."""

from collections.abc import Iterator

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.messages import Message, calls, worst
from nearpeak.findings.rules import gpu_support
from nearpeak.findings.sentences import of_message
from nearpeak.findings.settings import NO_CACHE
from nearpeak.observations.explained import Part
from nearpeak.terms.buffers import in_gpu

LEAST = 0.1  # of the time of a message
CALL = "cuPointerGetAttribute"


def find(view: View) -> Iterator[Noticed]:
    """Yields messages between host memories in which that call takes `LEAST` or more."""
    yield from worst(view, _queries, LEAST)


def _queries(message: Message) -> list[Part]:
    return [] if in_gpu(message.explanation.buffers) else calls(message, {CALL})


RULE = Rule(
    name="pointer_query",
    tells=f"The library asks the driver whose memory a buffer is, by `{CALL}`, for messages between"
    " host memories: a tenth or more of their time. With NVIDIA's driver from 580 on the answer for"
    " host memory takes 1 us.",
    find=find,
    origin="software",
    headline="{it.short}: {it.parts}",
    sentence=of_message,
    action="Switch GPU support off, or try `nearpeak layer --only-queries`.",
    remedy="Where no message has device buffers, switch GPU support off; else put the layer before"
    " the library with it off, or preload what asks the driver in a quicker way (`nearpeak layer"
    " --only-queries`, `--mpi NAME@queries`). Measure each beside the library as it is.",
    reasons=[NO_CACHE],
    sources=gpu_support.SOURCES,
)
