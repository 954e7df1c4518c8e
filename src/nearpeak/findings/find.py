# SPDX-License-Identifier: Apache-2.0
"""All findings of a study: what loses beyond doubt, the surely greatest factor first.

Every ratio that the rules ask of a study is judged together, whatever the answers: each question is
a row of logarithms of ratio / limit, one in each block, and is its median above 0? At most 5 % of
studies have a false finding among those that are called sure, whatever launches look like
(statistics/sequential.py). They are about the sessions of the study, as verdicts are. What was
recorded and is no ratio (`Noticed`) is not judged: it is so. Nor is a figure beside one of
something that does less: that is no loss (`Rule.does_less`).
"""

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from nearpeak.findings.evidence import Noticed, Rule, Seen, View
from nearpeak.findings.rules import all_rules
from nearpeak.findings.settings import contradicted, given, suggested
from nearpeak.findings.sources import fitting
from nearpeak.libraries.library import Settings
from nearpeak.observations.observed import Observations
from nearpeak.results.results import (
    Alternative,
    Cell,
    Check,
    Cost,
    Finding,
    FindingKind,
    Remedy,
    Results,
    SettingChange,
)
from nearpeak.statistics.intervals import Interval
from nearpeak.statistics.sequential import leading, surely_above
from nearpeak.terms.identity import Case, Place, Who
from nearpeak.terms.sizes import format_bytes

Group = tuple[FindingKind, Who, str, str]  # with the path and the buffers


class Judged(NamedTuple):
    """What one rule has seen."""

    rule: Rule
    seen: Seen
    sure: bool  # beyond doubt, with all else that was asked
    bounds: Interval | None  # of the ratio; None: blocks are too few for as many as are asked


def find(results: Results, observations: Observations) -> list[Finding]:
    """One finding for each rule, library with its settings, path and buffers, and all that was
    noticed.

    Ranked by how many times better the other figure is at least, beyond what the ceilings have too
    (the low end of the interval, or of the range), or a message would be without what was noticed
    of it; then what else was noticed. After what is sure comes what blocks are too few to be sure
    of, and last what only loses with settings that nobody has unless they ask for them. What has
    the same reason as another finding is told with it.
    """
    return find_in(View.of(results, observations))


def find_in(view: View) -> list[Finding]:
    """The same of what is in view."""
    rules = all_rules()
    seen = [(rule, each) for rule in rules for each in rule.find(view)]
    ratios = [(rule, each) for rule, each in seen if isinstance(each, Seen)]
    asked = [(rule, each) for rule, each in ratios if not rule.does_less]
    losing = [judged for judged in _judge(asked) if judged.sure or judged.seen.loss.everywhere]
    told = _told(view, losing, _causes(asked, losing))
    less = [
        Judged(rule, each, sure=False, bounds=None)
        for rule, each in ratios
        if rule.does_less and each.loss.everywhere
    ]
    told += _told(view, less, {})
    told += [(False, each) for each in _facts(view, seen)]
    told.sort(key=lambda pair: (pair[0], *_rank(pair[1])))
    return [finding for _, finding in told]


def _rank(finding: Finding) -> tuple[bool, float]:
    """First what is sure, then what would be so many times as fast without it."""
    times = 0.0
    if finding.cost is not None:
        low, _ = finding.cost.ci95 or finding.cost.range
        times = low / max(1.0, finding.cost.ceilings or 1.0)
    elif finding.message is not None:
        times = 1 / max(1 - finding.message.share, 0.01)
    return not finding.sure, -times


def _judge(asked: list[tuple[Rule, Seen]]) -> list[Judged]:
    blocks = sorted({block for _, seen in asked for block in seen.loss.ratios})
    columns = {block: number for number, block in enumerate(blocks)}
    rows = np.full((len(asked), len(columns)), np.nan)
    for row, (_, seen) in zip(rows, asked, strict=True):
        for block, beyond in seen.loss.beyond.items():
            row[columns[block]] = beyond
    sure = surely_above(rows).tolist()
    first = leading(rows)
    counted = [block for block, counts in zip(blocks, first.counted, strict=True) if counts]
    judged = []
    for (rule, seen), above, told in zip(asked, sure, first.rows, strict=True):
        bounds = seen.loss.interval(first.level, counted) if told else None
        certain = above and seen.loss.surely_beyond()
        if certain and bounds is not None:  # the interval that is told must not say otherwise
            certain = seen.loss.surely_beyond(first.level, counted)
        judged.append(Judged(rule, seen, certain, bounds))
    return judged


