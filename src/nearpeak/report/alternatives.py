# SPDX-License-Identifier: Apache-2.0
"""Alternatives that a study measured to what it found bad: another library on the same path, or the
same messages with ranks placed in another way."""

from collections.abc import Iterator

from nearpeak.numbers import number, unit
from nearpeak.report.behind import losses
from nearpeak.results.order import guests, no_mpi
from nearpeak.results.results import Comparison, Finding, Headline, Results
from nearpeak.statistics.comparisons import better_by
from nearpeak.terms.axes import staging
from nearpeak.terms.identity import Who

WORTH = 1.5  # times better, from which another placement is named


def better_library(results: Results, finding: Finding) -> str:
    """`Use mpich+layer: 14.2 GB/s (1.48x).`: the best library that is significantly
    better in the case of a finding, with how often its launches fail on this path; empty without
    one. A library that lost half of its launches there is none."""
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
    lost = losses(results, best, finding.place)
    warning = f"; {lost} here" if lost.failed else ""
    figures = _figures(results, finding, best)
    return f"Use {best.label}{figures} ({number(ratios[best])}x{warning})."


def _figures(results: Results, finding: Finding, best: Who) -> str:
    """`: 7.57 GB/s`, of the better library; ` here` without. Where the finding names no figure of
    its own, `: 942 instead of 9140 µs`."""
    medians = {
        cell.who: cell
        for cell in results.cells
        if (cell.place, cell.case) == (finding.place, finding.case) and cell.median
    }
    mine, better = medians.get(finding.who or best), medians.get(best)
    if mine is None or better is None:
        return " here"
    instead = "" if finding.cost else f" instead of {number(mine.median)}"
    return f": {number(better.median)}{instead} {unit(mine.unit)}"


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
