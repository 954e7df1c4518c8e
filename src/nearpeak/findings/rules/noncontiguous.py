# SPDX-License-Identifier: Apache-2.0
"""Messages of a datatype far slower than messages of as many bytes that lie together, where the
study does not say what of that could be saved."""

from collections.abc import Iterator

from nearpeak.findings.evidence import Rule, Seen, View, against
from nearpeak.findings.sources import BLOCK_BY_BLOCK
from nearpeak.terms.axes import BY_LIBRARY, PACK, state_of

LIMIT = 3.0  # times longer


def find(view: View) -> Iterator[Seen]:
    """Every cell in which the library gets a datatype beside the messages that bound it; not where
    the study packed the same blocks by other means, which another rule tells of."""
    packed = {id(cell) for cell, _ in view.pairs(PACK)}
    for cell in view.unstaged:
        messages = view.benchmarks[cell.case.benchmark].bound_by
        if messages is None or cell.case.axes.get(PACK) != BY_LIBRARY or id(cell) in packed:
            continue
        for other in view.beside(cell, messages):
            if state_of(other.case.axes) != state_of(cell.case.axes) or other.unit != cell.unit:
                continue
            if found := against(cell, other, LIMIT):
                yield Seen(cell, other, found)


RULE = Rule(
    name="noncontiguous",
    tells=f"Messages of a datatype (`pack=direct`) take more than {LIMIT:g} times as long as"
    " messages of as many bytes that lie together. That is no loss: whoever sends such blocks must"
    " gather and scatter them, and how long that takes was not measured. Only where the study"
    " packed the blocks by no other means: then it is `datatypes` that tells.",
    find=find,
    remedy="Measure it with `--pack kernel` (`nearpeak run`), which gathers the blocks by itself,"
    " in host memory by the CPU; if that is faster, gather them in the application and send them"
    " as one.",
    sources=BLOCK_BY_BLOCK,
    does_less=True,
)
