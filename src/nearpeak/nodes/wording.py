# SPDX-License-Identifier: Apache-2.0
"""Text about all pairs of nodes."""

from collections.abc import Iterator, Sequence

from nearpeak.grouping import grouped
from nearpeak.nodes.found import (
    BETWEEN,
    UNITS,
    Curve,
    Distance,
    Found,
    Map,
    Part,
    Required,
    Verdict,
)
from nearpeak.nodes.grouped import FIGURES
from nearpeak.nodes.judge import ORDER
from nearpeak.nodes.topology import plural
from nearpeak.numbers import count, listed, number, unit
from nearpeak.terms.buffers import on_host

_PARTS: tuple[Part, ...] = ("GPU", "NIC", "GPU or NIC", "GPU or memory")
_KINDS = [one for kind in ORDER for one in ([kind, *_PARTS] if kind == "node" else [kind])]
_NOUNS = {
    "memory": "host memory",
    "GPU or NIC": "GPU-NIC pair",
    "GPU or memory": "GPU-memory pair",
}
_NAMED = 3  # slow nodes, or links, that the conclusion names
MODE_TITLES = {
    "together": "all pairs of a round at the same time",
    "alone": "each pair alone",
    "inside": "between GPUs of a node",
    "host": "between host and GPU of a node",
}


def title(results: Found, curve: Curve | Map) -> str:
    """`latency, each pair alone`: a metric in the mode in which it was measured."""
    one_by_one = results.one_by_one and curve.mode in BETWEEN
    return f"{name(curve.metric)}, {MODE_TITLES['alone' if one_by_one else curve.mode]}"


def name(metric: str) -> str:
    """The name of a metric without its unit."""
    return metric.partition("_")[0]


def usual(results: Found) -> str:
    """`The usual pair: latency 1.02 µs (alone 0.90 µs), bandwidth 12.1 GB/s.`; empty if nothing was
    measured."""
    texts: dict[str, list[str]] = {}
    for curve in filter(_is_between, results.curves):
        alone = curve.mode == "alone" and curve.metric in texts
        text = f"{number(curve.usual)} {unit(curve.unit)}"
        texts.setdefault(curve.metric, []).append(f"(alone {text})" if alone else text)
    figures = [f"{name(metric)} {' '.join(shown)}" for metric, shown in texts.items()]
    return f"The usual pair: {', '.join(figures)}." if figures else ""


def _is_between(curve: Curve) -> bool:
    return curve.mode in BETWEEN


def within(results: Found) -> str:
    """`Within a node, the usual GPU: latency to another GPU 2.1 µs, to host memory 3.0 µs, ...`;
    empty if nothing was measured there."""
    to = {"inside": "another GPU", "host": "host memory"}
    figures = [
        f"{name(curve.metric)} to {to[curve.mode]} {number(curve.usual)} {unit(curve.unit)}"
        for curve in results.curves
        if curve.mode in to
    ]
    return f"Within a node, the usual GPU: {', '.join(figures)}." if figures else ""


def kinds(results: Found) -> str:
    """The kinds of nodes by their GPUs, of which those of a few nodes are not judged within nodes;
    empty if all nodes are alike."""
    parts = [
        f"{count(len(kind.nodes), 'node')} with {listed(kind.gpus)}"
        + " (too few to be judged within)" * (results.nodes[kind.nodes[0]] in results.not_within)
        for kind in results.kinds
    ]
    between = "Between nodes, all are compared together."
    return f"Nodes differ in their GPUs: {', '.join(parts)}. {between}" if parts else ""


def of_rails(results: Found) -> str:
    """`Rails: bandwidth 48.1 to 48.3 GB/s, latency ...`; empty without several."""
    figures = []
    for curve in results.curves:
        values = [value for value in curve.rails if value is not None]
        if values and curve.mode == "together":
            least, most = number(min(values)), number(max(values))
            figures.append(f"{name(curve.metric)} {least} to {most} {unit(curve.unit)}")
    return f"The usual pair of each of {len(results.rails)} rails: {', '.join(figures)}." * bool(
        figures
    )


def subject(results: Found, verdict: Verdict) -> str:
    """`node7`; `GPU 2 of node7`; `node3 - node9`, or with `, rail 2`; `s1 - s4` of groups; `2` of a
    rail, or `2 between node3 and node9` of no others."""
    ends = " - ".join(verdict.groups or verdict.nodes)
    if verdict.rail is None:
        return ends
    gpu = results.rails[verdict.rail].gpu
    if verdict.kind == "rail":
        both = results.nodes if len(results.nodes) == 2 else []
        return f"{gpu} between {' and '.join(both)}" if both else gpu
    inner = _part_of_node(results, verdict)
    return f"{inner} of {ends}" if inner else f"{ends}, rail {gpu}"


def _part_of_node(results: Found, verdict: Verdict) -> str:
    """`GPU 2`, `NIC of GPU 2`, `GPU 2 or its NIC`, `host memory of rank 2`, `GPU 0 or host memory
    of rank 1`; empty if something else is slow. Ranks have the numbers of their GPUs."""
    if verdict.rail is None:
        return ""
    gpu, *others = [results.rails[verdict.rail].gpu, *(rail.gpu for rail in results.rails)]
    other = next((number for number in others if number != gpu), "")
    may_be_memory = any(on_host(results.buffers))
    texts = {
        "GPU or NIC": f"GPU {gpu}, its NIC or host memory of rank {gpu}"
        if may_be_memory
        else f"GPU {gpu} or its NIC",
        "GPU": f"GPU {gpu}",
        "NIC": f"NIC of GPU {gpu}",
        "GPU or memory": f"GPU {gpu} or host memory of rank {other}",
        "memory": f"host memory of rank {gpu}",
    }
    return texts.get(part(verdict), "")


