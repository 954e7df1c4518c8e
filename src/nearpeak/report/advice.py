# SPDX-License-Identifier: Apache-2.0
"""The first sentences of a report: what a reader should do."""

from nearpeak.numbers import count, number, percent, size, unit
from nearpeak.report.drift import changed_words
from nearpeak.report.findings import remedied, sentence
from nearpeak.report.wording import best_words, health
from nearpeak.results import methods
from nearpeak.results.names import case
from nearpeak.results.results import Advice, Cause, Results

_CAUSES: dict[Cause, str] = {
    "other work": "other work took the ranks' time",
    "two modes": "its launches fall into two groups",
    "held down": "hardware was hot or slowed, or a hypervisor took CPU time",
    "sessions": "sessions differ by more than launches explain",
    "drift": "the path changed during the study",
}


def advice(results: Results) -> list[str]:
    """A sentence for each; one for all failures."""
    failed = ", ".join(
        f"{advice.who.label} ({count(advice.launches or 0, 'launch')})"
        for advice in results.advice
        if advice.kind == "failures" and advice.who
    )
    return [
        *([f"First find out why launches failed: {failed}."] if failed else []),
        *(_words(results, advice) for advice in results.advice if advice.kind != "failures"),
    ]


def _words(results: Results, advice: Advice) -> str:
    if advice.kind == "path":
        at = (advice.place, advice.case)
        return health(next(peak for peak in results.peaks if (peak.place, peak.case) == at))
    if advice.kind == "loss":
        finding = results.findings[advice.finding or 0]
        # Parts of a message may move its bytes, so that not all of them are lost.
        what = "Largest loss that a rule knows" if finding.cost else "Look first at"
        return f"{what}: {sentence(finding)} {remedied(finding)}"
    if advice.kind == "launches":
        return (
            f"Measure more before changing anything: an interval needs {advice.launches} launches."
        )
    if advice.kind == "near":
        name = advice.who.label if advice.who else "the best library of each path"
        missing = percent(1 - (advice.fraction or 0.0))
        return f"Nothing to do: {name} is within {missing} % of the ceiling everywhere."
    at = (advice.place, advice.case)
    headline = next(each for each in results.headlines if (each.place, each.case) == at)
    where = f"the ceiling on {headline.place.path} in {case(headline.case)}"
    where += f" at {size(headline.case.x)}"
    if ceiling := headline.ceiling:
        value = f"{number(ceiling.value)} {unit(headline.unit)}"
        where += f" ({value} by {methods.describe(ceiling.method)})"
    where += f": the best one, {best_words(headline)},"
    loaded = results.loaded
    if advice.kind == "far":
        reached = f"No library comes near {where} reaches {percent(advice.fraction)} % of it."
        if (like := advice.like) and headline.ceiling:
            carried = f"{number(like.value)} {unit(headline.unit)}"
            reached += (
                f" It carries what {methods.describe(like.method)} does without MPI ({carried}):"
                " settings help only if they make messages move in another way, as"
                f" {methods.describe(headline.ceiling.method)} does"
                " (docs/ceilings.md says what each takes)."
            )
            return f"{reached} Measure the idle machine first." if loaded else reached
        remedy = (
            "Measure the idle machine first"
            if loaded
            else "Search for settings (`nearpeak tune`), or try other libraries"
        )
        return f"{reached} {remedy}."
    low, high = advice.fraction_ci95 or (0.0, 0.0)
    why = " and ".join(_cause(results, advice, cause) for cause in advice.why)
    why = why or "nothing recorded tells why"
    remedy = "again when the machine is idle" if loaded else "more before changing anything"
    return (
        f"It is open how near any library comes to {where} reaches {percent(advice.fraction)} % of "
        f"it, and the 95 % interval is {percent(low)} to {percent(high)} %. Launches scatter: "
        f"{why}. Measure {remedy}."
    )


def _cause(results: Results, advice: Advice, cause: Cause) -> str:
    """Of a path that changed also when, and by how much."""
    words = _CAUSES[cause]
    changed = [drift for drift in results.drift if drift.changed and drift.place == advice.place]
    return f"{words}: {changed_words(changed[0])}" if cause == "drift" and changed else words
