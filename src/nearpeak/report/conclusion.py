# SPDX-License-Identifier: Apache-2.0
"""The first sentences of a study's answer: how near the best libraries come to the ceilings, what
the links carry without MPI, and what is unconfirmed or missing."""

from collections import Counter
from collections.abc import Sequence

from nearpeak.grouping import grouped
from nearpeak.numbers import count, listed, number, percent, size
from nearpeak.report import left_out, reached, ties, wording
from nearpeak.report.lines import FEW, RATINGS, UNCONFIRMED, Line, by_share, judged_at
from nearpeak.results.results import Cell, Results
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL

MOST_PATHS = 3  # that the sentence names, each with its share
WIDEST = 100  # letters of a line
MOST_WHERE = 2  # paths with figures that are unconfirmed, named
MOST_OF = 0.8  # of these figures, from which the paths are named
ORDER = [*(word for _, word, _ in RATINGS), UNCONFIRMED]


def sentence(results: Results, shown: Sequence[Line]) -> str:
    """`On host1, the best MPI library reaches 97 % of the ceiling at 16 MiB on gpu-gpu nvlink
    (good); ...`; of many paths the number of each rating, and the one furthest from its ceiling."""
    judged = [line for line in shown if line.share is not None]
    if not judged:
        return _without_shares(results)
    heads = [line.judged for line in judged if line.judged and line.judged.best]
    owners = {head.best.label for head in heads if head.best}
    only = len(owners) == 1 and not any(head.tied for head in heads)
    best = owners.pop() if only else "the best MPI library"
    by_rating = grouped(judged, lambda line: line.rating[0])
    unconfirmed = by_rating.keys() == {UNCONFIRMED}
    reason = f"{FEW}: on" if unconfirmed else "On"
    text = (
        f"{best} {_counted(by_rating, judged_at(judged))}; {_worst(results, by_rating)}"
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
    """`is good at 16 MiB on 2 of 6 paths, fair on 1, poor on 3`."""
    counts = {word: len(by_rating[word]) for word in ORDER if word in by_rating}
    total = sum(counts.values())
    (first, most), *others = counts.items()
    parts = [f"{first}{at_size} on {f'{most} of {total}' if others else f'all {total}'} paths"]
    return f"is {', '.join([*parts, *(f'{word} on {many}' for word, many in others)])}"


def _worst(results: Results, by_rating: dict[str, list[Line]]) -> str:
    """`worst: host-gpu near (to GPU), 12.6 % of the ceiling by intel*`, or `15.0 to 15.5 % of the
    ceiling by all 3 libraries` if they are alike: among confirmed shares, where there are any;
    `worst confirmed: ...` if another one is less."""
    confirmed = [line for word, lines in by_rating.items() if word != UNCONFIRMED for line in lines]
    unconfirmed = by_rating.get(UNCONFIRMED, [])
    line = min(confirmed or unconfirmed, key=by_share)
    less = any(by_share(other) < by_share(line) for other in unconfirmed)
    worst = f"worst{' confirmed' if less else ''}: {line.label}"
    cells = ties.alike(results, line.judged) if line.judged else []
    share = ties.shares(cells) if cells else percent(line.share)
    best = ties.everyone(cells) if cells else ties.marked(line.judged) if line.judged else ""
    return f"{worst}, {share} % of the ceiling{f' by {best}' if best else ''}"


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
    """The rates of the links without MPI, of the theoretical ones: the ceilings that libraries are
    compared with, or the best; empty if no theoretical rate is given."""
    ceilings = {
        (line.group.place, line.rate.case.buffers): (line.rate.ceiling.value, line.rate.case.x)
        for line in shown
        if line.rate and line.rate.ceiling
    }
    rates = {
        peak.place.path: (
            *ceilings.get((peak.place, peak.case.buffers), (peak.value, peak.case.x)),
            peak.theoretical_gbs,
        )
        for peak in results.peaks
        if peak.of_theoretical is not None and not peak.place.pair and not peak.place.shared
    }
    sizes = {x for _, x, _ in rates.values()}
    once = f" at {size(sizes.pop())}" if len(sizes) == 1 else ""
    parts: list[str] = []
    for path, (value, x, most) in rates.items():
        theoretical = number(most) if parts else f"a theoretical {number(most)} GB/s"
        at_size = "" if once else f" at {size(x)}"
        parts.append(f"{path} {number(value)} of {theoretical}{at_size}")
    return f"Without MPI{once}: {', '.join(parts)}." if parts else ""


def gaps(results: Results) -> str:
    """`43 of 207 figures unconfirmed (under 6 launches), 42 on host-host same-numa; 5 not measured;
    left out for lack of time: bibw and 7 more.`; empty if nothing is missing."""
    texts = gap_texts(results)
    return next((text for text in texts if len(text) <= WIDEST), texts[-1])


def gap_texts(results: Results, *, paths: bool = True) -> list[str]:
    """The gaps in fewer words each time. `paths`: with those that have most of them."""
    imported = {library.name for library in results.libraries if library.imported}
    measured = [cell for cell in results.timed if cell.median is not None]
    few = [
        cell
        for cell in measured
        if cell.launches < FEWEST_FOR_INTERVAL and cell.who.library not in imported
    ]
    unconfirmed = [
        f"unconfirmed (under {FEWEST_FOR_INTERVAL} launches){where}"
        for where in (_where(few, measured) if paths else [""])
    ]
    missing = len(results.timed) - len(measured)
    return [
        _gaps(len(results.timed), [(len(few), state), (missing, "not measured")], left)
        for state in unconfirmed
        for left in (*left_out.texts(results), "")
    ]


def _gaps(total: int, figures: Sequence[tuple[int, str]], left: str) -> str:
    parts = [f"{many} {state}" for many, state in figures if many]
    if parts:
        parts[0] = parts[0].replace(" ", f" of {count(total, 'figure')} ", 1)
    text = "; ".join(filter(None, [*parts, left]))
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _where(few: Sequence[Cell], measured: Sequence[Cell]) -> list[str]:
    """`: 34 on host-host same-numa and 34 on gpu-gpu nvlink`, and the same with the first path
    alone; `, all with intel`. The library or the paths that have most of these figures; empty texts
    if they are everywhere."""
    everyone = {cell.who.label for cell in measured}
    owners = {cell.who.label for cell in few}
    every = "all " if len(few) > 1 else ""
    if few and len(owners) == 1 < len(everyone):
        return [f", {every}with {owners.pop()}"]
    if len(few) in (0, len(measured)) or len({cell.place.group for cell in measured}) == 1:
        return [""]
    paths = Counter(cell.place.group for cell in few).most_common(MOST_WHERE)
    first, many = paths[0]
    if many == len(few):
        return [f", {every}on {first}"]
    if sum(many for _, many in paths) < MOST_OF * len(few):
        return [""]
    parts = [f"{many} on {path}" for path, many in paths]
    return [f", {listed(shown)}" for shown in (parts, parts[:1])]