def part(verdict: Verdict) -> str:
    """The kind of what is slow, or the part of a node."""
    return verdict.part or verdict.kind


def what(results: Found, verdict: Verdict) -> str:
    """`node node7`, `leaf switch s1`, `uplink of leaf switch s1`, `route s1 - s4 of leaf
    switches`."""
    if inner := _part_of_node(results, verdict):
        return f"{inner} of node {verdict.nodes[0]}"
    name_of = subject(results, verdict)
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
    """Together, then alone, then within the node. A bandwidth is as many times lower as its
    messages take longer."""
    metric = verdicts[0].metric
    over, of = ("", "times") if metric == "latency_us" else ("1/", "of")
    by_mode = {one.mode: f"{over}{number(one.times)}" for one in verdicts}
    texts = []
    if between := [mode for mode in BETWEEN if mode in by_mode]:
        alone = f" (alone {by_mode['alone']})" if len(between) > 1 else ""
        only = " alone" if "together" not in by_mode else ""
        texts.append(f"{by_mode[between[0]]} {of} the usual {name(metric)}{only}{alone}")
    to_host = "GPUs" if verdicts[0].kind == "memory" else "host memory"
    for mode, to in (("inside", "other GPUs of its node"), ("host", to_host)):
        if mode in by_mode:
            texts.append(f"{by_mode[mode]} {of} the usual {name(metric)} to {to}")
    return ", ".join(texts)


def culprits(results: Found) -> dict[str, list[Verdict]]:
    """All verdicts on each slow part, by what it is. A slow group is slow to others, too: its
    uplink is no culprit of its own. Nor is a node between its only two GPUs, if one of these is
    slow."""
    bad = {(one.level, one.rail, *one.groups) for one in results.verdicts if one.kind == "group"}
    with_slow_gpus = {
        one.nodes[0] for one in results.verdicts if part(one) == "GPU" and one.mode in BETWEEN
    }
    explained = with_slow_gpus if len(results.rails) == 2 else set()
    separate = [
        one
        for one in results.verdicts
        if not (one.kind == "uplink" and (one.level, one.rail, *one.groups) in bad)
        and not (part(one) == "node" and one.mode == "inside" and one.nodes[0] in explained)
    ]
    return grouped(separate, lambda verdict: what(results, verdict))


def slow(results: Found, kind: str) -> list[str]:
    """The names of a kind, or a part of nodes, that are slow in anything, the slowest first."""
    firsts = [verdicts[0] for verdicts in culprits(results).values()]
    return [subject(results, one) for one in firsts if part(one) == kind]


def slow_nodes(results: Found) -> list[str]:
    """The names of the nodes that are slow, or have a slow part, each once."""
    kinds = ("node", "memory")
    return [*dict.fromkeys(one.nodes[0] for one in results.verdicts if one.kind in kinds)]


def _slow(results: Found) -> Iterator[str]:
    """Yields how many of each kind are slow, and which, of few."""
    for kind in _KINDS:
        if names := slow(results, kind):
            named = names if len(names) <= _NAMED else []
            what_is_slow = f"slow {_NOUNS.get(kind, kind)}"
            yield ", ".join([count(len(names), what_is_slow), *named])


def conclusion(results: Found) -> str:
    """The conclusion in one sentence."""
    if not results.launches:
        return "Nothing was measured"
    return f"{len(results.nodes):,} nodes: {_judgement(results)}"


def _judgement(results: Found) -> str:
    if not results.distinguished and results.tests and not results.verdicts:
        return "no rail is slow; too few to judge nodes and links, so that here is every pair"
    if not results.distinguished and not results.verdicts:
        return (
            "too few to tell a slow node from slow links, so that nothing was judged; here is every"
            " pair"
        )
    if not results.pairs_measured:
        return "nothing could be judged, as no pair has a value"
    if results.unclear:
        return "; ".join([*_slow(results), _unclear(results)])
    if not results.tests and not results.complete:
        return "nothing could be judged so far, as too few launches have ended"
    if not results.verdicts:
        unfinished = "" if results.complete else " in what was measured so far"
        rails = "rails are not judged, as of two neither is usual" * (len(results.rails) == 2)
        parts = [f"no node and no link is slow{unfinished}", rails, _not_within(results)]
        return "; ".join(filter(None, parts))
    return "; ".join(_slow(results))


def _not_within(results: Found) -> str:
    """`n6 and n7 are not judged within, ...`; empty if all nodes are."""
    names = results.not_within
    which = count(len(names), "node") if len(names) > _NAMED else listed(names)
    are, their = ("is", "its") if len(names) == 1 else ("are", "their")
    text = f"{which} {are} not judged within, as too few nodes have {their} GPUs"
    return text if names else ""


def _unclear(results: Found) -> str:
    judged = "no other node" if results.verdicts else "no node"
    return (
        f"the figures look grouped, and nothing tells the groups, so that {judged} was judged:"
        " name the groups with --groups FILE, or --groups none for one switch"
    )


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
