# SPDX-License-Identifier: Apache-2.0
"""All pairs of nodes as a document: which nodes and links are slow."""

import shlex
from collections.abc import Iterator, Sequence

from nearpeak.document.model import (
    Block,
    Column,
    Document,
    Finding,
    Findings,
    Items,
    Notice,
    Prose,
    Row,
    Rows,
    Section,
    Table,
    Terms,
    Tone,
    Value,
)
from nearpeak.document.templates import moment
from nearpeak.nodes import board, rails_drawing, wording
from nearpeak.nodes import map as maps
from nearpeak.nodes.found import BETWEEN, UNITS, Curve, Found, Kind, Pair, Verdict
from nearpeak.numbers import count, interval, number, percent, size, unit
from nearpeak.terms.identity import Who

MOST, LISTED = 8, 2000  # verdicts in the answer and behind it; nodes.json has all
ACTED = 2  # nodes and links of which the answer says what to do
NAMED = 8  # nodes in a command
_CHECKS: dict[Kind, str] = {
    "rail": (
        "Check what its adapters share: their switch, firmware and settings, their PCIe place. It"
        " may be farther from its GPU by design."
    ),
    "group": "Check what its nodes share: its switch, its power, its image.",
    "uplink": "Check its cables and ports to the switches above: some may be down.",
    "route": "Check the cables and the routes between the two.",
}
_WAYS = {
    "GPU": "Take its node out of jobs, and check the GPU and its links there:",
    "NIC": (
        "Check its adapter, its cable and its leaf port: the GPU is as usual within its node."
        " On the node:"
    ),
    "GPU or NIC": (
        "Check its adapter, its cable and its leaf port, and the GPU: values within the node do not"
        " tell which it is. On the node:"
    ),
    "GPU or memory": "Take its node out of jobs, and check the GPU, and CPUs and memory there:",
    "memory": "Take its node out of jobs, and check its CPUs and memory there:",
}
_CHECK_BOTH = (
    "Check its adapter, cable and port at both nodes: with four nodes or more, one is named."
)
_VERDICT = [
    Column("metric", "In", figure=False),
    Column("times", "Time/usual"),
    Column("ci95", "95 % interval"),
    Column("p", "p"),
    Column("alone", "Alone"),
    Column("launches", "Launches"),
]
_SPREADS = {"nodes": "Nodes", "links": "Links", "launches": "Launches"}
_USUAL = [
    Column("usual", "Usual"),
    *(Column(key, title, "%", "differ by") for key, title in _SPREADS.items()),
]


def present(results: Found) -> Document:
    """The whole run; its answer has every pair only if nothing can be judged."""
    return Document(
        title="Slow nodes and slow links",
        heading="Which nodes and links are slow?",
        byline=[
            moment(results.started),
            f"{results.library} {results.version}",
            "" if results.settings == "default" else results.settings,
            f"Nearpeak {results.nearpeak}",
        ],
        sections=[
            Section("", list(_answer(results)), "found"),
            *_evidence(results),
            Section("How it was measured", [Terms(list(_methods(results)), "")], medium="details"),
        ],
        footer="Made by `nearpeak nodes`; docs/methods/nodes.md says how each verdict comes about.",
        style=maps.STYLE + board.STYLE + rails_drawing.STYLE,
    )


def _answer(results: Found) -> Iterator[Block]:
    tone: Tone = "bad" if results.bad else ""
    yield Prose(f"{wording.conclusion(results)}.", tone, strong=True)
    yield board.drawing(results)
    if usual := wording.usual(results):
        yield Prose(usual)
    for text in (wording.of_rails(results), wording.within(results), wording.kinds(results)):
        if text:
            yield Prose(text)
    if far := wording.distances(results):
        yield Prose(f"{wording.groups(results)} {far}")
    if results.failed:
        yield Notice(results.failed, tone="bad")
    if results.wrong:
        yield Notice(f"{wording.wrong(results)}.", tone="bad")
    for one in results.requirements:
        text = f"Required {one.requirement}: {wording.required(results, one)}"
        yield Notice(text, tone="" if one.met else "bad")
    if results.pairs and not results.distinguished:
        yield _pairs(results)
    if results.verdicts:
        yield _slow(results, MOST)
        yield Findings(list(_findings(results)))


