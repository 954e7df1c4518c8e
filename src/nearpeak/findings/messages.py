# SPDX-License-Identifier: Apache-2.0
"""Single messages of explanations, for rules."""

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from nearpeak.findings.evidence import Noticed, View
from nearpeak.numbers import number, percent
from nearpeak.observations.explained import (
    Budget,
    ExplainedCase,
    Explanation,
    Part,
    doubtful,
    nothing_known,
)
from nearpeak.results.results import Fact, InMessage
from nearpeak.terms.buffers import WAYS
from nearpeak.terms.identity import Case, Place, Who

MOST = 4  # parts of a message that are named
COPIES = "copies"  # the fault that several rules report: the copies of device memory
ENOUGH = 10  # messages: with fewer, one outlier changes the total
LEAST_LAUNCHES = 3  # with and without tracing: messages of one launch are alike
UNLIKE = 3.0  # times as long in one direction: the mean of both says little of either
COPIES_BY = "cuMemcpy"  # prefix of the names of calls
MOST_PIECES = 8  # of a message that are accepted
SMALL_BYTES = 64 << 10  # of a piece: larger ones take their time for the bytes
HOST = ("pageable", "pinned")  # in the name of a copy
MessageGroup = tuple[Who, str, str]


class Message(NamedTuple):
    """The analysed messages of one size and direction."""

    explanation: Explanation
    case: ExplainedCase
    budget: Budget

    def share(self, parts: Collection[Part]) -> float:
        """The share of the parts in the time of a message."""
        return sum(part.time_us for part in parts) / self.budget.time_us

    def count_per_message(self, part: Part) -> float:
        """The number of times that a part occurs in one message; an iteration may have a window."""
        several = self.case.operations if self.budget.leg == "iteration" else 1.0
        return part.count / max(1.0, several)

    @property
    def group(self) -> MessageGroup:
        """Library, path and buffers, within which messages are compared."""
        explained = self.explanation
        return explained.who, explained.path, explained.buffers

    @property
    def slower(self) -> float:
        """The slowdown by tracing."""
        return self.budget.slower

    @property
    def unknown(self) -> bool:
        """True if nothing is known of the time above the ceiling: no part of the message is then
        known to make it slow."""
        return nothing_known(self.budget) or nothing_known(self.case)

    @property
    def slower_most(self) -> float | None:
        """The slowdown of the launches that differ most; None with too few launches."""
        case = self.case
        launches = min(len(case.plain_values), len(case.seen_values))
        if case.slower_most is None or launches < LEAST_LAUNCHES:
            return None
        return max(1.0, self.slower * case.slower_most / case.slower)


def worst(
    view: View,
    chosen: Callable[[Message], list[Part]],
    least: float,
    remedy: Callable[[Message], str] = lambda _: "",
) -> Iterator[Noticed]:
    """The message with the largest share of the chosen parts, for each library, path and buffers.

    Only shares of `least` or more. Significant with enough messages and launches, if the share
    stays that large when the slowdown by tracing, by the launches that differ most, is taken from
    these parts. Doubtful explanations do not count, nor those of other libraries, versions or paths
    than the study has, nor messages of whose time above the ceiling nothing is known. `remedy`: for
    a message; empty: that of the rule.
    """
    largest: dict[MessageGroup, tuple[tuple[bool, float], Message, list[Part]]] = {}
    for message in messages(view):
        parts = chosen(message)
        if not parts or message.share(parts) < least or message.unknown:
            continue
        sure = message.budget.messages >= ENOUGH and _at_least(message, parts) >= least
        rank = sure, message.share(parts)
        group = message.group
        if group not in largest or rank > largest[group][0]:
            largest[group] = rank, message, parts
    for (who, path, _), ((sure, share), message, parts) in largest.items():
        time_us, slower = message.budget.time_us, message.slower
        yield Noticed(
            [*_facts(message, parts), *_ways(message)],
            who,
            _place(view, path),
            _case(message),
            sure=sure,
            message=InMessage(
                messages=message.budget.messages,
                time_us=time_us,
                slower=slower,
                share=share,
                lost_us=share * time_us / slower,
            ),
            remedy=remedy(message),
        )


