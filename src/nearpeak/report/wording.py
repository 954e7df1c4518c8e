# SPDX-License-Identifier: Apache-2.0
"""The sentences that the terminal and the page share.

headlines.py and results/order.py select their subjects; nothing is judged here.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from nearpeak.numbers import agreeing, count, noun, number, percent, size, unit
from nearpeak.report.findings import advised, sentence
from nearpeak.report.headlines import Group
from nearpeak.results import methods
from nearpeak.results.cells import is_defect
from nearpeak.results.names import case, counted, in_cache
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

MOST_WHY = 3  # findings about messages of a path that are printed with its figures


@dataclass(frozen=True)
class PathSummary:
    """The summary of one path."""

    place: Place
    sentences: list[str]  # of a path that no library measured: its ceilings or failures
    first: str = ""  # the best library in each figure, if the order is known
    modes: str = ""  # the figures that have two modes
    why: list[str] = field(default_factory=list)  # findings about its messages, with advice


def headlines(results: Results, groups: list[Group]) -> list[PathSummary]:
    """The summary of each path; report/pairs.py summarises studies of all pairs."""
    return [_summary(results, place, groups) for place in places(results) if not place.pair]


def _summary(results: Results, place: Place, groups: list[Group]) -> PathSummary:
    mine = [group for group in groups if group.place == place]
    if not mine:
        return PathSummary(place, [_others(results, place) or _ceiling_alone(results, place)])
    figures = [group.figures[name] for group in mine for name in main_figures(results, group)]
    bimodal = "".join(modes(mode) for mode in results.modes if mode.place == place)
    return PathSummary(place, [], _first_words(figures), bimodal, _explanations(results, place))


def _explanations(results: Results, place: Place) -> list[str]:
    """The findings about messages of the path, each with its advice."""
    return [
        f"{sentence(finding)} {advised(finding)}" for finding in _message_findings(results, place)
    ]


def _message_findings(results: Results, place: Place) -> list[Finding]:
    """The first findings about single messages of a path."""
    return [
        finding
        for finding in results.findings
        if finding.place == place and _is_about_messages(finding)
    ][:MOST_WHY]


def _is_about_messages(finding: Finding) -> bool:
    return any(fact.of == "part" for fact in finding.facts)


def stands_out(results: Results) -> list[Finding]:
    """All findings except those printed with the figures of their path."""
    printed = [
        finding
        for place in places(results)
        if not place.pair
        for finding in _message_findings(results, place)
    ]
    return [finding for finding in results.findings if finding not in printed]


def _others(results: Results, place: Place) -> str:
    """The figures that only the sections of the families show; empty if there are none."""
    names = dict.fromkeys(cell.case.figure for cell in results.cells if cell.place == place)
    apps = (application.cell for application in results.applications)
    names |= dict.fromkeys(cell.case.benchmark for cell in apps if cell.place == place)
    return f"Measured here, shown in the sections below: {', '.join(names)}." if names else ""


def message_figures(results: Results, group: Group) -> list[str]:
    """The figures that represent messages in a group: the time of one, then the one-way rate."""
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
    return sorted(usual, key=lambda name: group.figures[name].better != "lower")


def main_figures(results: Results, group: Group) -> list[str]:
    """The figures of a group that represent it: of messages, else with a ceiling, else all."""
    held = [name for name, figure in group.figures.items() if figure.ceiling is not None]
    return message_figures(results, group) or sorted(
        held or group.figures, key=lambda name: group.figures[name].better != "lower"
    )


def _first_words(figures: list[Headline]) -> str:
    """`First: openmpi in latency; mpich (tied with openmpi) in bw.`; empty if no order is known."""
    cases_by_label: dict[str, list[str]] = defaultdict(list)
    for figure in figures:
        if figure.standing in ("first", "tie", "undecided"):
            cases_by_label[best_words(figure)].append(case(figure.case))
    parts = [f"{label} in {', '.join(cases)}" for label, cases in cases_by_label.items()]
    return f"First: {'; '.join(parts)}." if parts else ""


def best_words(headline: Headline) -> str:
    """The best library: `mpich`; `mpich (tied with openmpi)` if they are equivalent; `mpich (not
    judged against openmpi: 6 of 8 blocks)`; empty if none is known."""
    best = headline.best.label if headline.best else ""
    relation = "tied with" if headline.standing == "tie" else "no proven difference from"
    tied = [who.label for who in headline.tied if who not in headline.unjudged]
    unjudged = [who.label for who in headline.unjudged]
    parts = [f"{relation} {' and '.join(tied)}"] if tied else []
    few = ": {} of {} blocks".format(*headline.unjudged_blocks) if headline.unjudged_blocks else ""
    parts += [f"not judged against {' and '.join(unjudged)}{few}"] if unjudged else []
    return f"{best} ({', '.join(parts)})" if parts else best


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
    counting = counted(best.case, best.value)
    return f" ({counting})" if counting else ""


def health(peak: Peak) -> str:
    """The advice to check a path whose rate is too low for its hardware."""
    case = peak.case
    counted = convention(peak)
    return (
        f"Check {peak.place.path}: without MPI it carries {number(peak.value)} GB/s"
        f" ({case.figure} {case.buffers} at {size(case.x)}), {percent(peak.of_theoretical)} %"
        f" of its theoretical {number(peak.theoretical_gbs)} GB/s"
        + (f" ({counted})." if counted else ".")
    )


def convention(peak: Peak) -> str:
    """The convention by which the theoretical rate counts; empty if it is obvious."""
    if peak.place.shared:
        return "half of the memory's rate, as each byte of payload is read and written once"
    return ""


def subject(results: Results) -> str:
    """The origin of the figures: `study NAME on HOST`, or, if only other tools measured them,
    `import from OSU micro-benchmarks 7.4 (a.txt and b.txt) on an unknown machine`."""
    name = results.study
    text = f"study {name}"
    if results.libraries and all(library.imported for library in results.libraries):
        tools = dict.fromkeys(library.version_text for library in results.libraries)
        text = f"import from {' and '.join(tools)} ({name})"
    return f"{text} on {results.machine.hostname}"


def ending(results: Results) -> str:
    """The state of the figures, then the reason for the end: `all measured; the budget is spent
    after 7 blocks`, `134 of 134 figures are less precise than aimed at ...; the budget is ...`."""
    if not results.complete:
        return f"not complete: {results.ended}" if results.ended else "not complete"
    reason, _, imprecise = results.ended.partition("; ")  # the order in the record of the end
    measured = [cell for cell in results.cells if cell.median is not None]
    imported = {library.name for library in results.libraries if library.imported}
    if imported and all(library.imported for library in results.libraries):
        return count(len(measured), "figure")
    few = sum(
        cell.launches < FEWEST_FOR_INTERVAL for cell in measured if cell.who.library not in imported
    )
    parts = []
    if missing := len(results.cells) - len(measured):
        parts.append(f"{missing} of {count(len(results.cells), 'figure')} could not be measured")
    if few:
        parts.append(
            f"{few} of {count(len(measured), 'figure')} {agreeing(few, 'is', 'are')} unconfirmed"
            f" (fewer than {FEWEST_FOR_INTERVAL} launches)"
        )
    return "; ".join(filter(None, [*parts, imprecise or ("" if parts else "all measured"), reason]))


def conditions(results: Results) -> str:
    """A warning that other work disturbed the figures; empty if it did not, or if unknown."""
    load = results.conditions
    if load is None or not load.loaded:
        return ""
    when = "when this was measured"
    if load.sessions:
        numbers = " and ".join(str(session + 1) for session in load.sessions)
        when = f"in {noun(len(load.sessions), 'session')} {numbers}"
    text = f"Other work took the ranks' time {when}"
    if load.busy_cores is not None:
        text = (
            f"Other work kept {round(load.busy_cores, 1):g} of {count(load.cores, 'core')} busy"
            f" {when} (load {number(load.load)}, {load.ranks} of it this study's own)"
        )
    return f"{text}: these figures describe the loaded machine. Measure again when it is idle."


def modes(pair: TwoModes) -> str:
    """`Launches fall into two groups: mpich in latency at 8 B takes 0.130 us in 33 % ...`."""
    parts = mode_words(pair.modes, unit(pair.unit))
    if not any(mode.conditions for mode in pair.modes):
        parts += ", and nothing recorded tells them apart"
    others = f" So do those of {count(pair.others, 'more figure')}." if pair.others else ""
    return (
        f"Launches of {pair.who.label} in {case(pair.case)} at {size(pair.case.x)} fall into two"
        f" groups: {parts}.{others}"
    )


def mode_words(both: Sequence[Mode], unit: str = "") -> str:
    """Both modes, their shares, and the conditions that only one of them has."""
    parts = []
    for mode in both:
        shared = ", ".join(f"{name} {value}" for name, value in mode.conditions.items())
        parts.append(
            f"{number(mode.median)} {unit}".rstrip()
            + f" in {percent(mode.share)} % of launches"
            + (f" ({shared})" if shared else "")
        )
    return "; ".join(parts)


def defect(cell: Cell) -> str:
    """`(defect)` if a figure is above its ceiling, with the number of blocks if these are few; else
    empty."""
    if not is_defect(cell):
        return ""
    few = "" if cell.fraction_ci95 else f" in {count(cell.fraction_blocks, 'block')}"
    return f"(defect{few})"


def precision(results: Results) -> str:
    """The widths of the intervals, and the number wider than the aim; empty if there are none."""
    widths = results.precision
    if widths is None:
        return ""
    text = (
        f"Half of the {count(widths.intervals, 'interval')} (95 %) are ±{percent(widths.median)} %"
        f" or narrower. The aim is ±{100 * widths.aim_of_rates:g} % for rates,"
        f" ±{100 * widths.aim_of_times:g} % for times:"
    )
    if not widths.wider:
        return f"{text} all intervals reach it."
    return (
        f"{text} {count(widths.wider, 'interval')} {agreeing(widths.wider, 'is', 'are')} wider,"
        f" the furthest from its aim ±{percent(widths.widest)} % ({widths.who.label},"
        f" {widths.place.path}, {case(widths.case)} at {size(widths.case.x)})."
    )


def windows(results: Results) -> str:
    """The sizes that had fewer messages in flight than others; empty if there are none."""
    by_memory: dict[bool, dict[int, int]] = {False: {}, True: {}}
    for cell in results.cells:
        if cell.window and cell.better == "higher":
            sizes = by_memory[needs_gpu(cell.case.buffers)]
            sizes[cell.case.x] = min(cell.window, sizes.get(cell.case.x, cell.window))
    full = max((window for entry in by_memory.values() for window in entry.values()), default=0)
    parts = []
    for gpu, memory in ((False, "in host memory"), (True, "with a GPU's memory")):
        fewer = [
            f"{window} at {size(bytes_)}"
            for bytes_, window in sorted(by_memory[gpu].items())
            if window < full
        ]
        if fewer:
            parts.append(f"{memory} {', '.join(fewer)}")
    if not parts:
        return ""
    return f"{full} messages are in flight. Large messages have fewer: {'; '.join(parts)}."


def cached_plateaus(groups: list[Group]) -> str:
    """The plateaus of messages that lie in caches; empty if there are none."""
    names = [
        f"{group.title}, {case(figure.case)} ({size(plateau.x)}, {in_cache(plateau)})"
        for group, figure, plateau in _plateaus(groups)
        if in_cache(plateau)
    ]
    if not names:
        return ""
    return f"These plateaus were reached in caches, not in memory: {'; '.join(names)}."


def cached_ceilings(groups: list[Group]) -> str:
    """The ceilings of messages in the host's caches whose plateau is of memory; empty if there are
    none."""
    names = [
        f"{group.title}, {case(figure.case)} ({size(ceiling.x)}, {in_cache(ceiling)};"
        f" plateau at {size(plateau.x)})"
        for group, figure, plateau in _plateaus(groups)
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


def low_plateaus(groups: list[Group]) -> str:
    """The plateaus that came out below their ceiling; empty if there are none."""
    names = [
        f"{group.title}, {case(figure.case)}"
        for group, figure, _ in _plateaus(groups)
        if figure.plateau_low
    ]
    if not names:
        return ""
    return (
        "Noise hides which message size is best, so these plateaus are below the ceiling of the"
        f" size next to them: {'; '.join(names)}. Trust the intervals, not the medians."
    )


def _plateaus(groups: list[Group]) -> Iterator[tuple[Group, Headline, Reference]]:
    """The plateaus of all places except pairs of a study of all pairs, which have other tables."""
    for group in groups:
        for figure in group.figures.values():
            if figure.plateau and not group.place.pair:
                yield group, figure, figure.plateau


def missing_methods(results: Results) -> list[str]:
    """The methods without which ceilings were measured, with the reasons."""
    by_message: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for skip in results.skipped:
        if skip.method:
            methods, paths = by_message.setdefault(skip.message, ({}, {}))
            methods[skip.method] = paths[skip.place.path] = None
    return [
        f"Ceilings of {', '.join(paths)} were measured without {', '.join(methods)}: {message}."
        for message, (methods, paths) in by_message.items()
    ]
