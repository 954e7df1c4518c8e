# SPDX-License-Identifier: Apache-2.0
"""The cost of new buffers: messages from rotating buffers, compared with those from one."""

from collections.abc import Iterator

from nearpeak.findings.evidence import WORTH, PossibleLoss, Rule, View, above
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import Reference, of_openmpi
from nearpeak.results.results import Source
from nearpeak.terms.axes import USUAL_STATE

REUSE = "reuse"  # the axis of the buffers of messages
OTHERS = "rotating"  # its value if each message has another buffer


def find(view: View) -> Iterator[PossibleLoss]:
    """Compares every cell with rotating buffers with that with fixed ones."""
    usual = dict(USUAL_STATE)[REUSE]
    for cell, other in view.pairs(REUSE, OTHERS, usual):
        if possible_loss := above(view, cell, other, WORTH):
            yield possible_loss


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return (
        f"{it.subject}: {it.measured} with another buffer for each message against"
        f" {it.better} with the same ones, {it.ratio}."
    )


RULE = Rule(
    name="registration",
    tells=f"Messages of which each has another buffer (`reuse=rotating`) are more than {WORTH:g}"
    " times worse than those of the same buffers, beyond what the ceilings of both explain"
    " (caches).",
    find=find,
    origin="software",
    headline="{it.short}: {it.measured} with new buffers, {it.better} with old ones ({it.times})",
    sentence=sentence,
    action="Reuse few buffers, or enlarge the library's caches of them.",
    remedy="The library pays for each new buffer (registration, mapping, look-ups): reuse few"
    " buffers, or enlarge its caches of them.",
    sources=[
        of_openmpi(12646, "registration takes 5 to 20 round trips (EFA)")._replace(hosts="several"),
        Reference(
            Source(
                text="ucx-py #334: 9.9 GB/s with a new GPU buffer for each message, 25 GB/s with"
                " one",
                address="https://github.com/rapidsai/ucx-py/issues/334",
            ),
            components=("ucx",),
            memory="device",
        ),
    ],
)
