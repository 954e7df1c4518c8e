# SPDX-License-Identifier: Apache-2.0
"""The first sentences of a report: what a reader should do."""

from collections.abc import Callable

from nearpeak.numbers import count, number, percent, size, unit
from nearpeak.report import findings
from nearpeak.report.drift import changed_words
from nearpeak.report.wording import best_words, health
from nearpeak.results import methods
from nearpeak.results.names import case
from nearpeak.results.results import Advice, AdviceKind, Cause, Headline, Results
from nearpeak.terms.buffers import on_host

_CAUSES: dict[Cause, str] = {
    "other work": "other work took the ranks' time",
    "two modes": "its launches fall into two groups",
    "held down": "hardware was hot or slowed, or a hypervisor took CPU time",
    "sessions": "sessions differ by more than launches explain",
    "drift": "the path changed during the study",
}


def advice(results: Results) -> list[str]:
    """One sentence for each advice, but a single one for all failures."""
    failed = ", ".join(
        f"{advice.who.label} ({count(advice.launches or 0, 'launch')})"
        for advice in results.advice
        if advice.kind == "failures" and advice.who
    )
    return [
        *([f"First find out why launches failed: {failed}."] if failed else []),
        *(sentence(results, advice) for advice in results.advice if advice.kind != "failures"),
    ]


def sentence(results: Results, advice: Advice) -> str:
    """The text of one advice, except of failures."""
    return _SENTENCES[advice.kind](results, advice)


def _of_path(results: Results, advice: Advice) -> str:
    key = (advice.place, advice.case)
    text = health(next(peak for peak in results.peaks if (peak.place, peak.case) == key))
    joins_both = advice.case is not None and len({*on_host(advice.case.buffers)}) == 2
    if results.machine.virtual and joins_both:
        text += " A virtual machine may show another link than its host has."
    return text


def _of_loss(results: Results, advice: Advice) -> str:
    finding = results.findings[advice.finding or 0]
    # Without a cost: parts of a message may move its bytes, so not all of their time is lost.
    opening = "Largest confirmed loss" if finding.cost else "Look first at"
    return f"{opening}: {findings.sentence(finding)} {findings.remedied(finding)}"


def _of_launches(_: Results, advice: Advice) -> str:
    return f"Measure more before changing anything: an interval needs {advice.launches} launches."


def _of_near(_: Results, advice: Advice) -> str:
    name = advice.who.label if advice.who else "the best library of each path"
    missing = percent(1 - (advice.fraction or 0.0))
    return f"Nothing to do: {name} is within {missing} % of the ceiling everywhere."


def _of_far(results: Results, advice: Advice) -> str:
    headline = _headline(results, advice)
    target = _target(headline)
    reached = f"No library comes near {target} reaches {percent(advice.fraction)} % of it."
    remedies = ["Measure the idle machine first."] if results.loaded else []
    if (like := advice.like) and headline.ceiling:
        carried = f"{number(like.value)} {unit(headline.unit)}"
        reached += (
            f" It carries what {methods.describe(like.method)} does without MPI ({carried}):"
            " settings help only if they make messages move in another way, as"
            f" {methods.describe(headline.ceiling.method)} does"
            " (docs/methods/ceilings.md says what each takes)."
        )
    else:
        remedies.append("Search for settings (`nearpeak tune`), or try other libraries.")
    return " ".join([reached, *remedies[:1]])


def _of_open(results: Results, advice: Advice) -> str:
    target = _target(_headline(results, advice))
    low, high = advice.fraction_ci95 or (0.0, 0.0)
    reason = " and ".join(_cause(results, advice, cause) for cause in advice.why)
    remedy = "again when the machine is idle" if results.loaded else "more before changing anything"
    return (
        f"Inconclusive how near any library comes to {target} reaches {percent(advice.fraction)} %"
        f" of it, and the 95 % interval is {percent(low)} to {percent(high)} %. Launches scatter: "
        f"{reason or 'nothing recorded tells why'}. Measure {remedy}."
    )


_SENTENCES: dict[AdviceKind, Callable[[Results, Advice], str]] = {
    "path": _of_path,
    "loss": _of_loss,
    "launches": _of_launches,
    "near": _of_near,
    "far": _of_far,
    "open": _of_open,
}


def _headline(results: Results, advice: Advice) -> Headline:
    key = (advice.place, advice.case)
    return next(row for row in results.headlines if (row.place, row.case) == key)


def _target(headline: Headline) -> str:
    """The ceiling of a headline, and who comes nearest to it."""
    text = f"the ceiling on {headline.place.path} in {case(headline.case)}"
    text += f" at {size(headline.case.x)}"
    if ceiling := headline.ceiling:
        text += (
            f" ({number(ceiling.value)} {unit(headline.unit)}"
            f" by {methods.describe(ceiling.method)})"
        )
    return f"{text}: the best one, {best_words(headline)},"


def _cause(results: Results, advice: Advice, cause: Cause) -> str:
    """Explains a cause; for a path that changed also when, and by how much."""
    text = _CAUSES[cause]
    changed = [drift for drift in results.drift if drift.changed and drift.place == advice.place]
    return f"{text}: {changed_words(changed[0])}" if cause == "drift" and changed else text