def _causes(asked: Iterable[tuple[Rule, Seen]], losing: Sequence[Judged]) -> dict[int, Judged]:
    """By the identity of a loss the one that is its cause: the same figure loses to another one, as
    the rule of the cause tells, and with that one the rule of the loss sees nothing."""
    still: dict[tuple[FindingKind, tuple[Who, Place, Case]], bool] = defaultdict(bool)
    for rule, seen in asked:
        still[rule.name, _whose(seen.cell)] |= median(seen.loss.beyond.values()) > 0
    causes: dict[tuple[Who, Place, Case], list[Judged]] = defaultdict(list)
    for judged in losing:
        if judged.rule.is_cause:
            causes[_whose(judged.seen.cell)].append(judged)
    found = {}
    for judged in losing:
        explain = [
            cause
            for cause in causes[_whose(judged.seen.cell)]
            if not judged.rule.is_cause
            and (other := cause.seen.other) is not None
            and still.get((judged.rule.name, _whose(other))) is False
            and (cause.sure or not judged.sure)
        ]
        if explain:
            found[id(judged)] = max(explain, key=_greatest)
    return found


def _told(
    view: View, losing: Iterable[Judged], causes: Mapping[int, Judged]
) -> list[tuple[bool, Finding]]:
    """One for each group, and whether it only loses with settings that somebody asked for. What has
    a cause is told with it."""
    alone: dict[Group, list[Judged]] = defaultdict(list)
    explained: dict[Group, list[Judged]] = defaultdict(list)
    for judged in losing:
        if cause := causes.get(id(judged)):
            explained[_group(cause)].append(judged)
        else:
            alone[_group(judged)].append(judged)
    told = []
    for group, together in alone.items():
        worst, finding = _worst(view, together)
        finding.explains = [each for _, each in _told(view, explained[group], {})]
        told.append((worst.rule.only_tried(worst.seen), finding))
    return told


def _group(judged: Judged) -> Group:
    """What is told once. Of all pairs of a machine only the worst is: a study may have hundreds."""
    cell = judged.seen.cell
    path = cell.place.kind if cell.place.pair else cell.place.path
    return judged.rule.name, cell.who, path, cell.case.buffers


def _worst(view: View, group: Iterable[Judged]) -> tuple[Judged, Finding]:
    """It is told at the case where the ratio is greatest."""
    cases: dict[tuple[Who, Place, Case], Judged] = {}  # a cell may lose to several others
    for judged in group:
        key = _whose(judged.seen.cell)
        cases[key] = max(judged, cases.get(key, judged), key=_greatest)
    worst = max(cases.values(), key=_greatest)
    alike = sum(judged.seen.cell.place == worst.seen.cell.place for judged in cases.values())
    return worst, _finding(view, worst, alike)


def _greatest(judged: Judged) -> tuple[bool, float]:
    """First what is sure, then what is most beyond the ceilings."""
    return judged.sure, judged.seen.loss.ratio / judged.seen.natural


def _whose(cell: Cell) -> tuple[Who, Place, Case]:
    return cell.who, cell.place, cell.case


def _finding(view: View, worst: Judged, cases: int) -> Finding:
    seen = worst.seen
    cell, other = seen.cell, seen.other
    found = Finding(
        kind=worst.rule.name,
        sure=worst.sure,
        who=cell.who,
        place=cell.place,
        case=cell.case,
        apart=view.apart(cell),
        alternative=Alternative(who=other.who, place=other.place, case=other.case)
        if other
        else None,
        evidence=view.evidence(seen),
        cost=None if worst.rule.does_less else _cost(view, worst, cases),
        remedy=_remedy(view, worst.rule, seen),
        check=[
            Check(of="own", command=cell.command),
            *([Check(of="alternative", command=other.command)] if other else []),
        ],
    )
    found.sources = fitting(worst.rule.sources, found, view.observations)
    return found


