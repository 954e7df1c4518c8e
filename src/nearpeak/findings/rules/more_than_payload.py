# SPDX-License-Identifier: Apache-2.0
"""Messages that cross a link twice or more."""

from collections.abc import Iterator

from nearpeak.findings.counted import Times, in_cells
from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import FIELD_VALUES, Reference
from nearpeak.results.results import Cell
from nearpeak.terms.counters import KINDS, LinkKind
from nearpeak.terms.path import DataPath

TWICE = 1.7  # times the payload: PCIe counts some 8 % more for its protocol, TCP 5 %


def find(view: View) -> Iterator[Noticed]:
    """Yields the largest messages of each library, path and buffers that crossed a link again."""

    def holds(_: DataPath, __: Cell, counted: Times) -> list[LinkKind]:
        return [kind for kind in KINDS if counted.get(kind, 0.0) >= TWICE]

    yield from in_cells(view, holds)


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return f"{it.subject}: by the counters of the links, {it.facts(': ')}."


RULE = Rule(
    name="more_than_payload",
    tells=f"Links of one kind counted {TWICE:g} times the payload of large messages or more in one"
    " direction, in all launches: each byte crosses such a link twice, or something else on the"
    " machine uses it.",
    find=find,
    origin="software",
    headline="{it.short}: more bytes than the payload: {it.all_facts}",
    sentence=sentence,
    action="Avoid a copy on the way of the messages.",
    remedy="Look for a copy on the way of the messages that crosses the link again (nearpeak"
    " explain shows the copies), and for other work on the link.",
    sources=[Reference(FIELD_VALUES, memory="device")],
)
