# SPDX-License-Identifier: Apache-2.0
"""All pairs of nodes as a document: which nodes and links are slow."""

from collections.abc import Iterator

from nearpeak.document.model import (
    Block,
    Column,
    Document,
    Medium,
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
from nearpeak.nodes import map as maps
from nearpeak.nodes import wording
from nearpeak.nodes.found import UNITS, Curve, Found, Pair, Verdict
from nearpeak.numbers import count, number, percent, size, unit

_PRINTED, _LISTED = 30, 2000  # verdicts on the terminal and on the page; nodes.json has all
_VERDICT = [
    Column("metric", "In", figure=False),
    Column("times", "Times as long"),
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
    """The whole run; the terminal shows every pair only if nothing can be judged."""
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
            Section("Result", list(_result(results)), "found"),
            *_evidence(results),
            Section("How it was measured", [Terms(list(_methods(results)), "")]),
        ],
        conclusion=wording.conclusion(results),
        bad=results.bad,
        footer="Made by `nearpeak nodes`; docs/nodes.md says how each verdict comes about.",
        style=maps.STYLE,
    )


def _result(results: Found) -> Iterator[Block]:
    tone: Tone = "bad" if results.bad else "note"
    yield Notice(f"{wording.conclusion(results)}.", tone=tone, medium="page")
    if results.failed:
        yield Notice(results.failed, tone="bad")
    if results.wrong:
        yield Notice(wording.wrong(results), tuple(results.wrong), "bad")
    for one in results.requirements:
        text = f"Required {one.requirement}: {wording.required(results, one)}"
        yield Notice(text, tone="" if one.met else "bad")
    yield from _verdicts(results)
    yield _usual(results)


def _verdicts(results: Found) -> Iterator[Block]:
    rows = [
        _verdict(verdict, "" if index < _PRINTED else "page")
        for index, verdict in enumerate(results.verdicts[:_LISTED])
    ]
    if rows:
        yield Table("", "", "Slow", _VERDICT, [Rows("", rows)], heads=True)
    media: tuple[tuple[Medium, int], ...] = (("terminal", _PRINTED), ("page", _LISTED))
    for medium, most in media:
        if (more := len(results.verdicts) - most) > 0:
            yield Prose(f"And {more} more: nodes.json has all.", medium=medium)


def _verdict(verdict: Verdict, medium: Medium) -> Row:
    values = {
        "metric": Value(f"{wording.name(verdict.metric)}, {verdict.mode}", "text"),
        "times": Value(verdict.times, ci95=verdict.ci95),
        "p": Value(verdict.p_value, "probability"),
        "launches": Value(verdict.launches, "count"),
    }
    if verdict.alone is not None:
        values["alone"] = Value(verdict.alone)
    return Row(f"{verdict.kind} {wording.subject(verdict)}", values, medium=medium)


def _usual(results: Found) -> Table:
    """The usual figures, and the deviations of nodes, links and launches from them."""
    rows = [Row(wording.title(results, curve), _figures(curve)) for curve in results.curves]
    columns = _USUAL if results.told_apart else _USUAL[:1]
    groups = [Rows("", rows)] if rows else []
    return Table("", "", "The usual pair", columns, groups, heads=True)


def _figures(curve: Curve) -> dict[str, Value]:
    spreads = {key: Value(getattr(curve, key), "percent") for key in _SPREADS}
    return {"usual": Value(f"{number(curve.usual)} {unit(curve.unit)}", "text"), **spreads}


def _evidence(results: Found) -> Iterator[Section]:
    if results.maps:
        yield Section("All pairs", list(_maps(results)), medium="page")
    if results.pairs:
        medium: Medium = "page" if results.told_apart else ""
        yield Section("Every pair", [_pairs(results)], medium=medium)


def _maps(results: Found) -> Iterator[Block]:
    side = results.maps[0].side
    several = f" A cell has {side} × {side} nodes, and the colour of the slowest pair."
    yield Prose(
        "Each node has a row, to the left of its name, and a column below it, in the order in which"
        " nodes were named. A slow node is a row and a column of orange or red cells, a slow link a"
        f" single one.{several if side > 1 else ''}"
    )
    yield maps.drawing(results)


def _pairs(results: Found) -> Table:
    both = any(pair.latency_alone_us is not None for pair in results.pairs)
    modes = {"": "all pairs of a round", "_alone": "each pair alone"} if both else {"": ""}
    columns = [
        Column(metric.replace("_", f"{mode}_"), wording.name(metric), unit(of_metric), over)
        for mode, over in modes.items()
        for metric, of_metric in UNITS.items()
    ]
    rows = [_pair(pair, columns) for pair in results.pairs]
    return Table("", "", "Pair", columns, [Rows("", rows)], heads=True)


def _pair(pair: Pair, columns: list[Column]) -> Row:
    values = {column.key: Value(getattr(pair, column.key)) for column in columns}
    return Row(" - ".join(pair.nodes), values)


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
    usual = "of a usual link of usual nodes" if results.told_apart else "the median of all pairs"
    yield "Usual", usual
    if results.told_apart and results.tests:
        yield (
            "Slow",
            f"surely more than {percent(results.margin - 1)} % slower than its nodes and the usual"
            f" link explain. {count(results.tests, 'test')} share one error rate: any false verdict"
            f" among all of them stands in at most {percent(results.level)} % of runs",
        )
        yield (
            "Alone",
            "how many times as long a message of the link takes while nobody else talks; near 1,"
            " the link is slow only while it is shared",
        )
