# SPDX-License-Identifier: Apache-2.0
"""What all pairs of nodes say, in words that the terminal and the page share."""

from nearpeak.nodes.found import Curve, Found, Map, Required, Verdict
from nearpeak.numbers import count, number, percent, unit

MODES = {"together": "all pairs of a round at the same time", "alone": "each pair alone"}


def name(metric: str) -> str:
    """Without its unit."""
    return metric.partition("_")[0]


def subject(verdict: Verdict) -> str:
    """`node7`; `node3 - node9`."""
    return " - ".join(verdict.nodes)


def interval(verdict: Verdict) -> str:
    """`[1.3, 1.6]`."""
    return "" if verdict.ci95 is None else f"[{', '.join(map(number, verdict.ci95))}]"


def alone(verdict: Verdict) -> str:
    """Of a link how it does when nobody else talks."""
    return "" if verdict.alone is None else number(verdict.alone)


def has_alone(found: Found) -> bool:
    """Whether pairs were measured alone besides."""
    return any(pair.latency_alone_us is not None for pair in found.pairs)


def mode(found: Found, curve: Curve | Map) -> str:
    """In which way a curve was measured."""
    return MODES["alone" if found.one_by_one else curve.mode]


def slow(found: Found, kind: str) -> list[str]:
    """The different nodes or links that are slow in anything."""
    return list(dict.fromkeys(subject(v) for v in found.verdicts if v.kind == kind))


def conclusion(found: Found) -> str:
    """In a sentence."""
    if not found.launches:
        return "Nothing was measured"
    many = f"{len(found.nodes):,} nodes"
    if not found.told_apart:
        return (
            f"{many}: too few to tell a slow node from slow links, so that nothing was judged; here"
            " is every pair"
        )
    if not found.pairs_measured:
        return f"{many}: nothing could be judged, as no pair has a value"
    if not found.tests and not found.complete:
        return f"{many}: nothing could be judged so far, as too few launches have ended"
    if not found.verdicts:
        unfinished = "" if found.complete else " in what was measured so far"
        return f"{many}: no node and no link is slow{unfinished}"
    nodes, links = (len(slow(found, kind)) for kind in ("node", "link"))
    parts = [count(nodes, "slow node")] if nodes else []
    parts += [count(links, "slow link")] if links else []
    return f"{many}: {' and '.join(parts)}"


def covered(found: Found) -> str:
    """What was measured, and what it cost."""
    share = percent(found.pairs_measured / max(found.pairs_of_all, 1))
    return (
        f"{found.pairs_measured:,} of {found.pairs_of_all:,} pairs ({share} %), in "
        f"{count(len(found.launches), 'launch')}: {number(found.node_hours)} node hours"
    )


def tests(found: Found) -> str:
    """What the verdicts share."""
    beyond = percent(found.margin - 1)
    return (
        f"Slow: surely more than {beyond} % slower than its nodes and the usual link explain."
        f" {count(found.tests, 'test')} share one error rate: any false verdict among all of them"
        f" stands in at most {percent(found.level)} % of runs."
    )


def usual(found: Found, curve: Curve) -> str:
    """What is usual, and how far nodes, links and launches lie from it."""
    launches = "" if curve.launches is None else f", launches {percent(curve.launches)} %"
    usual = f"{name(curve.metric)}, {mode(found, curve)}: {number(curve.usual)} {unit(curve.unit)}"
    if curve.nodes is None or curve.links is None:
        return f"{usual}, the median of pairs"
    return (
        f"{usual}; nodes differ by {percent(curve.nodes)} %, links by {percent(curve.links)} %"
        f"{launches}"
    )


def required(found: Found, judged: Required) -> str:
    """`met: bandwidth, all pairs of a round at the same time: 22.3 GB/s`."""
    state = "met" if judged.met else "missed"
    curve = next(
        (c for c in found.curves if (c.metric, c.mode) == (judged.metric, judged.mode)), None
    )
    if curve is None:
        return f"{state}: {name(judged.metric)} {judged.mode} was not measured"
    value = f"{number(curve.usual)} {unit(curve.unit)}"
    return f"{state}: {name(judged.metric)}, {mode(found, curve)}: {value} between the usual pair"


def wrong(found: Found) -> str:
    """How many pairs received wrong data; empty where none did."""
    return f"{count(found.wrong_pairs, 'pair')} received wrong data" if found.wrong else ""


def unfinished(found: Found) -> str:
    """Why not all was measured; empty where it was."""
    return "" if found.complete else found.failed or "not all launches were run"


def faults(found: Found) -> str:
    """What is not well."""
    parts = [conclusion(found)] if found.verdicts else []
    parts += filter(None, [wrong(found), unfinished(found)])
    if missed := sum(not judged.met for judged in found.requirements):
        parts.append(f"{missed} of {count(len(found.requirements), 'requirement')} missed")
    return "; ".join(parts)