def _cost(view: View, worst: Judged, cases: int) -> Cost:
    seen = worst.seen
    cell, other, loss = seen.cell, seen.other, seen.loss
    return Cost(
        ratio=loss.ratio,
        ci95=worst.bounds,
        range=loss.range,
        blocks=len(loss.ratios),
        launches=max(each.launches for each in (cell, other) if each),
        of_medians=loss.of_medians(cell, other, seen.scaled) if other else None,
        ceilings=seen.ceilings,
        lost_us=view.lost_us(seen),
        share=1 - 1 / loss.ratio,
        cases=cases,
    )


def _facts(view: View, seen: Iterable[tuple[Rule, Seen | Noticed]]) -> list[Finding]:
    """What was noticed; of several signs of one fault the one with the largest share, and the
    others with it."""
    alone = []
    faults: dict[tuple[str, Who | None, Place | None, str], list[Finding]] = defaultdict(list)
    for rule, each in seen:
        if isinstance(each, Noticed):
            found = _fact(view, rule, each)
            if rule.fault and each.case:
                faults[rule.fault, each.who, each.place, each.case.buffers].append(found)
            else:
                alone.append(found)
    for signs in faults.values():
        first, *others = sorted(signs, key=_rank)
        first.explains = others
        alone.append(first)
    return sorted(alone, key=lambda finding: finding.kind)


def _fact(view: View, rule: Rule, noticed: Noticed) -> Finding:
    command = noticed.command
    told = noticed.message is not None
    known = view.observations
    found = Finding(
        kind=rule.name,
        sure=noticed.sure,
        who=noticed.who,
        place=noticed.place,
        case=noticed.case,
        evidence=list(noticed.evidence),
        facts=[
            *noticed.facts,
            *(contradicted(rule.settings, noticed.who, known) if told else []),
            *(given(rule.reasons, noticed.who, known) if told else []),
        ],
        message=noticed.message,
        remedy=Remedy(
            text=noticed.remedy or rule.remedy,
            changes=suggested(rule.settings, noticed.who, known, noticed.place),
            tune=_tune(view, rule, noticed),
        ),
        check=[Check(of="own", command=command)] if command else [],
    )
    found.sources = fitting(rule.sources, found, known)
    return found


def _remedy(view: View, rule: Rule, seen: Seen) -> Remedy:
    other, who = seen.other, seen.cell.who
    if other is None or not rule.by_settings:
        helping = [each for each in rule.settings if each.helps(seen.cell.case.x)]
        named = suggested(helping, who, view.observations, seen.cell.place)
        tried = view.tried(seen.cell, rule.axes)
        return Remedy(
            text=rule.remedy, changes=named, tried=tried, tune=_tune(view, rule, seen.cell)
        )
    own, better = (view.given.get(each, Settings()) for each in (who, other.who))
    return Remedy(text=rule.remedy, settings=better, changes=list(changes(better, own)))


def _tune(view: View, rule: Rule, of: Noticed | Cell) -> str:
    """The search for settings where the rule names some, or one that may be the reason, be they of
    another library: which ones help differs by version and machine. It is of messages between two
    ranks here, as they are run by default."""
    who, place, case = of.who, of.place, of.case
    names = rule.settings or rule.reasons
    if not (names and who and place and case) or who.settings != Settings().name:
        return ""
    benchmark = view.benchmarks.get(case.benchmark)
    known = {library.who for library in view.observations.libraries if library.family}
    if who not in known or benchmark is None or not benchmark.over_bytes:
        return ""
    if (place.transport, len(place.ends), place.hosts) != ("memory", 2, 1):
        return ""
    target = f"{case.benchmark}:{format_bytes(case.x)}"
    words = ["nearpeak", "tune", "--mpi", who.library, "--path", place.path]
    return shlex.join([*words, "--buffers", case.buffers, "--for", target])


def changes(better: Settings, own: Settings) -> Iterator[SettingChange]:
    """What the better settings give that the others do not, and what they leave out."""
    for name in [*better.env, *(name for name in own.env if name not in better.env)]:
        value, instead = better.env.get(name), own.env.get(name)
        if value != instead:
            yield SettingChange(kind="env", name=name, value=value, instead=instead)
    if better.flags != own.flags:
        flags = [" ".join(settings.flags) or None for settings in (better, own)]
        yield SettingChange(kind="flags", value=flags[0], instead=flags[1])
    if better.unset != own.unset:
        unset = [" ".join(settings.unset) or None for settings in (better, own)]
        yield SettingChange(kind="unset", value=unset[0], instead=unset[1])