def _findings(results: Found) -> Iterator[Finding]:
    """Yields what to do about the slowest nodes and links, and then."""
    for verdicts in list(wording.culprits(results).values())[:ACTED]:
        yield _finding(results, verdicts)
    yield Finding("Measure again when that is done", "The same nodes:", repeat(results))


def _finding(results: Found, verdicts: Sequence[Verdict]) -> Finding:
    """Returns what to do about one node or link; the first verdict on it is the worst."""
    verdict = verdicts[0]
    what = wording.what(results, verdict)
    text = f"{what[:1].upper()}{what[1:]} is slow: {wording.slowness(verdicts)}"
    if verdict.kind == "rail" and len(results.nodes) == 2:
        return Finding(text, _CHECK_BOTH)
    if verdict.kind in _CHECKS:
        return Finding(text, _CHECKS[verdict.kind])
    if way := _WAYS.get(wording.part(verdict)):
        return Finding(text, way, "nearpeak machine --check")
    if verdict.kind == "node":
        return Finding(text, "Take it out of jobs, and check it there:", "nearpeak machine --check")
    if verdict.alone is not None and verdict.alone <= results.margin:
        alone = "With all rails of its nodes, but no other nodes," if results.rails else "Alone"
        return Finding(text, f"{alone} it is as fast as others: check the routes that share it.")
    return Finding(text, "Check its cable, its ports and the switches between.")


def repeat(results: Found) -> str:
    """The command that measures the same nodes again; of many, those of the job."""
    line = ["nearpeak", "nodes", "--mpi", Who(results.library, results.settings).label]
    if len(results.nodes) <= NAMED:
        line += ["--hosts", ",".join(results.nodes)]
    if results.rails:
        gpus = ",".join(rail.gpu for rail in results.rails)
        line += ["--buffers", results.buffers, "--gpus", gpus]
        adapters = [rail.adapter for rail in results.rails if rail.adapter]
        if len(adapters) == len(results.rails):
            line += ["--adapters", ",".join(adapters)]
    return shlex.join([*line, "-o", "again"])


def _slow(results: Found, most: int) -> Table:
    """The slowest nodes and links."""
    every = results.verdicts
    if len(every) > most:  # then each culprit once
        every = [verdicts[0] for verdicts in wording.culprits(results).values()]
    shown, number_of = every[:most], len(results.verdicts)
    caption = f"{len(shown)} of {number_of} verdicts" if number_of > len(shown) else ""
    rows = [_verdict(results, verdict) for verdict in shown]
    used = {key for row in rows for key in row.values}
    columns = [column for column in _VERDICT if column.key in used]
    return Table("", caption, "Slow", columns, [Rows("", rows)], heads=True)


def _metric(verdict: Verdict) -> str:
    mode = verdict.mode if verdict.mode in BETWEEN else wording.MODE_TITLES[verdict.mode]
    return f"{wording.name(verdict.metric)}, {mode}"


def _verdict(results: Found, verdict: Verdict) -> Row:
    values = {
        "metric": Value(_metric(verdict), "text"),
        "times": Value(verdict.times),
        "ci95": Value(interval(verdict.ci95), "text"),
        "p": Value(verdict.p_value, "probability"),
        "launches": Value(verdict.launches, "count"),
    }
    if verdict.alone is not None:
        values["alone"] = Value(verdict.alone)
    return Row(wording.what(results, verdict), values)


def _usual(results: Found) -> Table:
    """The usual figures, and the deviations of nodes, links and launches from them."""
    rows = [Row(wording.title(results, curve), _figures(curve)) for curve in results.curves]
    columns = _USUAL if results.distinguished else _USUAL[:1]
    return Table("", "", "The usual pair", columns, [Rows("", rows)], heads=True)


def _figures(curve: Curve) -> dict[str, Value]:
    spreads = {key: Value(getattr(curve, key), "percent") for key in _SPREADS}
    return {"usual": Value(f"{number(curve.usual)} {unit(curve.unit)}", "text"), **spreads}


