# SPDX-License-Identifier: Apache-2.0
"""Repeated look-ups of the memory of a pointer."""

from collections.abc import Iterator

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.messages import COPIES, Message, calls, worst
from nearpeak.findings.rules import pointer_query
from nearpeak.findings.sentences import of_message
from nearpeak.findings.settings import NO_CACHE
from nearpeak.findings.sources import of_ucx
from nearpeak.observations.explained import Part
from nearpeak.terms.buffers import in_gpu

LEAST = 0.1  # of the time of a message
CALLS = {
    "cuPointerGetAttribute",
    "cuPointerGetAttributes",
    "cuMemRetainAllocationHandle",
    "cuMemGetAddressRange_v2",
    "cuDeviceGetAttribute",
    "cuCtxGetDevice",
    "cuCtxGetId",
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxGetState",
}


def find(view: View) -> Iterator[Noticed]:
    """Yields messages in which these calls take `LEAST` or more."""
    yield from worst(view, _lookups, LEAST)


def _lookups(message: Message) -> list[Part]:
    """Leaves out of messages in host memory the call that pointer_query reports."""
    host = not in_gpu(message.explanation.buffers)
    return calls(message, CALLS - {pointer_query.CALL} if host else CALLS)


RULE = Rule(
    name="lookups",
    tells="The library asks the driver what kind of memory a buffer is, and takes and leaves"
    " its context, so often that it takes a tenth or more of a message's time.",
    find=find,
    origin="software",
    headline="{it.short}: {it.parts}",
    sentence=of_message,
    remedy="Send larger messages, of which each look-up takes a smaller share.",
    reasons=[NO_CACHE],
    fault=COPIES,
    sources=[
        of_ucx(2362, "a cache, as to ask CUDA takes 250 to 500 ns"),
    ],
)
