# SPDX-License-Identifier: Apache-2.0
"""The first sentences of a report: what a reader should do."""

from nearpeak.numbers import count, percent, size
from nearpeak.report.findings import sentence
from nearpeak.report.wording import best_words, health
from nearpeak.results.names import case
from nearpeak.results.results import Advice, Results


def advice(results: Results) -> list[str]:
    """A sentence for each; one for all failures."""
    failed = ", ".join(
        f"{one.who.label} ({count(one.launches or 0, 'launch')})"
        for one in results.advice
        if one.kind == "failures" and one.who
    )
    return [
        *([f"First find out why launches failed: {failed}."] if failed else []),
        *(_words(results, one) for one in results.advice if one.kind != "failures"),
    ]


def _words(results: Results, one: Advice) -> str:
    if one.kind == "path":
        at = (one.place, one.case)
        return health(next(peak for peak in results.peaks if (peak.place, peak.case) == at))
    if one.kind == "loss":
        finding = results.findings[one.finding or 0]
        return f"Largest loss: {sentence(finding)} {finding.remedy.text}"
    if one.kind == "launches":
        return f"Measure more before changing anything: an interval needs {one.launches} launches."
    if one.kind == "near":
        name = one.who.label if one.who else "the best library of each path"
        missing = percent(1 - (one.fraction or 0.0))
        return f"Nothing to do: {name} is within {missing} % of the ceiling everywhere."
    at = (one.place, one.case)
    headline = next(each for each in results.headlines if (each.place, each.case) == at)
    return (
        f"No library comes near the ceiling on {headline.place.path} in"
        f" {case(headline.case)} at {size(headline.case.x)}: the best one,"
        f" {best_words(headline)}, reaches {percent(one.fraction)} % of it."
        " Try other settings or libraries."
    )
