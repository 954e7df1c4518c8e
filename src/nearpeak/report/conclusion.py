# SPDX-License-Identifier: Apache-2.0
"""The first sentences of a study's answer: how near the best libraries come to the ceilings, what
the links carry without MPI, and what is unconfirmed or missing."""

from collections.abc import Sequence

from nearpeak.grouping import grouped
from nearpeak.numbers import count, listed, number, percent, size
from nearpeak.report import reached, wording
from nearpeak.report.lines import FEW, RATINGS, UNCONFIRMED, Line, by_share, judged_at
from nearpeak.results.results import Headline, Peak, Results
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL

MOST_PATHS = 3  # that the sentence names, each with its share
ORDER = [*(word for _, word, _ in RATINGS), UNCONFIRMED]


def sentence(results: Results, shown: Sequence[Line]) -> str:
    """`On host1, the best MPI library reaches 97 % of the ceiling at 16 MiB on gpu-gpu nvlink
    (good); ...`; of many paths the number of each rating, and the one furthest from its ceiling."""
    judged = [line for line in shown if line.share is not None]
    if not judged:
        return _without_shares(results)
    owners = {line.judged.best.label for line in judged if line.judged and line.judged.best}
    best = owners.pop() if len(owners) == 1 else "the best MPI library"
    by_rating = grouped(judged, lambda line: line.rating[0])
    unconfirmed = by_rating.keys() == {UNCONFIRMED}
    reason = f"{FEW}: on" if unconfirmed else "On"
    text = (
        f"{best} {_counted(by_rating, judged_at(judged))}. {_furthest(by_rating)}"
        if len(judged) > MOST_PATHS
        else f"{best} reaches {_shares(by_rating, judged_at(judged), bare=unconfirmed)}"
    )
    return f"{reason} {results.machine.hostname}, {text}."


def _shares(by_rating: dict[str, list[Line]], at_size: str, *, bare: bool) -> str:
    """`97 % of the ceiling at 16 MiB on gpu-gpu nvlink (good); 14 % on host-gpu near (poor)`;
    `bare`: without the ratings."""
    parts = []
    for word in ORDER:
        if lines := by_rating.get(word):
            paths = listed([f"{percent(line.share)} % on {line.label}" for line in lines])
            parts.append(paths if bare else f"{paths} ({word})")
    return "; ".join(parts).replace(" % on ", f" % of the ceiling{at_size} on ", 1)


def _counted(by_rating: dict[str, list[Line]], at_size: str) -> str:
    """`is good at 16 MiB on 2 of 6 paths, fair on 1 and poor on 3`."""
    counts = {word: len(by_rating[word]) for word in ORDER if word in by_rating}
    total = sum(counts.values())
    (first, most), *others = counts.items()
    parts = [f"{first}{at_size} on {f'{most} of {total}' if others else f'all {total}'} paths"]
    return f"is {listed([*parts, *(f'{word} on {many}' for word, many in others)])}"


def _furthest(by_rating: dict[str, list[Line]]) -> str:
    """`The furthest from its ceiling is host-gpu near (to GPU), 12.6 % with intel`: among confirmed
    shares, where there are any."""
    confirmed = [line for word, lines in by_rating.items() if word != UNCONFIRMED for line in lines]
    line = min(confirmed or by_rating[UNCONFIRMED], key=by_share)
    with_best = f" with {line.judged.best.label}" if line.judged and line.judged.best else ""
    return f"The furthest from its ceiling is {line.label}, {percent(line.share)} %{with_best}"


def _without_shares(results: Results) -> str:
    """The answer of a study in which no figure of a message has a ceiling."""
    if text := reached.sentences(results):
        return text
    subject = wording.subject(results)
    if has_figures(results):
        reason = ""
    elif results.ceilings:
        reason = ": no library was measured, only the ceilings"
    else:
        reason = ": nothing could be measured"
    return f"{subject[:1].upper()}{subject[1:]}{reason}."


def has_figures(results: Results) -> bool:
    """True if a library has a figure, of messages or of an application."""
    return any(cell.median is not None for cell in results.timed)


def links(results: Results, shown: Sequence[Line]) -> str:
    """The rates of the links at best without MPI, of the theoretical ones, and the ceilings that
    libraries are compared with; empty if no theoretical rate is given."""
    ceilings = {
        (line.group.place, line.rate.case.buffers): line.rate
        for line in shown
        if line.rate and line.rate.ceiling
    }
    rates = {
        peak.place.path: _rate(peak, ceilings.get((peak.place, peak.case.buffers)))
        for peak in results.peaks
        if peak.of_theoretical is not None and not peak.place.pair and not peak.place.shared
    }
    return f"Without MPI, links carry {'; '.join(rates.values())}." if rates else ""


def _rate(peak: Peak, head: Headline | None) -> str:
    """`390 of a theoretical 450 GB/s on gpu-gpu nvlink (368 with 16 MiB, its ceiling here)`."""
    theoretical = number(peak.theoretical_gbs)
    text = f"{number(peak.value)} of a theoretical {theoretical} GB/s on {peak.place.path}"
    if head is None or head.ceiling is None or head.case.x == peak.case.x:
        return text
    return f"{text} ({number(head.ceiling.value)} with {size(head.case.x)}, its ceiling here)"


def gaps(results: Results) -> str:
    """`66 of 115 figures unconfirmed (fewer than 6 launches), 4 not measured, 10 left out.`; empty
    if nothing is missing."""
    imported = {library.name for library in results.libraries if library.imported}
    measured = [cell for cell in results.timed if cell.median is not None]
    launches = [cell.launches for cell in measured if cell.who.library not in imported]
    few = sum(number < FEWEST_FOR_INTERVAL for number in launches)
    missing = len(results.timed) - len(measured)
    unconfirmed = f"unconfirmed (fewer than {FEWEST_FOR_INTERVAL} launches)"
    figures = [(few, unconfirmed), (missing, "not measured")]
    parts = [f"{many} {state}" for many, state in figures if many]
    if parts:
        total = count(len(results.timed), "figure")
        parts[0] = f"{parts[0].replace(' ', f' of {total} ', 1)}"
    if left := len(results.left_out):
        parts.append(f"{left if parts else count(left, 'subject')} left out")
    text = ", ".join(parts)
    return f"{text}." if text else ""
