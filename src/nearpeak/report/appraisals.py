# SPDX-License-Identifier: Apache-2.0
"""Appraisals of imported figures in words: at most five lines for each."""

from collections.abc import Iterator

from nearpeak.appraisal.figure import named_benchmark, printed_bytes
from nearpeak.document.model import Block, Items, Prose
from nearpeak.numbers import count, number, percent, size, unit
from nearpeak.results.results import Appraisal, LikelyReason, Results, Sustained
from nearpeak.terms.buffers import MEMORY

TITLE = "Is this good?"
STATES = {
    "near": "near what such hardware sustains",
    "below": "below what such hardware sustains",
    "above": "more than such hardware sustains: another path, a cache, or a mistake",
    "wrong data": "no figure, as the payload was wrong",
}
NO_RANKS = ("nvbandwidth", "perftest")
SEVERAL = 2  # paths, of more of which a line has the slowest and the fastest
SHOWN = 1  # on a terminal; the page has all of them


def blocks(results: Results, most: int | None = None) -> Iterator[Block]:
    """Yields the lines of each appraisal, and how many more there are."""
    several = len({appraisal.who for appraisal in results.appraisals}) > 1
    for appraisal in results.appraisals[:most]:
        yield Items(list(lines(appraisal, named=several)), "", most=5)
    rest = len(results.appraisals) - (most or len(results.appraisals))
    if rest > 0:
        yield Prose(f"{count(rest, 'more verdict')}: with --verbose, or -o.")


def lines(appraisal: Appraisal, named: bool = False) -> Iterator[str]:
    """Yields the figure, what such hardware sustains, the verdict, the reason, and a command.

    `named`: the figure has the name of its file.
    """
    name = f"{appraisal.who.library}, " if named else ""
    if not appraisal.value and appraisal.state == "wrong data":
        yield f"Verdict: {name}wrong data: no payload passed validation."
        return
    yield f"Figure: {name}{_figure(appraisal)}."
    if sustained := appraisal.sustained:
        yield f"Known: {_paths(appraisal, sustained)}."
    yield f"Verdict: {verdict(appraisal)}."
    if appraisal.reasons:
        reason = appraisal.reasons[0]
        yield f"{_certainty(appraisal, reason)}: {reason.text}."
    if appraisal.command:
        yield f"Next: {appraisal.command}"


def _certainty(appraisal: Appraisal, reason: LikelyReason) -> str:
    if reason.certain:
        return "Because"
    return "Note" if appraisal.state == "near" else "Likely"


def verdict(appraisal: Appraisal) -> str:
    """The verdict: `97 %: near what such hardware sustains`."""
    shares = [one.share for one in appraisal.sustained if one.share is not None]
    if appraisal.state == "unsure":
        ends = [min(shares), max(shares)] if len(shares) > SEVERAL else shares
        between = " to " if len(shares) > SEVERAL else " or "
        of = between.join(f"{percent(share)} %" for share in ends)
        return (
            f"unsure{f' ({of})' if of else ''}. This table alone cannot tell: {appraisal.missing}"
        )
    if appraisal.state == "below" and not shares:
        return "low, unless the network between is slow"
    if appraisal.state == "wrong data" or not shares:
        return STATES[appraisal.state]
    return f"{percent(max(shares))} %, {STATES[appraisal.state]}"


def _figure(appraisal: Appraisal) -> str:
    case = appraisal.case
    kinds = [{"gpu": "GPU", "host": "host"}[MEMORY[kind]] for kind in case.buffers.split(",")]
    memory = f"{kinds[0]} memory" if len(set(kinds)) == 1 else f"{kinds[0]} to {kinds[-1]} memory"
    value = f"{number(appraisal.value)} {unit(appraisal.unit)}"
    if appraisal.best is not None:
        value = f"{number(appraisal.value)} to {number(appraisal.best)} {unit(appraisal.unit)}"
    ranks = appraisal.ranks if appraisal.tool not in NO_RANKS else None
    where = [count(ranks, "rank") + " in" if ranks else "", memory]
    where.append(f"on {count(appraisal.hosts, 'host')}" if appraisal.hosts else "")
    printed = size(printed_bytes(appraisal.tool, case, appraisal.ranks))
    benchmark = named_benchmark(case, appraisal.unit)
    subject = " ".join(filter(None, [appraisal.tool, benchmark, printed + ",", *where]))
    return f"{subject}: {value}"


def _paths(appraisal: Appraisal, sustained: list[Sustained]) -> str:
    ordered = sorted(sustained, key=lambda path: path.value)
    ends = [ordered[0], ordered[-1]] if len(sustained) > SEVERAL else sustained
    paths = (" to " if len(sustained) > SEVERAL else " or ").join(
        f"{number(one.value)} {unit(appraisal.unit)} by {one.path}" for one in ends
    )
    how = "named" if appraisal.named else "recognised"
    machine = f"{appraisal.machine} ({how}), " if appraisal.machine else ""
    return f"{machine}{paths}"
