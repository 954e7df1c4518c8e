# SPDX-License-Identifier: Apache-2.0
"""The sentences that terminal and page share. What they are about is chosen elsewhere
(headlines.py, results/order.py); nothing is judged here."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from nearpeak.numbers import count, number, percent, size, unit, within
from nearpeak.report.findings import advised, sentence
from nearpeak.report.headlines import Group
from nearpeak.report.overlap import share
from nearpeak.results import methods
from nearpeak.results.cells import is_defect
from nearpeak.results.names import case, counted, in_cache, loses, reference, status
from nearpeak.results.order import places
from nearpeak.results.results import (
    HOST_CACHES,
    Cell,
    Finding,
    Headline,
    Mode,
    Peak,
    Reference,
    Results,
    TwoModes,
)
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL
from nearpeak.terms.benchmarks import named
from nearpeak.terms.buffers import needs_gpu
from nearpeak.terms.identity import Place
from nearpeak.terms.subjects import one_way

MOST_WHY = 3  # findings about messages of a path that are told with its figures


@dataclass(frozen=True)
class PathWords:
    """What is told of one path."""

    place: Place
    sentences: list[str]  # one for each library; of a path without any, what is known of it
    first: str = ""  # who is first in what, where that can be told
    modes: str = ""  # the figures that have two modes
    why: list[str] = field(default_factory=list)  # what its messages do, and what to do about it


def headlines(results: Results, found: list[Group]) -> list[PathWords]:
    """Of each path; those of all pairs have their own summary (report/pairs.py)."""
    return [
        _headline(results, place, [group for group in found if group.place == place])
        for place in places(results)
        if not place.pair
    ]


def _headline(results: Results, place: Place, mine: list[Group]) -> PathWords:
    if not mine:
        return PathWords(place, [_others(results, place) or _ceiling_alone(results, place)])
    told = [(group, name) for group in mine for name in _told(results, group)]
    sentences = []
    for label in dict.fromkeys(row.label for group in mine for row in group.rows):
        parts = [
            _figure_words(group.figures[name], row.reached[name])
            for group, name in told
            for row in group.rows
            if row.label == label and name in row.reached
        ]
        if parts:
            sentences.append(f"{label}: {'; '.join(parts)}.")
    first = _first_words([group.figures[name] for group, name in told])
    two = "".join(modes(mode) for mode in results.modes if mode.place == place)
    measured = sentences or ["Nothing was measured: see the failures."]
    return PathWords(place, measured, first, two, _why(results, place))


def _why(results: Results, place: Place) -> list[str]:
    """What messages of the path were seen to do, and what to do about it."""
    return [f"{sentence(found)} {advised(found)}" for found in _of_messages(results, place)]


def _of_messages(results: Results, place: Place) -> list[Finding]:
    """Findings about single messages of a path: the first ones."""
    return [
        finding
        for finding in results.findings
        if finding.place == place and any(fact.of == "part" for fact in finding.facts)
    ][:MOST_WHY]


def stands_out(results: Results) -> list[Finding]:
    """All findings but those that are told with the figures of their path."""
    told = [
        finding
        for place in places(results)
        if not place.pair
        for finding in _of_messages(results, place)
    ]
    return [finding for finding in results.findings if finding not in told]


def _others(results: Results, place: Place) -> str:
    """What was measured there that only the families' sections tell; empty: nothing."""
    names = dict.fromkeys(cell.case.figure for cell in results.cells if cell.place == place)
    apps = (application.cell for application in results.applications)
    names |= dict.fromkeys(cell.case.benchmark for cell in apps if cell.place == place)
    return f"Measured here, shown in the sections below: {', '.join(names)}." if names else ""


def _told(results: Results, group: Group) -> list[str]:
    """The figures of a group that stand for it: the time of a message and the rate one way; where
    it has neither, those with a ceiling, else all."""
    one_way_ = one_way(results.benchmarks)
    usual = [
        name
        for name, figure in group.figures.items()
        if one_way_(figure.case)
        or (
            named(results.benchmarks, figure.case.benchmark).one_message
            and figure.better == "lower"
        )
    ]
    held = [name for name, figure in group.figures.items() if figure.ceiling is not None]
    return sorted(
        usual or held or group.figures, key=lambda name: group.figures[name].better != "lower"
    )


