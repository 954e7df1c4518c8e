# SPDX-License-Identifier: Apache-2.0
"""Alternatives that a study measured to what it found bad: another library on the same path, or the
same messages with ranks placed in another way."""

from collections.abc import Iterator

from nearpeak.numbers import number, unit
from nearpeak.report.behind import losses
from nearpeak.results.order import guests, no_mpi
from nearpeak.results.results import Cell, Comparison, Finding, Headline, Results
from nearpeak.statistics.comparisons import better_by
from nearpeak.terms.axes import staging
from nearpeak.terms.identity import Case, Place, Who

WORTH = 1.5  # times better, from which another placement is named


def better_library(results: Results, finding: Finding, headline: str) -> str:
    """`Use mpich+layer: 14.2 GB/s (1.57x).`: the best library that is significantly better in the
    case of a finding, with how often its launches fail on this path; empty without one. A library
    that lost half of its launches there is none. The ratio is that of its figure and the one of the
    finding, which `headline` has, or else this: `964 instead of 9140 µs`."""
    if finding.case is None or finding.who is None or staging(finding.case.axes) is not None:
        return ""
    no_library = no_mpi(results) | guests(results)
    ratios = {
        who: ratio
        for compared in results.comparisons
        if (compared.place, compared.case) == (finding.place, finding.case)
        for who, ratio in _better(compared, finding.who)
        if who.library not in no_library | {finding.who.library}
        and not losses(results, who, compared.place).unfit
    }
    if not ratios or finding.place is None:
        return ""
    best = max(ratios, key=ratios.__getitem__)
    failed = str(losses(results, best, finding.place))
    figures, ratio = _figures(results, finding, best, headline) or (" here", ratios[best])
    return f"Use {best.label}{figures} ({'; '.join(filter(None, [f'{number(ratio)}x', failed]))})."


def _figures(
    results: Results, finding: Finding, best: Who, headline: str
) -> tuple[str, float] | None:
    """`: 7.57 GB/s`, of the better library, and how many times that is better than the figure of
    the finding; None without both."""
    better = figure_of(results, best, finding.place, finding.case)
    cell = figure_of(results, finding.who, finding.place, finding.case)
    if not (better and better.median and cell and cell.median):
        return None
    value = _value(finding, cell.unit) or cell.median
    shown = f"{number(value)} {unit(cell.unit)}"
    instead = "" if shown in headline else f" instead of {number(value)}"
    text = f": {number(better.median)}{instead} {unit(cell.unit)}"
    return text, better_by(better.median, value, cell.better)


def figure_of(
    results: Results, who: Who | None, place: Place | None, case: Case | None
) -> Cell | None:
    """The cell of a library in a case; None without a figure."""
    subject = (who, place, case)
    return next(
        (
            cell
            for cell in results.cells
            if (cell.who, cell.place, cell.case) == subject and cell.median
        ),
        None,
    )


def _value(finding: Finding, unit: str) -> float | None:
    """The figure that loses, in the blocks of the finding; None if it has none in this unit."""
    values = (one.value for one in finding.evidence if (one.of, one.unit) == ("own", unit))
    return next(values, None)


def _better(compared: Comparison, who: Who) -> Iterator[tuple[Who, float]]:
    """Yields the other alternative of a comparison with its ratio, if it is significantly better
    than `who`."""
    if compared.first == who and compared.verdict == "faster":
        yield compared.second, compared.ratio
    if compared.second == who and compared.verdict == "slower":
        yield compared.first, 1 / compared.ratio


def better_path(results: Results, head: Headline) -> str:
    """`Use MPS: 14.2 µs (10.7x).`: the same messages on the variant of a path that is most better;
    empty without one."""
    ratios = [
        (better_by(other.value, head.value, head.better), other)
        for other in results.headlines
        if other.place.variant_of == head.place.path
        and other.case == head.case
        and other.value
        and head.value
    ]
    ratio, other = max(ratios, key=lambda pair: pair[0], default=(0.0, head))
    if ratio < WORTH:
        return ""
    way = "Use MPS" if other.place.mps else f"Place ranks as on {other.place.path}"
    doubt = "" if other.fraction_ci95 else ", unconfirmed"
    return f"{way}: {number(other.value)} {unit(other.unit)} ({number(ratio)}x{doubt})."
