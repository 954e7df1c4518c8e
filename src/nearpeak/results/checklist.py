# SPDX-License-Identifier: Apache-2.0
"""The twelve rules of Hoefler and Belli, judged from a study's own data.

Torsten Hoefler and Roberto Belli, "Scientific Benchmarking of Parallel Computing Systems: Twelve
Ways to Tell the Masses When Reporting Performance Results", SC15, doi:10.1145/2807591.2807644.
The rules are given here in our own words.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from nearpeak.grouping import grouped
from nearpeak.numbers import agreeing, count, listed
from nearpeak.observations.observed import Observations
from nearpeak.results.cells import is_defect
from nearpeak.results.results import (
    Application,
    Cell,
    Comparison,
    Judging,
    Rule,
    RuleState,
    Skip,
)
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL
from nearpeak.statistics.verdicts import TWO_MODES
from nearpeak.terms.benchmarks import with_ceilings

MET: Final = "met"
NOT_MET: Final = "not met"
NOT_APPLICABLE: Final = "not applicable"


def judge(
    data: Observations,
    cells: list[Cell],
    applications: list[Application],
    comparisons: list[Comparison],
    judging: Judging,
    skipped: list[Skip],
) -> list[Rule]:
    """All twelve, in order. `cells`: of messages, without those of applications."""
    messages = [cell for cell in cells if cell.median is not None]
    every = [*cells, *(application.cell for application in applications)]
    measured = [cell for cell in every if cell.median is not None]
    answers = [
        (
            "For a speed-up, give the base case and its absolute performance",
            _speedups(applications),
        ),
        ("Say why anything was left out", _left_out(data, every, skipped)),
        ("Arithmetic means only of costs, harmonic means of rates", _means(measured)),
        ("Do not sum up ratios; show what they were made from", _ratios(cells, applications)),
        ("Say whether results vary, and give intervals if they do", _intervals(measured)),
        ("Do not assume normality unchecked", _normality(measured)),
        (
            "Compare what varies by sound statistics",
            _comparisons(comparisons, judging, applications),
        ),
        (
            "Ask whether the centre is what matters; if not, give percentiles",
            _percentiles(measured),
        ),
        ("Document every factor and the whole set-up", _setup(data)),
        ("Say how time was taken, synchronised and summed up", _timing(data)),
        ("Show an upper bound where there can be one", _bounds(data, messages, applications)),
        (
            "Plot what is needed; draw lines only where values between points have a meaning",
            _plots(messages, applications),
        ),
    ]
    return [
        Rule(number=number, rule=rule, state=state, how=reason)
        for number, (rule, (state, reason)) in enumerate(answers, 1)
    ]


def _state(good: bool) -> RuleState:
    return MET if good else NOT_MET


Clause = tuple[object, str]  # a count or a condition, and the text unless it is 0 or False


def _clauses(*clauses: Clause) -> list[str]:
    return [text for applies, text in clauses if applies]


def _reason(first: str, *clauses: Clause) -> str:
    return "; ".join([first, *_clauses(*clauses)])


def _measured_by_intervals(intervals: Iterable[object]) -> tuple[int, int]:
    """The number of those that are not None, and of all."""
    every = [interval is not None for interval in intervals]
    return sum(every), len(every)


def _speedups(applications: list[Application]) -> tuple[RuleState, str]:
    scaled = sum(application.scaled is not None for application in applications)
    beside = sum(len(application.beside) for application in applications)
    clauses = _clauses(
        (scaled, f"{count(scaled, 'efficiency')} against the fewest ranks"),
        (beside, f"{count(beside, 'speed-up')} against the default of an axis"),
    )
    if not clauses:
        return NOT_APPLICABLE, "no speed-up over a serial run is reported"
    return MET, f"{listed(clauses)}: the time of each base case stands in the same table"


def _left_out(data: Observations, cells: list[Cell], skipped: list[Skip]) -> tuple[RuleState, str]:
    empty = [cell for cell in cells if cell.median is None]
    unexplained = any(cell.status == "ok" for cell in empty)
    return _state(data.complete and not unexplained), _reason(
        f"{len(empty)} of {len(cells)} cells have no number, each with its reason as status",
        (skipped, f"skipped, each with its reason: {count(len(skipped), 'kind')} of cases"),
        (not data.complete, "the study was cut off before the end of its plan"),
    )


def _ratios(cells: list[Cell], applications: list[Application]) -> tuple[RuleState, str]:
    shares = sum(cell.fraction is not None for cell in cells)
    rooflines = sum(application.roofline is not None for application in applications)
    clauses = _clauses(
        (shares, f"each of {shares} fractions stands beside its median and its ceiling"),
        (rooflines, f"each of {rooflines} shares of a roofline stands beside its time"),
    )
    if not clauses:
        return NOT_APPLICABLE, "no fraction is reported"
    return MET, f"{', '.join(clauses)}; no mean is taken over cells"


def _intervals(measured: list[Cell]) -> tuple[RuleState, str]:
    sure, every = _measured_by_intervals(cell.ci95 for cell in measured)
    return _state(0 < every == sure), _reason(
        f"{sure} of {every} cells have a 95 % interval over at least {FEWEST_FOR_INTERVAL}"
        " launches",
        (sure < every, "the others show a range instead of an interval"),
    )


def _normality(measured: list[Cell]) -> tuple[RuleState, str]:
    apart = {"sessions apart", "fractions apart"}
    student = sum(
        not apart.isdisjoint(cell.flags) and 2 < cell.sessions < FEWEST_FOR_INTERVAL
        for cell in measured
    )
    return _state(not student), _reason(
        "intervals come from order statistics, verdicts from flipping the signs of whole blocks:"
        " neither assumes a distribution",
        (
            student,
            f"the interval of {count(student, 'cell')}, whose few sessions differ, is Student's,"
            " which assumes that sessions are normal",
        ),
    )


def _comparisons(
    comparisons: list[Comparison], judging: Judging, applications: list[Application]
) -> tuple[RuleState, str]:
    if not comparisons:
        return _speedups_judged(applications)
    sure, every = _measured_by_intervals(comparison.ci95 for comparison in comparisons)
    modes = sum(comparison.verdict == TWO_MODES for comparison in comparisons)
    have, judge = agreeing(modes, "has", "have"), agreeing(judging.blocks, "judges", "judge")
    return _state(sure == every and not judging.left_out), _reason(
        f"{sure} of {every} comparisons have a 95 % interval of the ratio of launches "
        "interleaved in blocks; at most 5 % of studies have a false verdict, whatever the "
        "distribution of launches",
        (modes, f"{count(modes, 'comparison')} of cells with two modes {have} no verdict"),
        (
            judging.left_out,
            f"{count(judging.blocks, 'block')} {judge}"
            f" {judging.pairs - len(judging.left_out)} of {judging.pairs} pairs,"
            f" all pairs need {judging.blocks_needed}",
        ),
    )


def _speedups_judged(applications: list[Application]) -> tuple[RuleState, str]:
    beside = [other.speedup.ci95 for application in applications for other in application.beside]
    if not beside:
        return NOT_APPLICABLE, "nothing was compared"
    sure, every = _measured_by_intervals(beside)
    return _state(sure == every), (
        f"{sure} of {count(every, 'speed-up')} have a 95 % interval of the ratio of"
        " launches interleaved in blocks; no verdict is given"
    )


def _means(measured: list[Cell]) -> tuple[RuleState, str]:
    summed = sum(cell.p05 is None for cell in measured)
    return _state(not summed), _reason(
        "medians within and over launches; only logarithms of ratios are averaged: "
        "over the sizes of a curve for its verdict, over cells for a headline",
        (summed, f"{summed} of {count(len(measured), 'figure')} came summed up by another tool"),
    )


def _percentiles(measured: list[Cell]) -> tuple[RuleState, str]:
    modes = sum(bool(cell.modes) for cell in measured)
    with_percentiles, every = _measured_by_intervals(cell.p05 for cell in measured)
    share = "each" if with_percentiles == every else f"{with_percentiles}"
    fall = agreeing(modes, "falls", "fall")
    return _state(0 < every == with_percentiles), (
        f"5th and 95th percentile and minimum beside {share} of {every} medians; "
        f"{count(modes, 'cell')} {fall} into two modes, which are both shown"
    )


def _setup(data: Observations) -> tuple[RuleState, str]:
    ended = [launch for launch in data.launches if launch.status not in ("crashed", "hung")]
    silent = sum(launch.tick_ns is None for launch in ended)
    return _state(silent == 0), (
        "machine, library versions, plan with its seed, and every launch's command, binding and "
        f"environment are recorded; {silent} of {len(ended)} launches did not say where they ran"
    )


def _timing(data: Observations) -> tuple[RuleState, str]:
    ticks = sorted(launch.tick_ns for launch in data.launches if launch.tick_ns is not None)
    if not ticks:
        return NOT_MET, "no launch described its clock"
    return MET, (
        f"slots of {_slots(data)} ms after warm-up, a clock that ticks every "
        f"{ticks[len(ticks) // 2]:.3g} ns, raw samples kept, median of launch medians; "
        "docs/methods/statistics.md says the rest"
    )


def _slots(data: Observations) -> str:
    """`5 to 20`: of all launches."""
    slots = {launch.slot_ms for launch in data.launches}
    return " to ".join(f"{slot:.3g}" for slot in sorted({min(slots), max(slots)}))


def _bounds(
    data: Observations, messages: list[Cell], applications: list[Application]
) -> tuple[RuleState, str]:
    state, reason = _ceilings(data, messages)
    rooflines, every = _measured_by_intervals(problem.roofline for problem in applications)
    clause = f"{rooflines} of {every} problems of applications have a roofline"
    if rooflines and state == NOT_APPLICABLE:
        return MET, clause
    return state, _reason(reason, (rooflines, clause))


def _ceilings(data: Observations, measured: list[Cell]) -> tuple[RuleState, str]:
    can_be = with_ceilings(data.benchmarks)

    def wants(cell: Cell) -> bool:
        possible = cell.case.benchmark in can_be and (cell.case.x > 0 or cell.better == "lower")
        return cell.ceiling is not None or possible

    sides = grouped(measured, wants)
    wanting, others = sides.get(True, []), sides.get(False, [])
    if not wanting:
        return NOT_APPLICABLE, "nothing was measured that has a ceiling"
    kinds = Counter(cell.ceiling.kind for cell in wanting if cell.ceiling is not None)
    bound, derived, ideal = kinds.total(), kinds["bound"], kinds["ideal"]
    above = sum(map(is_defect, wanting))
    noisy = sum("above ceiling" in cell.flags for cell in wanting) - above
    names = ", ".join(sorted({cell.case.benchmark for cell in others}))
    of_ceilings = [
        f"{bound} of {len(wanting)} cells are compared with a ceiling of the same blocks",
        *_clauses(
            (derived, f"{derived} of them with a bound that follows from such ceilings"),
            (ideal, f"{ideal} with the best possible value"),
        ),
    ]
    return _state(len(wanting) == bound and not above), _reason(
        ", ".join(of_ceilings),
        (others, f"{count(len(others), 'other')} ({names}) have none"),
        (above, f"{above} are above it: there the ceiling is wrong"),
        (noisy, f"{noisy} are above it, but their intervals reach down to it"),
    )


def _plots(messages: list[Cell], applications: list[Application]) -> tuple[RuleState, str]:
    sizes = Counter((cell.who, cell.place, cell.case.curve) for cell in messages)
    clauses = _clauses(
        (max(sizes.values(), default=0) >= 2, f"{count(len(sizes), 'curve')} over the sizes"),
        (
            any(application.scaled is not None for application in applications),
            "applications over the number of ranks",
        ),
    )
    if not clauses:
        return NOT_APPLICABLE, "no curve has more than one size"
    return MET, (
        f"{listed(clauses)} with interval bands; every point is marked, so that "
        "a line shows a trend and nothing was measured between"
    )