def _figure_words(figure: Headline, cell: Cell) -> str:
    """`bw 4 MiB 5.00 GB/s (4.80 to 5.30), 13.0 % of the ceiling's plateau 46.0 GB/s`."""
    what = f"{case(figure.case)} {size(cell.case.x)}"
    if cell.median is None:
        return f"{what} {status(cell)}"
    words = f"{what} {number(cell.median)} {unit(cell.unit)}"
    if span := within(cell.ci95, cell.range):
        words += f" ({span})"
    if loss := loses(cell):
        words += f", {loss}"
    if is_defect(cell):
        name = reference(cell.ceiling)
        return f"{words}, above the {name}: the {name} is wrong there"
    plateau = figure.plateau
    if cell.of_plateau is not None and plateau is not None:
        cached = f", {where}" if (where := in_cache(plateau)) else ""
        at = "of several sizes" if figure.plateau_of_several else size(plateau.x)
        own = ""
        if cell.fraction is not None and plateau.x != cell.case.x:
            own = f"{percent(cell.fraction)} % of the ceiling at this size, "
        return (
            f"{words}, {own}{percent(cell.of_plateau.fraction)} % of the ceiling's plateau"
            f" {number(plateau.value)} {unit(figure.unit)} ({at}{cached})"
        )
    if cell.ceiling is not None and cell.ceiling.kind == "bound":
        return f"{words}, bound {number(cell.ceiling.value)} {unit(cell.unit)}"
    if cell.overlap is not None:
        return f"{what} {share(cell.overlap.hidden)}"
    if cell.fraction is not None:
        return f"{words}, {percent(cell.fraction)} % of the {reference(cell.ceiling)}"
    return words


def _first_words(figures: list[Headline]) -> str:
    """`First: openmpi in latency; mpich (tied with openmpi) in bw.`: where that can be told."""
    where: dict[str, list[str]] = defaultdict(list)
    for figure in figures:
        if figure.standing in ("first", "tie", "undecided"):
            where[best_words(figure)].append(case(figure.case))
    parts = [f"{who} in {', '.join(cases)}" for who, cases in where.items()]
    return f"First: {'; '.join(parts)}." if parts else ""


def best_words(headline: Headline) -> str:
    """`mpich`; `mpich (tied with openmpi)` where they are equivalent: who is best, empty where
    nobody is."""
    who = headline.best.label if headline.best else ""
    how = "tied with" if headline.standing == "tie" else "no proven difference from"
    parts = [
        f"{words} {' and '.join(owner.label for owner in owners)}"
        for words, owners in (
            (how, [owner for owner in headline.tied if owner not in headline.unjudged]),
            ("not judged against", headline.unjudged),
        )
        if owners
    ]
    return f"{who} ({', '.join(parts)})" if parts else who


def _ceiling_alone(results: Results, place: Place) -> str:
    peaks = [peak for peak in results.peaks if peak.place == place]
    if not peaks:
        failed = sum(failure.place == place for failure in results.failures)
        return f"Nothing was measured: {count(failed, 'launch')} failed."
    parts = [
        f"{case(best.case)} {number(best.value)} {unit(best.unit)}{_counting(best)} by"
        f" {methods.describe(best.method)}"
        for best in peaks
        if not best.fact
    ]
    return f"Ceiling only, no MPI: {'; '.join(parts)}."


def _counting(best: Peak) -> str:
    how = counted(best.case, best.value)
    return f" ({how})" if how else ""


def health(peak: Peak) -> str:
    """A path that carries less than it should."""
    case = peak.case
    counted = convention(peak)
    return (
        f"Check {peak.place.path}: without MPI it carries {number(peak.value)} GB/s"
        f" ({case.figure} {case.buffers} at {size(case.x)}), {percent(peak.of_theoretical)} %"
        f" of its theoretical {number(peak.theoretical_gbs)} GB/s"
        + (f" ({counted})." if counted else ".")
    )


