# SPDX-License-Identifier: Apache-2.0
"""Messages that the GPU copies in many small pieces."""

from collections.abc import Iterator

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.messages import COPIES, MOST_PIECES, SMALL_BYTES, pieces, worst
from nearpeak.findings.sentences import of_message
from nearpeak.findings.settings import Setting
from nearpeak.findings.sources import FRAGMENTS
from nearpeak.numbers import size

LEAST = 0.1  # of the time of a message, with the calls that copy and wait


def find(view: View) -> Iterator[Noticed]:
    """Yields messages that the GPU copies in more and small pieces."""
    yield from worst(view, pieces, LEAST)


RULE = Rule(
    name="pieces",
    tells="A message between two ranks is copied to or from the GPU in more than"
    f" {MOST_PIECES} pieces of at most {size(SMALL_BYTES)}, and the calls that copy and wait for"
    " them take a tenth or more of its time.",
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
