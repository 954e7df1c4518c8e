# SPDX-License-Identifier: Apache-2.0
"""What explanations say of single messages, for rules."""

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from nearpeak.findings.evidence import Noticed, View
from nearpeak.numbers import number, percent
from nearpeak.observations.explained import Budget, ExplainedCase, Explanation, Part
from nearpeak.results.results import Fact
from nearpeak.terms.identity import Case, Place, Who

MOST = 4  # parts of a message that are named


class Message(NamedTuple):
    """A kind of message that was looked at: the usual ones of one size and direction."""

    explanation: Explanation
    case: ExplainedCase
    budget: Budget

    def share(self, parts: Collection[Part]) -> float:
        """Of its time."""
        return sum(part.time_us for part in parts) / self.budget.time_us


def worst(view: View, chosen: Callable[[Message], list[Part]], least: float) -> Iterator[Noticed]:
    """For each library, path and buffers the message of which the chosen parts have the largest
    share, where that is `least` or more."""
    found: dict[tuple[Who, str, str], tuple[float, Message, list[Part]]] = {}
    for message in _messages(view):
        parts = chosen(message)
        share = message.share(parts)
        explained = message.explanation
        who = Who(explained.library, explained.settings)
        key = who, explained.path, explained.buffers
        if parts and share >= least and share > found.get(key, (0.0,))[0]:
            found[key] = share, message, parts
    for (who, path, _), (_, message, parts) in found.items():
        yield Noticed(_facts(message, parts), who, _place(view, path), _case(message))


def calls(message: Message, names: Collection[str]) -> list[Part]:
    """The parts of these names."""
    return [part for part in message.budget.parts if part.name in names]


def _messages(view: View) -> Iterator[Message]:
    for explanation in view.observations.explanations:
        for case in explanation.cases:
            for budget in case.budgets:
                yield Message(explanation, case, budget)


def _facts(message: Message, parts: list[Part]) -> list[Fact]:
    """The parts with the largest shares: `close by rank 1: 2 x 19.3 µs, 31.6 % of 124 µs`."""
    whole_us = message.budget.time_us
    return [
        Fact(
            of="part",
            name=f"{part.name}{_bytes(part)} {'for' if part.kind == 'device' else 'by'} rank"
            f" {part.rank}",
            value=f"{_times(part.count)} {number(part.mean_us)} µs,"
            f" {percent(part.time_us / whole_us)} % of {number(whole_us)} µs",
        )
        for part in sorted(parts, key=lambda part: -part.time_us)[:MOST]
    ]


def _bytes(part: Part) -> str:
    return f" of {part.bytes:,.0f} B" if part.bytes else ""


def _times(count: float) -> str:
    return f"{count:,.0f} x" if count >= 1.5 else "1 x"


def _place(view: View, path: str) -> Place:
    return next(
        (known.place for known in view.observations.paths if known.id == path), Place(path=path)
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