def _at_least(message: Message, parts: Collection[Part]) -> float:
    """The least share of the parts without tracing: all of the slowdown is taken from them.

    0 with too few launches.
    """
    slower = message.slower_most
    return 1 - (1 - message.share(parts)) * slower if slower else 0.0


def calls(message: Message, names: Collection[str]) -> list[Part]:
    """The parts of these names."""
    return [part for part in message.budget.parts if part.name in names]


def pieces(message: Message) -> list[Part]:
    """The copies of a message in more and small pieces, and the calls that copy and wait for
    them."""
    parts = message.budget.parts
    copies = [
        part
        for part in parts
        if part.kind == "device"
        and part.bytes
        and part.bytes <= SMALL_BYTES
        and message.count_per_message(part) > MOST_PIECES
    ]
    ranks = {part.rank for part in copies}
    return copies + [
        part
        for part in parts
        if part.rank in ranks
        and message.count_per_message(part) > MOST_PIECES
        and (part.kind == "sync" or (part.kind == "call" and part.name.startswith(COPIES_BY)))
    ]


def by_host(part: Part) -> bool:
    """True for a copy to or from host memory."""
    return any(memory in part.name for memory in HOST)


def explanations(view: View) -> Iterator[Explanation]:
    """The explanations of libraries, versions and paths that the study has."""
    observations = view.observations
    libraries = {(library.who, library.version) for library in observations.libraries}
    paths = {path.id for path in observations.paths}
    for explanation in observations.explanations:
        if (explanation.who, explanation.version) in libraries and explanation.path in paths:
            yield explanation


def messages(view: View) -> Iterator[Message]:
    """All messages of the study that were traced completely."""
    for explanation in explanations(view):
        for case in explanation.cases:
            for budget in [] if doubtful(case) else case.budgets:
                of_library = [part for part in budget.parts if not part.own]
                yield Message(explanation, case, replace(budget, parts=of_library))


def _facts(message: Message, parts: list[Part]) -> list[Fact]:
    """The parts with the largest shares: `2 x close by rank 1: 19.3 µs each, 31.6 % of 124 µs`.

    Waits also have the share that may be the work of another rank.
    """
    whole_us = message.budget.time_us
    return [
        Fact(
            of="part",
            name=f"{part.label} {'for' if part.kind == 'device' else 'by'} rank {part.rank}",
            value=f"{number(part.mean_us)} µs{' each' if part.count >= 1.5 else ''},"
            f" {percent(part.time_us / whole_us)} % of {number(whole_us)} µs"
            f"{part.beside}{_others(part)}",
        )
        for part in sorted(parts, key=lambda part: -part.time_us)[:MOST]
    ]


def _ways(message: Message) -> list[Fact]:
    """The time of a message in each direction, if one takes more than `UNLIKE` times as long: `to
    GPU: 23100 µs`. A latency is the mean of both."""
    buffers, times = (
        message.explanation.buffers,
        {budget.leg: budget.time_us for budget in message.case.budgets},
    )
    back = ",".join(reversed(buffers.split(",")))
    if buffers not in WAYS or back not in WAYS or not {"there", "back"} <= times.keys():
        return []
    ways = {WAYS[buffers]: times["there"], WAYS[back]: times["back"]}
    if max(ways.values()) <= UNLIKE * min(ways.values()):
        return []
    return [Fact(of="way", name=way, value=f"{number(us)} µs") for way, us in ways.items()]


def _others(part: Part) -> str:
    if not part.others_us or not part.time_us:
        return ""
    share = percent(part.others_us / part.time_us)
    return f", in {share} % of which another rank may be at work by its own instructions"


def _place(view: View, path: str) -> Place:
    return next(
        (candidate.place for candidate in view.observations.paths if candidate.id == path),
        Place(path=path),
    )


def _case(message: Message) -> Case:
    explained, case = message.explanation, message.case
    return Case(
        benchmark=explained.benchmark,
        metric=case.metric,
        buffers=explained.buffers,
        axes=case.axes,
        x=case.size_bytes,
    )