def convention(peak: Peak) -> str:
    """How the theoretical rate counts where that could be taken otherwise."""
    if peak.place.shared:
        return "half of the memory's rate, as each byte of payload is read and written once"
    return ""


def subject(results: Results) -> str:
    """What the figures are of: `study NAME on HOST`, or, where other tools alone measured them,
    `import from OSU micro-benchmarks 7.4 (a.txt and b.txt) on an unknown machine`."""
    name = results.study
    what = f"study {name}"
    if results.libraries and all(library.imported for library in results.libraries):
        tools = dict.fromkeys(library.version_text for library in results.libraries)
        what = f"import from {' and '.join(tools)} ({name})"
    return f"{what} on {results.machine.hostname}"


def ending(results: Results) -> str:
    """How far the figures are known, then why the study ended: `all measured; the budget is spent
    after 7 blocks`, `134 of 134 figures are less precise than aimed at ...; the budget is ...`."""
    if not results.complete:
        return f"not complete: {results.ended}" if results.ended else "not complete"
    why, _, imprecise = results.ended.partition("; ")  # as the record of the end has them
    measured = [cell for cell in results.cells if cell.median is not None]
    imported = {library.name for library in results.libraries if library.imported}
    if imported and all(library.imported for library in results.libraries):
        return count(len(measured), "figure")
    few = sum(
        cell.launches < FEWEST_FOR_INTERVAL for cell in measured if cell.who.library not in imported
    )
    known = []
    if missing := len(results.cells) - len(measured):
        known.append(f"{missing} of {count(len(results.cells), 'figure')} could not be measured")
    if few:
        have = "has" if few == 1 else "have"
        known.append(
            f"{few} of {count(len(measured), 'figure')} {have} too few launches for an interval"
        )
    return "; ".join(filter(None, [*known, imprecise or ("" if known else "all measured"), why]))


def conditions(results: Results) -> str:
    """That other work spoiled the figures; empty where it did not, or nobody knows."""
    found = results.conditions
    if found is None or not found.loaded:
        return ""
    when = "when this was measured"
    if found.sessions:
        numbers = " and ".join(str(session + 1) for session in found.sessions)
        when = f"in session{'' if len(found.sessions) == 1 else 's'} {numbers}"
    how = f"Other work took the ranks' time {when}"
    if found.busy_cores is not None:
        how = (
            f"Other work kept {round(found.busy_cores, 1):g} of {count(found.cores, 'core')} busy"
            f" {when} (load {number(found.load)}, {found.ranks} of it this study's own)"
        )
    return f"{how}: these figures describe the loaded machine. Measure again when it is idle."


def modes(found: TwoModes) -> str:
    """`Launches fall into two groups: mpich in latency at 8 B takes 0.130 us in 33 % ...`."""
    parts = mode_words(found.modes, unit(found.unit))
    if not any(mode.conditions for mode in found.modes):
        parts += ", and nothing recorded tells them apart"
    others = f" So do those of {count(found.others, 'more figure')}." if found.others else ""
    return (
        f"Launches of {found.who.label} in {case(found.case)} at {size(found.case.x)} fall into two"
        f" groups: {parts}.{others}"
    )


def mode_words(found: Sequence[Mode], unit: str = "") -> str:
    """Both modes, their shares, and what only one of them has."""
    parts = []
    for mode in found:
        shared = ", ".join(f"{name} {value}" for name, value in mode.conditions.items())
        parts.append(
            f"{number(mode.median)} {unit}".rstrip()
            + f" in {percent(mode.share)} % of launches"
            + (f" ({shared})" if shared else "")
        )
    return "; ".join(parts)


def defect(cell: Cell) -> str:
    """`(defect)` where a figure is above its ceiling, in how many blocks where these are few; empty
    where none is."""
    if not is_defect(cell):
        return ""
    few = "" if cell.fraction_ci95 else f" in {count(cell.fraction_blocks, 'block')}"
    return f"(defect{few})"


