# SPDX-License-Identifier: Apache-2.0
"""Sums up a tuning: the content of tune.json."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

import msgspec
import numpy as np

from nearpeak.libraries.library import Settings
from nearpeak.libraries.profiles import Apart, Evidence
from nearpeak.libraries.tunables import files, may_break
from nearpeak.statistics.intervals import interval
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL
from nearpeak.terms.buffers import needs_gpu
from nearpeak.tune import tuned
from nearpeak.tune.confirm import FREE, TUNED, Confirmed, Shown, apart
from nearpeak.tune.journal import Calibrated, Crossed, Hinted, Ruled, Trial, TuneJournal, tables_of
from nearpeak.tune.prepare import Prepared
from nearpeak.tune.search import Outcome
from nearpeak.tune.tried import tried


def summed_up(
    prepared: Prepared,
    journal: TuneJournal,
    outcome: Outcome,
    judged: Mapping[str, Confirmed],
    unused_seconds: float,
) -> tuned.Tuned:
    """Returns the result of a tuning. `judged`: the confirmed settings, by name; `unused_seconds`:
    of the budget."""
    confirmed, free = judged.get(TUNED), judged.get(FREE)
    taken = Settings().changed(outcome.taken)
    begun, single = journal.begin, prepared.single
    trials = [record for record in journal.records if isinstance(record, Trial)]
    calibration = _calibration(journal, outcome)
    summary = tuned.Tuned(
        schema=tuned.SCHEMA,
        nearpeak=begun.nearpeak,
        started=begun.started,
        library=begun.library,
        family=begun.family,
        version=begun.version,
        base=single.settings.name,
        path=begun.path,
        path_summary=begun.path_summary,
        buffers=prepared.asked.buffers,
        targets=[target.label for target in prepared.launches.targets],
        host=begun.host,
        candidates=outcome.tried,
        launches=len(trials),
        seconds=round(sum(trial.seconds for trial in trials), 1),
        env=taken.env,
        unset=taken.unset,
        rules=tables_of(journal.records) if files(single.library, outcome.taken) else [],
        verdict=_verdict(trials, outcome, confirmed),
        evidence=[],
        slower=[],
        broken=[],
        breaks=may_break(single.library, {**single.settings.env, **taken.env})
        if outcome.taken
        else [],
        unguarded=[],
        distances=_searched_at(prepared, trials),
        free=_free(outcome, free) if free else None,
        calibration=calibration,
        lacking=outcome.lacking,
        tried=_tried(prepared, journal, trials, calibration),
        unused_seconds=round(unused_seconds, 1),
        refused=[
            tuned.Refused(setting=name, why=reason) for name, reason in outcome.refused.items()
        ],
    )
    return _with_evidence(summary, confirmed) if confirmed else summary


def _with_evidence(summary: tuned.Tuned, confirmed: Confirmed) -> tuned.Tuned:
    """Adds the verdicts of the study."""
    return msgspec.structs.replace(
        summary,
        evidence=_listed(confirmed.targets),
        slower=_listed(confirmed.slower),
        broken=confirmed.broken,
        unguarded=confirmed.unguarded,
        guarded=confirmed.guarded,
        uncertain=_listed(confirmed.uncertain),
        detectable_loss=_rounded(confirmed.detectable_loss),
        distances=confirmed.distances,
        host_messages=_listed(confirmed.host_messages),
    )


def _tried(
    prepared: Prepared,
    journal: TuneJournal,
    trials: Sequence[Trial],
    calibration: tuned.Calibration | None,
) -> list[tuned.Tried]:
    """Returns the effects of the values that were tried: those of the catalogue, of the file of
    rules, and those that hints and ceilings gave."""
    named: list[tuple[str, str]] = []
    for record in journal.records:
        if isinstance(record, Hinted | Crossed):
            named += record.named if isinstance(record, Hinted) else record.found
    catalogued = {pair for env in journal.begin.candidates for pair in env.items()}
    by_ceilings = calibration.env.items() if calibration else ()
    further = [
        {name: value} for name, value in [*named, *by_ceilings] if (name, value) not in catalogued
    ]
    by_rules = [
        prepared.ruled.env(record.file)
        for record in journal.records
        if isinstance(record, Ruled) and record.tables and prepared.ruled
    ]
    return tried(trials, [*journal.begin.candidates, *by_rules, *further], named)


def _searched_at(prepared: Prepared, trials: Sequence[Trial]) -> dict[str, list[Apart]]:
    """Returns the distances of the CPUs in the trials; empty unless buffers are in host memory."""
    distances = [trial.distance_ns for trial in trials if trial.distance_ns]
    if needs_gpu(prepared.asked.buffers) or not distances:
        return {}
    return {prepared.single.path.id: apart(distances)}


def _free(outcome: Outcome, confirmed: Confirmed) -> tuned.Free:
    free = Settings().changed(outcome.free)
    return tuned.Free(
        env=free.env,
        unset=free.unset,
        taken=confirmed.everywhere,
        evidence=_listed(confirmed.targets),
        slower=_listed(confirmed.slower),
        detectable_loss=_rounded(confirmed.detectable_loss),
        host_messages=_listed(confirmed.host_messages),
    )


def _rounded(loss: float | None) -> float | None:
    return None if loss is None else round(loss, 2)


def _calibration(journal: TuneJournal, outcome: Outcome) -> tuned.Calibration | None:
    if outcome.calibration is None:
        return None
    measured = [record for record in journal.records if isinstance(record, Calibrated)]
    gains = outcome.calibration.gains
    enough = len(gains) >= FEWEST_FOR_INTERVAL
    by_target = list(np.exp(np.array(gains)).T) if enough else []
    intervals = [interval(times) for times in by_target]
    return tuned.Calibration(
        ceilings=[ceiling for record in measured for ceiling in record.ceilings],
        env=dict(outcome.calibration.candidate.env),
        rounds=len(gains),
        times=[float(median(times)) for times in by_target],
        ci95=[list(bounds) for bounds in intervals if bounds],
    )


def _verdict(trials: list[Trial], outcome: Outcome, confirmed: Confirmed | None) -> tuned.Word:
    if not outcome.taken or confirmed is None:
        worked = any(not trial.failed for trial in trials if not trial.env)
        return "nothing helps" if worked else "fails"
    if confirmed.everywhere:
        return "taken"
    return "taken here alone" if confirmed.gaining else "not taken"


def _listed(cases: Iterable[Shown]) -> list[Evidence]:
    return [_evidence(shown) for shown in cases]


def _evidence(shown: Shown) -> Evidence:
    comparison, before, after = shown.comparison, shown.before, shown.after
    return Evidence(
        case=shown.label,
        before=before.median or 0.0,
        after=after.median or 0.0,
        unit=before.unit,
        times=comparison.ratio,
        ci95=list(comparison.ci95 or ()),
        verdict=comparison.verdict,
        ceiling=before.ceiling.value if before.ceiling else None,
        distances=shown.distances,
    )
