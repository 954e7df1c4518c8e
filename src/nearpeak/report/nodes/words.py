# SPDX-License-Identifier: Apache-2.0
"""Text about all pairs of nodes that the terminal and the page share."""

from nearpeak.nodes.found import Curve, Found, Map, Required, Verdict
from nearpeak.numbers import count, number, percent, unit

MODES = {"together": "all pairs of a round at the same time", "alone": "each pair alone"}


def name(metric: str) -> str:
    """The name of a metric without its unit."""
    return metric.partition("_")[0]


def subject(verdict: Verdict) -> str:
    """`node7`; `node3 - node9`."""
    return " - ".join(verdict.nodes)


def interval(verdict: Verdict) -> str:
    """`[1.3, 1.6]`."""
    return "" if verdict.ci95 is None else f"[{', '.join(map(number, verdict.ci95))}]"


def alone(verdict: Verdict) -> str:
    """The ratio of a link while no other pair communicates; empty if not measured."""
    return "" if verdict.alone is None else number(verdict.alone)


def has_alone(results: Found) -> bool:
    """True if pairs were also measured one at a time."""
    return any(pair.latency_alone_us is not None for pair in results.pairs)


def mode(results: Found, curve: Curve | Map) -> str:
    """The mode in which a curve was measured."""
    return MODES["alone" if results.one_by_one else curve.mode]


def slow(results: Found, kind: str) -> list[str]:
    """The different nodes or links that are slow in anything."""
    return list(dict.fromkeys(subject(v) for v in results.verdicts if v.kind == kind))


def conclusion(results: Found) -> str:
    """The conclusion in one sentence."""
    if not results.launches:
        return "Nothing was measured"
    many = f"{len(results.nodes):,} nodes"
    if not results.told_apart:
        return (
            f"{many}: too few to tell a slow node from slow links, so that nothing was judged; here"
            " is every pair"
        )
    if not results.pairs_measured:
        return f"{many}: nothing could be judged, as no pair has a value"
    if not results.tests and not results.complete:
        return f"{many}: nothing could be judged so far, as too few launches have ended"
    if not results.verdicts:
        unfinished = "" if results.complete else " in what was measured so far"
        return f"{many}: no node and no link is slow{unfinished}"
    nodes, links = (len(slow(results, kind)) for kind in ("node", "link"))
    parts = [count(nodes, "slow node")] if nodes else []
    parts += [count(links, "slow link")] if links else []
    return f"{many}: {' and '.join(parts)}"


def covered(results: Found) -> str:
    """The number of pairs measured, and the node hours."""
    share = percent(results.pairs_measured / max(results.pairs_of_all, 1))
    return (
        f"{results.pairs_measured:,} of {results.pairs_of_all:,} pairs ({share} %), in "
        f"{count(len(results.launches), 'launch')}: {number(results.node_hours)} node hours"
    )


def tests(results: Found) -> str:
    """The definition of slow, and the error rate that all tests share."""
    beyond = percent(results.margin - 1)
    return (
        f"Slow: surely more than {beyond} % slower than its nodes and the usual link explain."
        f" {count(results.tests, 'test')} share one error rate: any false verdict among all of them"
        f" stands in at most {percent(results.level)} % of runs."
    )


def usual(results: Found, curve: Curve) -> str:
    """The usual figure, and the deviations of nodes, links and launches from it."""
    launches = "" if curve.launches is None else f", launches {percent(curve.launches)} %"
    usual = (
        f"{name(curve.metric)}, {mode(results, curve)}: {number(curve.usual)} {unit(curve.unit)}"
    )
    if curve.nodes is None or curve.links is None:
        return f"{usual}, the median of pairs"
    return (
        f"{usual}; nodes differ by {percent(curve.nodes)} %, links by {percent(curve.links)} %"
        f"{launches}"
    )


def required(results: Found, judged: Required) -> str:
    """`met: bandwidth, all pairs of a round at the same time: 22.3 GB/s`."""
    state = "met" if judged.met else "missed"
    curve = next(
        (c for c in results.curves if (c.metric, c.mode) == (judged.metric, judged.mode)), None
    )
    if curve is None:
        return f"{state}: {name(judged.metric)} {judged.mode} was not measured"
    value = f"{number(curve.usual)} {unit(curve.unit)}"
    return f"{state}: {name(judged.metric)}, {mode(results, curve)}: {value} between the usual pair"


def wrong(results: Found) -> str:
    """The number of pairs that received wrong data; empty if none did."""
    return f"{count(results.wrong_pairs, 'pair')} received wrong data" if results.wrong else ""


def unfinished(results: Found) -> str:
    """The reason if not everything was measured; else empty."""
    return "" if results.complete else results.failed or "not all launches were run"


def faults(results: Found) -> str:
    """All problems in one line."""
    parts = [conclusion(results)] if results.verdicts else []
    parts += filter(None, [wrong(results), unfinished(results)])
    if missed := sum(not judged.met for judged in results.requirements):
        parts.append(f"{missed} of {count(len(results.requirements), 'requirement')} missed")
    return "; ".join(parts)