def precision(results: Results) -> str:
    """How narrow the intervals are, and how many missed the aim; empty where there is none."""
    found = results.precision
    if found is None:
        return ""
    text = (
        f"Half of the {count(found.intervals, 'interval')} (95 %) are ±{percent(found.median)} %"
        f" or narrower. The aim is ±{100 * found.aim_of_rates:g} % for rates,"
        f" ±{100 * found.aim_of_times:g} % for times:"
    )
    if not found.wider:
        return f"{text} all intervals reach it."
    return (
        f"{text} {count(found.wider, 'interval')} {'is' if found.wider == 1 else 'are'} wider,"
        f" the furthest from its aim ±{percent(found.widest)} % ({found.who.label},"
        f" {found.place.path}, {case(found.case)} at {size(found.case.x)})."
    )


def windows(results: Results) -> str:
    """Where fewer messages were in flight than elsewhere; empty when nowhere."""
    found: dict[bool, dict[int, int]] = {False: {}, True: {}}
    for cell in results.cells:
        if cell.window and cell.better == "higher":
            sizes = found[needs_gpu(cell.case.buffers)]
            sizes[cell.case.x] = min(cell.window, sizes.get(cell.case.x, cell.window))
    full = max((window for entry in found.values() for window in entry.values()), default=0)
    parts = []
    for gpu, where in ((False, "in host memory"), (True, "with a GPU's memory")):
        fewer = [
            f"{window} at {size(bytes_)}"
            for bytes_, window in sorted(found[gpu].items())
            if window < full
        ]
        if fewer:
            parts.append(f"{where} {', '.join(fewer)}")
    if not parts:
        return ""
    return f"{full} messages are in flight. Large messages have fewer: {'; '.join(parts)}."


def cached_plateaus(found: list[Group]) -> str:
    """Which plateaus are of messages that lie in caches; empty where none is."""
    names = [
        f"{group.title}, {case(figure.case)} ({size(plateau.x)}, {in_cache(plateau)})"
        for group, figure, plateau in _plateaus(found)
        if in_cache(plateau)
    ]
    if not names:
        return ""
    return f"These plateaus were reached in caches, not in memory: {'; '.join(names)}."


def cached_ceilings(found: list[Group]) -> str:
    """Which ceilings are of messages in the host's caches, beside a plateau of memory; empty where
    none is."""
    names = [
        f"{group.title}, {case(figure.case)} ({size(ceiling.x)}, {in_cache(ceiling)};"
        f" plateau at {size(plateau.x)})"
        for group, figure, plateau in _plateaus(found)
        if (ceiling := figure.ceiling)
        and ceiling.lies_in in HOST_CACHES
        and plateau.lies_in not in HOST_CACHES
    ]
    if not names:
        return ""
    return (
        "These ceilings are of messages in caches, the plateaus beside them of messages in memory:"
        f" {'; '.join(names)}."
    )


def low_plateaus(found: list[Group]) -> str:
    """Which plateaus came out below the ceiling beside them; empty where none did."""
    names = [
        f"{group.title}, {case(figure.case)}"
        for group, figure, _ in _plateaus(found)
        if figure.plateau_low
    ]
    if not names:
        return ""
    return (
        "These plateaus came out below the ceiling beside them: each block counts with the size"
        " that is the best in other blocks, and the blocks scatter too much to tell which that is:"
        f" {'; '.join(names)}. Go by the intervals."
    )


def _plateaus(found: list[Group]) -> Iterator[tuple[Group, Headline, Reference]]:
    """Of all places but single pairs of many, which have tables of their own."""
    for group in found:
        for figure in group.figures.values():
            if figure.plateau and not group.place.pair:
                yield group, figure, figure.plateau


def missing_methods(results: Results) -> list[str]:
    """Which methods the ceilings do without, and why."""
    found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for skip in results.skipped:
        if skip.method:
            methods, where = found.setdefault(skip.message, ({}, {}))
            methods[skip.method] = where[skip.place.path] = None
    return [
        f"Ceilings of {', '.join(where)} were measured without {', '.join(methods)}: {message}."
        for message, (methods, where) in found.items()
    ]
