# SPDX-License-Identifier: Apache-2.0
"""Text about all pairs of nodes."""

from collections.abc import Iterator, Sequence

from nearpeak.grouping import grouped
from nearpeak.nodes.found import UNITS, Curve, Distance, Found, Kind, Map, Required, Verdict
from nearpeak.nodes.grouped import FIGURES
from nearpeak.nodes.judge import ORDER
from nearpeak.nodes.topology import plural
from nearpeak.numbers import count, number, unit

_NAMED = 3  # slow nodes, or links, that the conclusion names
MODES = {"together": "all pairs of a round at the same time", "alone": "each pair alone"}


def title(results: Found, curve: Curve | Map) -> str:
    """`latency, each pair alone`: a metric in the mode in which it was measured."""
    mode = MODES["alone" if results.one_by_one else curve.mode]
    return f"{name(curve.metric)}, {mode}"


def name(metric: str) -> str:
    """The name of a metric without its unit."""
    return metric.partition("_")[0]


def usual(results: Found) -> str:
    """`The usual pair: latency 1.02 µs (alone 0.90 µs), bandwidth 12.1 GB/s.`; empty if nothing was
    measured."""
    texts: dict[str, list[str]] = {}
    for curve in results.curves:
        alone = curve.mode == "alone" and curve.metric in texts
        text = f"{number(curve.usual)} {unit(curve.unit)}"
        texts.setdefault(curve.metric, []).append(f"(alone {text})" if alone else text)
    figures = [f"{name(metric)} {' '.join(shown)}" for metric, shown in texts.items()]
    return f"The usual pair: {', '.join(figures)}." if figures else ""


def subject(verdict: Verdict) -> str:
    """`node7`; `node3 - node9`; `s1 - s4` of groups."""
    return " - ".join(verdict.groups or verdict.nodes)


def what(results: Found, verdict: Verdict) -> str:
    """`node node7`, `leaf switch s1`, `uplink of leaf switch s1`, `route s1 - s4 of leaf
    switches`."""
    name_of = subject(verdict)
    if verdict.level is None:
        return f"{verdict.kind} {name_of}"
    kind = results.levels[verdict.level].kind
    if verdict.kind == "route":
        return f"route {name_of} of {plural(kind)}"
    return f"{'uplink of ' if verdict.kind == 'uplink' else ''}{kind} {name_of}"


def where(results: Found, distance: Distance) -> str:
    """`within one leaf switch`, `between leaf switches`."""
    if distance.level == len(results.levels):
        return f"between {plural(results.levels[-1].kind)}"
    return f"within one {results.levels[distance.level].kind}"


def distances(results: Found) -> str:
    """`Latency within one leaf switch 1.6 µs, between leaf switches 1.9 µs.`, and the same of the
    bandwidth; empty without groups."""
    texts = []
    for curve in results.curves:
        if len(curve.distances) > 1 and (curve.mode == "together" or results.one_by_one):
            figures = [
                f"{where(results, one)} {number(one.usual)} {unit(curve.unit)}"
                for one in curve.distances
            ]
            texts.append(f"{name(curve.metric).capitalize()} {', '.join(figures)}.")
    return " ".join(texts)


def groups(results: Found) -> str:
    """`Groups by Slurm: 2 leaf switches.`; empty without groups."""
    levels = [f"{len(level.groups)} {plural(level.kind)}" for level in results.levels]
    of = "the figures" if results.levels_from == FIGURES else results.levels_from
    return f"Groups by {of}: {', '.join(levels)}." if levels else ""


def slowness(verdicts: Sequence[Verdict]) -> str:
    """`1.60 times the usual latency (alone 1.58), 1/1.30 of the usual bandwidth`: all verdicts on
    one node or link."""
    by_metric = grouped(verdicts, lambda verdict: verdict.metric)
    return ", ".join(_slowness(by_metric[metric]) for metric in UNITS if metric in by_metric)


def _slowness(verdicts: Sequence[Verdict]) -> str:
    """Together, then alone. A bandwidth is as many times lower as its messages take longer."""
    metric = verdicts[0].metric
    part, of = ("", "times") if metric == "latency_us" else ("1/", "of")
    by_mode = {one.mode: f"{part}{number(one.times)}" for one in verdicts}
    first = by_mode.get("together") or by_mode["alone"]
    alone = f" (alone {by_mode['alone']})" if len(by_mode) > 1 else ""
    only = " alone" if "together" not in by_mode else ""
    return f"{first} {of} the usual {name(metric)}{only}{alone}"


def culprits(results: Found) -> dict[str, list[Verdict]]:
    """All verdicts on each slow part, by what it is. A slow group is slow to others, too: its
    uplink is no culprit of its own."""
    bad = {(one.level, *one.groups) for one in results.verdicts if one.kind == "group"}
    separate = [
        one
        for one in results.verdicts
        if one.kind != "uplink" or (one.level, *one.groups) not in bad
    ]
    return grouped(separate, lambda verdict: what(results, verdict))


def slow(results: Found, kind: Kind) -> list[str]:
    """The names of a kind that are slow in anything, the slowest first."""
    firsts = [verdicts[0] for verdicts in culprits(results).values()]
    return [subject(one) for one in firsts if one.kind == kind]


def _slow(results: Found) -> Iterator[str]:
    """Yields how many of each kind are slow, and which, of few."""
    for kind in ORDER:
        if names := slow(results, kind):
            named = names if len(names) <= _NAMED else []
            yield ", ".join([count(len(names), f"slow {kind}"), *named])


def conclusion(results: Found) -> str:
    """The conclusion in one sentence."""
    if not results.launches:
        return "Nothing was measured"
    return f"{len(results.nodes):,} nodes: {_judgement(results)}"


def _judgement(results: Found) -> str:
    if not results.distinguished:
        return (
            "too few to tell a slow node from slow links, so that nothing was judged; here is every"
            " pair"
        )
    if not results.pairs_measured:
        return "nothing could be judged, as no pair has a value"
    if results.unclear:
        return (
            "the figures look grouped, and nothing tells the groups, so that no node was judged:"
            " name the groups with --groups FILE, or --groups none for one switch"
        )
    if not results.tests and not results.complete:
        return "nothing could be judged so far, as too few launches have ended"
    if not results.verdicts:
        unfinished = "" if results.complete else " in what was measured so far"
        return f"no node and no link is slow{unfinished}"
    return "; ".join(_slow(results))


def required(results: Found, judged: Required) -> str:
    """`met: bandwidth, all pairs of a round at the same time: 22.3 GB/s`."""
    state = "met" if judged.met else "missed"
    for curve in results.curves:
        if (curve.metric, curve.mode) == (judged.metric, judged.mode):
            value = f"{number(curve.usual)} {unit(curve.unit)}"
            return f"{state}: {title(results, curve)}: {value} between the usual pair"
    return f"{state}: {name(judged.metric)} {judged.mode} was not measured"


def wrong(results: Found) -> str:
    """The number of pairs that received wrong data; empty if none did."""
    return f"{count(results.wrong_pairs, 'pair')} received wrong data" if results.wrong else ""


def unfinished(results: Found) -> str:
    """The reason if not everything was measured; else empty."""
    return "" if results.complete else results.failed or "not all launches were run"


def faults(results: Found) -> str:
    """All problems in one line."""
    slow = conclusion(results) if results.verdicts else ""
    missed = sum(not judged.met for judged in results.requirements)
    of_all = count(len(results.requirements), "requirement")
    parts = [
        slow,
        wrong(results),
        unfinished(results),
        f"{missed} of {of_all} missed" if missed else "",
    ]
    return "; ".join(filter(None, parts))
