# SPDX-License-Identifier: Apache-2.0
"""One direction faster than the other, beyond the ratio of their ceilings."""

from collections.abc import Iterator

from nearpeak.findings.evidence import WORTH, PossibleLoss, Rule, View, expected
from nearpeak.findings.sentences import Phrases, value
from nearpeak.findings.sources import of_ucx
from nearpeak.statistics.comparisons import better_in
from nearpeak.terms.buffers import turned
from nearpeak.terms.identity import Case


def find(view: View) -> Iterator[PossibleLoss]:
    """Compares every one-way cell with that of the opposite direction."""
    one_way = [c for c in view.unstaged if not view.benchmarks[c.case.benchmark].symmetric]
    cells = {(cell.who, cell.place, cell.case): cell for cell in one_way}
    for cell in one_way:
        back = _back(cell.case)
        other = cells.get((cell.who, cell.place, back))
        if other is None or other is cell:
            continue
        natural = view.natural(cell, other)  # without it the ratio of the path is unknown
        ratios = {
            block: ratio / max(1.0, natural[block])
            for block, ratio in better_in(other.by_block, cell.by_block, cell.better).items()
            if block in natural
        }
        if loss := expected(cell, ratios, dict.fromkeys(ratios, WORTH)):
            yield PossibleLoss(cell, other, loss)


def _back(case: Case) -> Case:
    """The case with its buffers in the opposite order."""
    return Case(
        benchmark=case.benchmark,
        metric=case.metric,
        buffers=turned(case.buffers),
        axes=case.axes,
        x=case.x,
    )


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    mine, theirs = (it.evidence(role) for role in ("own ceiling", "alternative ceiling"))
    return (
        f"{it.subject}: {it.measured} against {it.better} the other way"
        f" ({it.other.case.buffers}); a library can attain {value(mine)} this way and"
        f" {value(theirs)} the other way. By these this way could be better by"
        f" {it.ratio_in_blocks}."
    )


RULE = Rule(
    name="directions",
    tells=f"A figure is more than {WORTH:g} times better the other way (`H,D` and `D,H`) than the"
    " ceilings of both ways explain.",
    find=find,
    origin="software",
    headline="{it.short}: {it.measured}, {it.better_bare} in reverse ({it.times})",
    sentence=sentence,
    action="Try other settings: without MPI both ways carry as much.",
    remedy="The path is not the reason: try other settings of the library, or show this to its"
    " makers.",
    sources=[
        of_ucx(3984, "device to host 20 times slower than host to device")._replace(memory="device")
    ],
)
