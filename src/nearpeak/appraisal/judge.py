# SPDX-License-Identifier: Apache-2.0
"""Appraises imported figures: state, references, likely reasons, and what to run next."""

from collections.abc import Iterable
from dataclasses import replace

from nearpeak.appraisal.figure import Figure, figures_of, only_wrong
from nearpeak.appraisal.known import Hardware, recognised
from nearpeak.appraisal.of_study import OfStudy
from nearpeak.appraisal.references import ABOVE, references, undecided
from nearpeak.appraisal.rules import all_rules
from nearpeak.appraisal.view import Effect, Reason, View
from nearpeak.errors import UserError
from nearpeak.grouping import firsts
from nearpeak.numbers import count
from nearpeak.observations.observed import Observations
from nearpeak.results.results import (
    Appraisal,
    AppraisalState,
    Cell,
    LikelyReason,
    Results,
    Sustained,
)
from nearpeak.terms.ratings import GOOD

MOST_REASONS = 2
EFFECTS = (Effect.DOUBTS, Effect.LOWERS, Effect.HIDES)  # the first that a figure has settles it
LATENCY = "how good a latency is, only its level"
IN_HOST = "what host memory sustains in one host"
STUDY = "nearpeak study -o here; nearpeak import FILE --beside here"


def appraise(
    results: Results, observations: Observations, hardware: Hardware, study: str = ""
) -> list[Appraisal]:
    """An appraisal for each curve that was imported, the lowest share first.

    `hardware`: as the user named it; `study`: the folder whose ceilings are the references.
    """
    compared = [OfStudy(one, study, observations.machine) for one in results.imported]
    lowest = sorted(compared, key=_share)
    beside = firsts(lowest, lambda one: one.key)
    appraisals = [
        _appraised(figure, hardware, beside.get(figure.key), STUDY if not study else "")
        for figure in figures_of(results, observations)
    ]
    wrong = [_wrong(cell, observations) for cell in only_wrong(results)]
    return sorted([*wrong, *appraisals], key=_urgency)


def _wrong(cell: Cell, observations: Observations) -> Appraisal:
    """The appraisal of a curve without any right payload."""
    tools = {one.who: one.clues.tool for one in observations.libraries}
    return Appraisal(
        who=cell.who,
        place=cell.place,
        case=cell.case,
        tool=tools.get(cell.who, ""),
        unit=cell.unit,
        value=0.0,
        machine="",
        state="wrong data",
    )


def _share(of_study: OfStudy) -> float:
    return 1.0 if of_study.share is None else of_study.share


def _urgency(appraisal: Appraisal) -> tuple[int, float]:
    states: list[AppraisalState] = ["wrong data", "below", "above", "unsure", "near"]
    shares = [one.share for one in appraisal.sustained if one.share is not None]
    return states.index(appraisal.state), min(shares, default=1.0)


def _appraised(
    figure: Figure, named: Hardware, beside: OfStudy | None, otherwise: str
) -> Appraisal:
    """`otherwise`: the command where no reason has one."""
    hardware = _completed(named, recognised(figure.clues), figure.hosts)
    figure = _placed(figure, named)
    view = View(figure, hardware, references(figure, hardware))
    outcomes = {name: rule.find(view) for name, rule in all_rules().items()}
    reasons = {name: reason for name, reason in outcomes.items() if reason}
    of_study = beside if beside and _is_compared(beside, view) else None
    sustained = [of_study.sustained] if of_study else _of_hardware(view)
    state = _state(view, sustained, list(reasons.values()))
    likely = _likely(state, reasons)
    commands = [reason.command for reason in likely]
    commands.append(of_study.command if of_study else "")
    return Appraisal(
        who=figure.who,
        place=figure.place,
        case=of_study.imported.case if of_study else figure.case,
        tool=figure.clues.tool,
        unit=figure.cells[0].unit if of_study else "us" if figure.of_time else "GB/s",
        value=of_study.imported.value if of_study else figure.value,
        best=figure.best if figure.matrix else None,
        ranks=figure.ranks,
        hosts=figure.hosts,
        machine=hardware.id,
        named=hardware.named,
        state=state,
        sustained=sustained,
        reasons=likely,
        missing=_missing(view, reasons.values(), of_study) if state == "unsure" else "",
        command=[*filter(None, commands), "" if state == "near" else otherwise][0],
    )


def _is_compared(beside: OfStudy, view: View) -> bool:
    """True if the ceiling of a study is the reference: of messages, unless only the rate of known
    hardware on the same link is comparable."""
    if not beside.imported.ceiling or view.figure.collective:
        return False
    place = beside.imported.place
    of_gpus = "gpu" in place.ends and not place.shared and place.transport == "memory"
    same_link = of_gpus and not view.of_nics if place.hosts == 1 else view.of_nics
    return beside.share is not None or view.share is None or not same_link


