# SPDX-License-Identifier: Apache-2.0
"""Text about all pairs of nodes."""

from nearpeak.nodes.found import Curve, Found, Kind, Map, Required, Verdict
from nearpeak.numbers import count, number, unit

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
    """`node7`; `node3 - node9`."""
    return " - ".join(verdict.nodes)


def _slow(results: Found, kind: Kind) -> list[str]:
    """The number of different nodes or links that are slow in anything, if there are any."""
    slow = {subject(verdict) for verdict in results.verdicts if verdict.kind == kind}
    return [count(len(slow), f"slow {kind}")] if slow else []


def conclusion(results: Found) -> str:
    """The conclusion in one sentence."""
    if not results.launches:
        return "Nothing was measured"
    return f"{len(results.nodes):,} nodes: {_judgement(results)}"


def _judgement(results: Found) -> str:
    if not results.told_apart:
        return (
            "too few to tell a slow node from slow links, so that nothing was judged; here is every"
            " pair"
        )
    if not results.pairs_measured:
        return "nothing could be judged, as no pair has a value"
    if not results.tests and not results.complete:
        return "nothing could be judged so far, as too few launches have ended"
    if not results.verdicts:
        unfinished = "" if results.complete else " in what was measured so far"
        return f"no node and no link is slow{unfinished}"
    return " and ".join([*_slow(results, "node"), *_slow(results, "link")])


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
