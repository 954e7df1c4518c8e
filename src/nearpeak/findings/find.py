# SPDX-License-Identifier: Apache-2.0
"""All findings of a study: what costs most time first.

All ratios that the rules test are judged together: each question is a row of logarithms of ratio /
limit, one in each block, and asks if the median is above 0. At most 5 % of studies have a false
finding among the significant ones, for any distribution of launches (statistics/sequential.py).
Findings, like verdicts, are about the sessions of the study. Recorded facts (`Noticed`) are not
judged. Nor are comparisons with an operation that does less (`Rule.does_less`).
"""

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from nearpeak.findings.evidence import Noticed, PossibleLoss, Rule, View
from nearpeak.findings.rules import all_rules
from nearpeak.findings.settings import contradicted, given, suggested
from nearpeak.findings.sources import fitting
from nearpeak.findings.weights import COMMON, Weigh, by_family
from nearpeak.libraries.library import Settings
from nearpeak.observations.observed import Observations
from nearpeak.results.results import (
    Alternative,
    Cell,
    Check,
    Cost,
    Finding,
    FindingKind,
    InMessage,
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
    """A possible loss of one rule, judged."""

    rule: Rule
    seen: PossibleLoss
    sure: bool  # significant among all questions
    bounds: Interval | None  # of the ratio; None: too few blocks for this number of intervals


def find(results: Results, observations: Observations, weigh: Weigh = by_family) -> list[Finding]:
    """One finding for each rule, library with settings, path and buffers, and all recorded facts.

    The order is that of the time that an operation loses, times how common it is (`weigh`); then
    what has no time, the significant ones first; last, losses that occur only with settings that
    are not the default. Findings with the same cause as another one are listed under it.
    """
    return find_in(View.from_results(results, observations, weigh))


def find_in(view: View) -> list[Finding]:
    """The findings of a view."""
    rules = all_rules()
    results = [(rule, item) for rule in rules for item in rule.find(view)]
    ratios = [(rule, item) for rule, item in results if isinstance(item, PossibleLoss)]
    questions = [(rule, item) for rule, item in ratios if not rule.does_less]
    losing = [judged for judged in _judge(questions) if judged.sure or judged.seen.loss.everywhere]
    ranked = _findings(view, losing, _causes(questions, losing))
    less = [
        Judged(rule, item, sure=False, bounds=None)
        for rule, item in ratios
        if rule.does_less and item.loss.everywhere
    ]
    ranked += _findings(view, less, {})
    ranked += [(False, item) for item in _facts(view, results)]
    ranked.sort(key=lambda pair: (pair[0], *_rank(pair[1])))
    return [finding for _, finding in ranked]


def _rank(finding: Finding) -> tuple[float, bool]:
    """The order of findings: the costliest first; without a cost, significant ones first."""
    return -finding.weighted_us, not finding.sure


def _judge(questions: list[tuple[Rule, PossibleLoss]]) -> list[Judged]:
    blocks = sorted({block for _, seen in questions for block in seen.loss.ratios})
    columns = {block: number for number, block in enumerate(blocks)}
    rows = np.full((len(questions), len(columns)), np.nan)
    for row, (_, seen) in zip(rows, questions, strict=True):
        for block, beyond in seen.loss.beyond.items():
            row[columns[block]] = beyond
    sure = surely_above(rows).tolist()
    first = leading(rows)
    counted = [block for block, counts in zip(blocks, first.counted, strict=True) if counts]
    judged = []
    for (rule, seen), above, has_interval in zip(questions, sure, first.rows, strict=True):
        bounds = seen.loss.interval(first.level, counted) if has_interval else None
        certain = above and seen.loss.surely_beyond()
        if certain and bounds is not None:  # the reported interval must agree
            certain = seen.loss.surely_beyond(first.level, counted)
        judged.append(Judged(rule, seen, certain, bounds))
    return judged


def _causes(
    questions: Iterable[tuple[Rule, PossibleLoss]], losing: Sequence[Judged]
) -> dict[int, Judged]:
    """The cause of each loss, by the identity of the loss.

    A cause is a loss of the same cell, by a rule of causes, to a cell without the loss.
    """
    still: dict[tuple[FindingKind, tuple[Who, Place, Case]], bool] = defaultdict(bool)
    for rule, seen in questions:
        still[rule.name, _whose(seen.cell)] |= median(seen.loss.beyond.values()) > 0
    causes: dict[tuple[Who, Place, Case], list[Judged]] = defaultdict(list)
    for judged in losing:
        if judged.rule.is_cause:
            causes[_whose(judged.seen.cell)].append(judged)
    cause_of = {}
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
            cause_of[id(judged)] = max(explain, key=_ratio)
    return cause_of


def _findings(
    view: View, losing: Iterable[Judged], causes: Mapping[int, Judged]
) -> list[tuple[bool, Finding]]:
    """One finding for each group, with True if only settings other than the default lose.

    Losses with a cause are listed under its finding.
    """
    alone: dict[Group, list[Judged]] = defaultdict(list)
    explained: dict[Group, list[Judged]] = defaultdict(list)
    for judged in losing:
        if cause := causes.get(id(judged)):
            explained[_group(cause)].append(judged)
        else:
            alone[_group(judged)].append(judged)
    findings = []
    for group, together in alone.items():
        worst, finding = _worst(view, together)
        finding.explains = [finding for _, finding in _findings(view, explained[group], {})]
        findings.append((worst.rule.only_tried(worst.seen), finding))
    return findings


def _group(judged: Judged) -> Group:
    """The key of one finding; all pairs of a machine share one, as a study may have hundreds."""
    cell = judged.seen.cell
    path = cell.place.kind if cell.place.pair else cell.place.path
    return judged.rule.name, cell.who, path, cell.case.buffers


def _worst(view: View, group: Iterable[Judged]) -> tuple[Judged, Finding]:
    """The finding of a group, at the case that costs most."""
    cases: dict[tuple[Who, Place, Case], Judged] = {}  # a cell may lose to several others
    for judged in group:
        key = _whose(judged.seen.cell)
        cases[key] = max(judged, cases.get(key, judged), key=_ratio)
    worst = max(cases.values(), key=lambda judged: (judged.sure, *_loss(view, judged)))
    alike = sum(judged.seen.cell.place == worst.seen.cell.place for judged in cases.values())
    return worst, _finding(view, worst, alike)


def _ratio(judged: Judged) -> tuple[bool, float]:
    """The order of losses of one cell: significant ones last, then by the ratio beyond ceilings."""
    return judged.sure, judged.seen.loss.ratio / judged.seen.natural


def _loss(view: View, judged: Judged) -> tuple[float, float]:
    """The order of cases: by the time that they lose, times their weight, then by the ratio."""
    cost = _cost(view, judged, cases=1)
    return _weighted(view, judged.seen.cell.case, cost), _ratio(judged)[1]


def _weighted(view: View, case: Case | None, lost: Cost | InMessage | None) -> float:
    """The time that one operation loses, times its weight, in us; 0 without a case or a loss."""
    if lost is None or case is None:
        return 0.0
    lost_us = _surely_lost(lost) if isinstance(lost, Cost) else lost.lost_us
    benchmark = view.benchmarks.get(case.benchmark)  # a message of another may be explained
    return lost_us * (view.weigh(benchmark, case) if benchmark else COMMON)


def _surely_lost(cost: Cost) -> float:
    """The least of a loss that is sure, and that the ceilings do not have too, in us."""
    low, _ = cost.ci95 or cost.range
    own_us = cost.lost_us * cost.ratio / (cost.ratio - 1)
    return max(0.0, own_us * (1 - max(1.0, cost.ceilings or 1.0) / low))


def _whose(cell: Cell) -> tuple[Who, Place, Case]:
    return cell.who, cell.place, cell.case


def _finding(view: View, worst: Judged, cases: int) -> Finding:
    seen = worst.seen
    cell, other = seen.cell, seen.other
    finding = Finding(
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
    finding.sources = fitting(worst.rule.sources, finding, view.observations)
    finding.weighted_us = _weighted(view, finding.case, finding.cost)
    return finding


def _cost(view: View, worst: Judged, cases: int) -> Cost:
    seen = worst.seen
    cell, other, loss = seen.cell, seen.other, seen.loss
    return Cost(
        ratio=loss.ratio,
        ci95=worst.bounds,
        range=loss.range,
        blocks=len(loss.ratios),
        launches=max(figure.launches for figure in (cell, other) if figure),
        of_medians=loss.of_medians(cell, other, seen.scaled) if other else None,
        ceilings=seen.ceilings,
        lost_us=view.lost_us(seen),
        share=1 - 1 / loss.ratio,
        cases=cases,
    )


def _facts(view: View, seen: Iterable[tuple[Rule, PossibleLoss | Noticed]]) -> list[Finding]:
    """The findings of recorded facts.

    Of several signs of one fault, those with smaller shares are listed under the largest.
    """
    alone = []
    faults: dict[tuple[str, Who | None, Place | None, str], list[Finding]] = defaultdict(list)
    for rule, item in seen:
        if isinstance(item, Noticed):
            finding = _fact(view, rule, item)
            if rule.fault and item.case:
                faults[rule.fault, item.who, item.place, item.case.buffers].append(finding)
            else:
                alone.append(finding)
    for signs in faults.values():
        first, *others = sorted(signs, key=_rank)
        first.explains = others
        alone.append(first)
    return sorted(alone, key=lambda finding: finding.kind)


def _fact(view: View, rule: Rule, noticed: Noticed) -> Finding:
    command = noticed.command
    of_message = noticed.message is not None
    observations = view.observations
    finding = Finding(
        kind=rule.name,
        sure=noticed.sure,
        who=noticed.who,
        place=noticed.place,
        case=noticed.case,
        evidence=list(noticed.evidence),
        facts=[
            *noticed.facts,
            *(contradicted(rule.settings, noticed.who, observations) if of_message else []),
            *given(rule.reasons, noticed.who, observations, noticed.place),
        ],
        message=noticed.message,
        remedy=Remedy(
            text=noticed.remedy or rule.remedy,
            changes=suggested(rule.settings, noticed.who, observations, noticed.place),
            tune=_tune(view, rule, noticed),
        ),
        check=[Check(of="own", command=command)] if command else [],
    )
    finding.sources = fitting(rule.sources, finding, observations)
    finding.weighted_us = _weighted(view, finding.case, finding.message)
    return finding


def _remedy(view: View, rule: Rule, seen: PossibleLoss) -> Remedy:
    other, who = seen.other, seen.cell.who
    if other is None or not rule.by_settings:
        helping = [setting for setting in rule.settings if setting.helps(seen.cell.case.x)]
        named = suggested(helping, who, view.observations, seen.cell.place)
        tried = view.tried(seen.cell, rule.axes)
        return Remedy(
            text=rule.remedy, changes=named, tried=tried, tune=_tune(view, rule, seen.cell)
        )
    present, better = (view.given.get(setting, Settings()) for setting in (who, other.who))
    return Remedy(text=rule.remedy, settings=better, changes=list(changes(better, present)))


def _tune(view: View, rule: Rule, subject: Noticed | Cell) -> str:
    """The command of `nearpeak tune`, if the rule names settings, of this library or another one.

    The settings that help differ by version and machine. Only for messages between two ranks of one
    host, with default settings; else "".
    """
    who, place, case = subject.who, subject.place, subject.case
    names = rule.settings or rule.reasons
    if not (names and who and place and case) or who.settings != Settings().name:
        return ""
    benchmark = view.benchmarks.get(case.benchmark)
    tunable = {library.who for library in view.observations.libraries if library.family}
    if who not in tunable or benchmark is None or not benchmark.over_bytes:
        return ""
    if (place.transport, len(place.ends), place.hosts) != ("memory", 2, 1):
        return ""
    target = f"{case.benchmark}:{format_bytes(case.x)}"
    command = ["nearpeak", "tune", "--mpi", who.library, "--path", place.path]
    return shlex.join([*command, "--buffers", case.buffers, "--for", target])


def changes(better: Settings, present: Settings) -> Iterator[SettingChange]:
    """The changes from the present settings to the better ones."""
    for name in [*better.env, *(name for name in present.env if name not in better.env)]:
        value, instead = better.env.get(name), present.env.get(name)
        if value != instead:
            yield SettingChange(kind="env", name=name, value=value, instead=instead)
    if better.flags != present.flags:
        flags = [" ".join(settings.flags) or None for settings in (better, present)]
        yield SettingChange(kind="flags", value=flags[0], instead=flags[1])
    if better.unset != present.unset:
        unset = [" ".join(settings.unset) or None for settings in (better, present)]
        yield SettingChange(kind="unset", value=unset[0], instead=unset[1])