def _of_hardware(view: View) -> list[Sustained]:
    return [
        Sustained(value=one.gbs, path=one.label, source=one.source, share=share)
        for one, share in zip(view.references, view.shares, strict=True)
    ]


def _completed(named: Hardware, recognised: Hardware, hosts: int | None) -> Hardware:
    """Adds the GPUs that the file names to the NICs that the user names.

    Raises UserError if the user names other GPUs than the file, or fewer.
    """
    if named.gpu and recognised.gpu and named.gpu != recognised.gpu:
        raise UserError(f"--machine {named.id}: the file is of {recognised.gpu.name}")
    if named.count and hosts and named.count < (recognised.count or 0):
        raise UserError(f"--machine {named.id}: the file has {recognised.count} GPUs of a host")
    if named.gpu or not recognised.gpu:
        return named
    return replace(recognised, nics=named.nics, named=named.named)


def _placed(figure: Figure, named: Hardware) -> Figure:
    """The figure with its hosts, where the named hardware shows them: hosts are full of ranks, and
    no message is faster than all NICs of a host."""
    hosts = None
    if figure.hosts or figure.clues.tool == "perftest":
        return figure
    if figure.collective and named.gpu and named.count and figure.ranks:
        full = figure.ranks > named.count and figure.ranks % named.count == 0
        hosts = figure.ranks // named.count if full else None
        if figure.ranks <= named.count and not named.nics:
            hosts = 1
    elif named.nics and not figure.of_time and not figure.collective:
        most = ABOVE * named.nics.number * named.nics.gbs * (2 if figure.both_ways else 1)
        if figure.value <= most < max(point.gbs for point in figure.points):
            hosts = 1
    return replace(figure, clues=replace(figure.clues, hosts=hosts))


def _state(view: View, sustained: list[Sustained], reasons: list[Reason]) -> AppraisalState:
    if view.figure.wrong:
        return "wrong data"
    states: set[AppraisalState] = {
        _standing(view, one.share) if one.share else "unsure" for one in sustained
    }
    state = states.pop() if len(states) == 1 else "unsure"
    for effect in EFFECTS:
        if any(reason.effect is effect for reason in reasons):
            return effect.settles(state)
    return state


def _standing(view: View, share: float) -> AppraisalState:
    if share > ABOVE and not _may_exceed(view):
        return "above"
    return "near" if share >= GOOD else "below"


def _may_exceed(view: View) -> bool:
    """True where less is sent than the bus bandwidth counts: by trees between two hosts, or by
    NVSwitch, which adds up. No more than the links carry."""
    gpu, hosts = view.hardware.gpu, view.figure.hosts
    adds = (view.inside or view.spans) and gpu is not None and gpu.adds
    return (hosts == 2 or adds) and view.figure.value <= view.most_added


def _likely(state: AppraisalState, reasons: dict[str, Reason]) -> list[LikelyReason]:
    """The first of the reasons that belong beside the verdict."""
    shown = [(name, one) for name, one in reasons.items() if one.shown(state)]
    return [
        LikelyReason(rule=name, text=one.text, certain=one.certain, command=one.command)
        for name, one in shown[:MOST_REASONS]
    ]


def _missing(view: View, reasons: Iterable[Reason], of_study: OfStudy | None) -> str:
    """Names, in words, what the table does not tell."""
    figure, hardware = view.figure, view.hardware
    if unseen := next((reason.missing for reason in reasons if reason.missing), ""):
        return unseen
    if of_study:
        return of_study.missing
    if unknown := undecided(figure, hardware):
        return unknown
    if len(view.references) > 1:
        apart = figure.hosts is None and hardware.nics is not None
        return "whether the ranks shared a host" if apart else "which of these paths it was"
    if figure.of_time:
        return LATENCY if figure.ranks else "how many ranks there were"
    if (figure.hosts or 0) > 1 or figure.clues.tool == "perftest":
        nics = figure.clues.nics
        which = f"the rate of {count(nics, 'NIC')} of a host" if nics else "which NICs a host has"
        named = 1 if figure.clues.tool == "perftest" else nics or 4
        return f"{which} (--machine {named}x200g)"
    if figure.on_hosts:
        return IN_HOST if figure.hosts == 1 else "which NICs it used, if any (--machine 1x200g)"
    if hardware.gpu is None and figure.clues.gpus:
        return _unknown_gpus(dict.fromkeys(figure.clues.gpus))
    if figure.hosts == 1:
        return "which GPUs it was (--machine h100x8-nvlink)"
    return "which GPUs and links it was (--machine h100x8-nvlink, 1x200g)"


def _unknown_gpus(models: Iterable[str]) -> str:
    first, *others = models
    if others:
        return f"what {first} and {others[0]} sustain together"
    return f"what {first} sustains: no figures of it are known here"
