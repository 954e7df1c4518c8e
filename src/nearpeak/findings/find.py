# SPDX-License-Identifier: Apache-2.0
"""All findings of a study: what loses beyond doubt, the surely greatest factor first.

Everything that the kinds ask of a study is judged together, whatever the answers: each question is
a row of logarithms of ratio / limit, one in each block, and is its median above 0? At most 5 % of
studies have a false finding among those that are called sure, whatever launches look like
(statistics/ordered.py). They are about the sessions of the study, as verdicts are.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from nearpeak.findings.evidence import Kind, Seen, View
from nearpeak.findings.kinds import all_kinds
from nearpeak.results.results import Finding, Results
from nearpeak.statistics.ordered import LEVEL, surely_above
from nearpeak.terms.identity import Case, Place, Who


class Judged(NamedTuple):
    """What was seen of one kind."""

    kind: Kind
    seen: Seen
    sure: bool  # beyond doubt, with all else that was asked


def find(results: Results) -> list[Finding]:
    """One finding for each kind, library with its settings, path and buffers.

    Ranked by how many times better the other figure is at least: by the low end of the interval, or
    of the range. After what is sure comes what blocks are too few to be sure of, and last what only
    loses with settings that nobody has unless they ask for them.
    """
    return find_in(View.of(results))


def find_in(view: View) -> list[Finding]:
    """The same of cells alone."""
    asked = [(kind, seen) for kind in all_kinds() for seen in kind.find(view)]
    losing = [one for one in _judge(asked) if one.sure or one.seen.loss.everywhere]
    level = 1 - LEVEL / max(len(asked), 1)
    found = []
    for kind in all_kinds():
        found += _findings([one for one in losing if one.kind is kind], level)
    found.sort(key=lambda one: (one[0], not one[1].sure, -_at_least(one[1])))
    return [finding for _, finding in found]


def _at_least(finding: Finding) -> float:
    low, _ = finding.ci95 or finding.range or (finding.loss, finding.loss)
    return low


def _judge(asked: list[tuple[Kind, Seen]]) -> list[Judged]:
    columns = {b: n for n, b in enumerate(sorted({b for _, s in asked for b in s.loss.ratios}))}
    rows = np.full((len(asked), len(columns)), np.nan)
    for row, (_, seen) in zip(rows, asked, strict=True):
        for block, beyond in seen.loss.beyond.items():
            row[columns[block]] = beyond
    sure = surely_above(rows).tolist()
    return [
        Judged(kind, seen, above and seen.loss.surely_beyond)
        for (kind, seen), above in zip(asked, sure, strict=True)
    ]


def _findings(found: Iterable[Judged], level: float) -> list[tuple[bool, Finding]]:
    """Told at the case where the ratio is greatest. Of all pairs of a machine only the worst is
    told: a study may have hundreds. `level`: of the interval of each finding."""

    def greatest(one: Judged) -> tuple[bool, float]:
        return one.sure, one.seen.loss.ratio

    cases: dict[tuple[Who, Place, Case], Judged] = {}  # a cell may lose to several others
    for one in found:
        cell = one.seen.cell
        key = (cell.who, cell.place, cell.case)
        cases[key] = max(one, cases.get(key, one), key=greatest)
    groups: dict[tuple[Who, str, str], list[Judged]] = defaultdict(list)
    for one in cases.values():
        place = one.seen.cell.place
        path = place.kind if place.pair else place.path
        groups[one.seen.cell.who, path, one.seen.cell.case.buffers].append(one)
    told = []
    for group in groups.values():
        worst = max(group, key=greatest)
        alike = sum(one.seen.cell.place == worst.seen.cell.place for one in group)
        told.append((worst.kind.only_tried(worst.seen), _finding(worst, alike, level)))
    return told


def _finding(worst: Judged, cases: int, level: float) -> Finding:
    seen = worst.seen
    ci95 = seen.loss.interval(level)
    return Finding(
        kind=worst.kind.name,
        who=seen.cell.who,
        place=seen.cell.place,
        case=seen.cell.case,
        loss=seen.loss.ratio,
        ci95=ci95,
        range=seen.loss.range if ci95 is None else None,
        sure=worst.sure,
        blocks=len(seen.loss.ratios),
        lost_us=seen.lost_us,
        cases=cases,
        sentence=seen.sentence,
        remedy=worst.kind.remedy,
    )
