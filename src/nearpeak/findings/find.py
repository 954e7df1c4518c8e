# SPDX-License-Identifier: Apache-2.0
"""All findings of a study: what loses beyond doubt, the surely greatest factor first."""

from collections import defaultdict
from collections.abc import Iterable

from nearpeak.findings.evidence import Kind, Loss, Seen, View
from nearpeak.findings.kinds import all_kinds
from nearpeak.identity import Case, Place, Who
from nearpeak.results.model import Finding, Results


def find(results: Results) -> list[Finding]:
    """One finding for each kind, library with its settings, path and buffers.

    Ranked by how many times better the other figure is at least: by the low end of the interval.
    After these comes what too few blocks show for an interval, by the low end of the range, and
    last what only loses with settings that nobody has unless they ask for them.
    """
    return find_in(View.of(results))


def find_in(view: View) -> list[Finding]:
    """The same of cells alone."""
    found = [
        (kind.only_tried(worst), worst.loss, finding)
        for kind in all_kinds()
        for worst, finding in _findings(kind, kind.find(view))
    ]
    found.sort(key=lambda one: (one[0], *(-part for part in _at_least(one[1]))))
    return [finding for *_, finding in found]


def _at_least(loss: Loss) -> tuple[bool, float]:
    """What findings are ranked by, the greatest first: an interval before a range."""
    return loss.sure, loss.low


def _findings(kind: Kind, seen: Iterable[Seen]) -> list[tuple[Seen, Finding]]:
    """Told at the case where the ratio is greatest. Of all pairs of a machine only the worst is
    told: a study may have hundreds."""
    greatest: dict[tuple[Who, Place, Case], Seen] = {}  # a cell may lose to several others
    for one in seen:
        key = (one.cell.who, one.cell.place, one.cell.case)
        greatest[key] = max(one, greatest.get(key, one), key=lambda each: each.loss.ratio)
    groups: dict[tuple[Who, str, str], list[Seen]] = defaultdict(list)
    for one in greatest.values():
        place = one.cell.place
        path = place.kind if place.pair else place.path
        groups[one.cell.who, path, one.cell.case.buffers].append(one)
    found = []
    for group in groups.values():
        worst = max(group, key=lambda one: one.loss.ratio)
        same = [one for one in group if one.cell.place == worst.cell.place]
        found.append((worst, _finding(kind, worst, same)))
    return found


def _finding(kind: Kind, worst: Seen, same: list[Seen]) -> Finding:
    span = (worst.loss.low, worst.loss.high)
    return Finding(
        kind=kind.name,
        who=worst.cell.who,
        place=worst.cell.place,
        case=worst.cell.case,
        loss=worst.loss.ratio,
        ci95=span if worst.loss.sure else None,
        range=None if worst.loss.sure else span,
        blocks=worst.loss.blocks,
        lost_us=worst.lost_us,
        cases=len(same),
        sentence=worst.sentence,
        remedy=kind.remedy,
    )