def _evidence(results: Found) -> Iterator[Section]:
    if results.maps:
        yield Section("All pairs", list(_maps(results)), medium="page")
    if results.rail_maps:
        yield Section("Every GPU", list(_rail_maps(results)), medium="page")
    if len(results.verdicts) > MOST:
        yield Section("All that is slow", [_slow(results, LISTED)], medium="details")
    if results.curves:
        yield Section("The usual pair", [_usual(results)], medium="details")
    if results.wrong:
        yield Section("Wrong data", [Items(results.wrong)], medium="details")
    if results.pairs and results.distinguished:
        yield Section("Every pair", [_pairs(results)], medium="details")


def _maps(results: Found) -> Iterator[Block]:
    side = results.maps[0].side
    several = f" A cell has {side} × {side} nodes, and the colour of the slowest pair."
    order = "group by group: a line ends each group" if results.levels else "as nodes were named"
    yield Prose(
        f"Each node has a row, to the left of its name, and a column below it, {order}. A slow node"
        " is a row and a column of orange or red cells, a slow link a single one."
        f"{' A cell has the colour of its slowest rail.' * (len(results.rails) > 1)}"
        f"{several if side > 1 else ''}"
    )
    yield maps.drawing(results)


def _rail_maps(results: Found) -> Iterator[Block]:
    side = results.rail_maps[0].side
    several = f" A cell has {side} nodes, and the colour of the slowest of their GPUs."
    gpus = ", ".join(
        f"GPU {rail.gpu}{f' with {rail.adapter}' if rail.adapter else ''}" for rail in results.rails
    )
    yield Prose(
        f"Each node has a row, each rail a column: {gpus}. A slow GPU is a single cell, a slow node"
        f" a row; each is compared with others of its rail.{several if side > 1 else ''}"
    )
    yield rails_drawing.drawing(results)


def _pairs(results: Found) -> Table:
    both = any(pair.latency_alone_us is not None for pair in results.pairs)
    modes = {"": "all pairs of a round", "_alone": "each pair alone"} if both else {"": ""}
    columns = [
        Column(metric.replace("_", f"{mode}_"), wording.name(metric), unit(of_metric), over)
        for mode, over in modes.items()
        for metric, of_metric in UNITS.items()
    ]
    rows = [_pair(results, pair, columns) for pair in results.pairs]
    return Table("", "", "Pair", columns, [Rows("", rows)], heads=True)


def _pair(results: Found, pair: Pair, columns: list[Column]) -> Row:
    values = {column.key: Value(getattr(pair, column.key)) for column in columns}
    rail = f", rail {results.rails[pair.rail].gpu}" if pair.rail is not None else ""
    return Row(" - ".join(pair.nodes) + rail, values)


def _methods(results: Found) -> Iterator[tuple[str, str]]:
    share = percent(results.pairs_measured / max(results.pairs_of_all, 1))
    yield (
        "Pairs",
        f"{results.pairs_measured:,} of {results.pairs_of_all:,} ({share} %), in"
        f" {count(len(results.launches), 'launch')}: {number(results.node_hours)} node hours",
    )
    yield (
        "Values",
        f"latency of {size(results.small_bytes)}, bandwidth of {size(results.large_bytes)} both"
        f" ways with {results.window} messages in flight, {number(results.slot_ms)} ms for each",
    )
    if results.rails:
        both = {"D,D": "GPU memory", "H,D": "host and GPU memory, in both orders"}
        yield (
            "Rails",
            f"{both[results.buffers]} of {count(len(results.rails), 'GPU')} of each node, GPU i"
            " with GPU i of another node, all at the same time, also where a pair is measured"
            " alone",
        )
    usual = "of a usual link of usual nodes" if results.distinguished else "the median of all pairs"
    yield "Usual", usual
    if results.distinguished and results.tests:
        yield (
            "Slow",
            f"surely more than {percent(results.node_margin - 1)} % (a node) or"
            f" {percent(results.margin - 1)} % (all else) slower than its nodes, its groups and"
            f" their usual link explain. {count(results.tests, 'test')} share one error rate: any"
            f" false verdict among all of them stands in at most {percent(results.level)} % of"
            " runs",
        )
        yield (
            "Time/usual",
            "the time of a message to the usual one; where it is 1.30, the bandwidth is 1/1.30",
        )
        yield (
            "Alone",
            "how many times as long a message of the link takes while no other"
            f" {'nodes talk, and all of its rails do' if results.rails else 'pair talks'}; near 1,"
            " the link is slow only while it is shared",
        )
