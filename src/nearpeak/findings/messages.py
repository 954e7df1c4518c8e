# SPDX-License-Identifier: Apache-2.0
"""What explanations say of single messages, for rules."""

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
    hides_own,
)
from nearpeak.results.results import Fact, InMessage
from nearpeak.terms.identity import Case, Place, Who

MOST = 4  # parts of a message that are named
COPIES = "copies"  # the fault that several rules tell of: how device memory is copied
ENOUGH = 10  # messages: of fewer, one that was held up changes what all take
LEAST_LAUNCHES = 3  # with the microscope, and without: messages of one launch are alike
Where = tuple[Who, str, str]


class Message(NamedTuple):
    """A kind of message that was looked at: the usual ones of one size and direction."""

    explanation: Explanation
    case: ExplainedCase
    budget: Budget

    def share(self, parts: Collection[Part]) -> float:
        """Of its time."""
        return sum(part.time_us for part in parts) / self.budget.time_us

    def each(self, part: Part) -> float:
        """How often a part is of one message: an iteration may have a window of them."""
        several = self.case.operations if self.budget.leg == "iteration" else 1.0
        return part.count / max(1.0, several)

    @property
    def where(self) -> Where:
        """Library, path and buffers: messages of one are held against each other."""
        explained = self.explanation
        return explained.who, explained.path, explained.buffers

    @property
    def slower(self) -> float:
        """How many times as long it takes under the microscope."""
        return self.budget.slower or self.case.slower

    @property
    def slower_most(self) -> float | None:
        """The same by the launches that differ most; None where there are too few."""
        case = self.case
        launches = min(len(case.plain_values), len(case.seen_values))
        if case.slower_most is None or launches < LEAST_LAUNCHES:
            return None
        return max(1.0, self.slower * case.slower_most / case.slower)


def worst(view: View, chosen: Callable[[Message], list[Part]], least: float) -> Iterator[Noticed]:
    """For each library, path and buffers the message of which the chosen parts have the largest
    share, where that is `least` or more.

    Sure where enough messages and launches were looked at, and the share is no less if all that a
    message takes longer under the microscope, by the launches that differ most, is in these parts.
    Nothing of a doubtful explanation, or of a library, version or path that the study does not
    have.
    """
    found: dict[Where, tuple[tuple[bool, float], Message, list[Part]]] = {}
    for message in messages(view):
        parts = chosen(message)
        if not parts or message.share(parts) < least:
            continue
        sure = message.budget.messages >= ENOUGH and _at_least(message, parts) >= least
        rank = sure, message.share(parts)
        where = message.where
        if where not in found or rank > found[where][0]:
            found[where] = rank, message, parts
    for (who, path, _), ((sure, share), message, parts) in found.items():
        time_us, slower = message.budget.time_us, message.slower
        yield Noticed(
            _facts(message, parts),
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
        )


def _at_least(message: Message, parts: Collection[Part]) -> float:
    """The share of the parts in a message without the microscope, if these alone grow under it, by
    as much as launches allow; 0 where they are too few to know."""
    slower = message.slower_most
    return 1 - (1 - message.share(parts)) * slower if slower else 0.0


def calls(message: Message, names: Collection[str]) -> list[Part]:
    """The parts of these names."""
    return [part for part in message.budget.parts if part.name in names]


def explanations(view: View) -> Iterator[Explanation]:
    """Those of a library, version and path that the study has."""
    known = view.observations
    libraries = {(library.who, library.version) for library in known.libraries}
    paths = {path.id for path in known.paths}
    for explanation in known.explanations:
        if (explanation.who, explanation.version) in libraries and explanation.path in paths:
            yield explanation


def messages(view: View) -> Iterator[Message]:
    """All of them that were seen whole, of what the study has."""
    for explanation in explanations(view):
        for case in explanation.cases:
            for budget in [] if doubtful(case) or hides_own(case) else case.budgets:
                of_library = [part for part in budget.parts if not part.own]
                yield Message(explanation, case, replace(budget, parts=of_library))


def _facts(message: Message, parts: list[Part]) -> list[Fact]:
    """The parts with the largest shares: `2 x close by rank 1: 19.3 µs each, 31.6 % of 124 µs`, of
    waits with how much of that may be another rank's work."""
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


def _others(part: Part) -> str:
    if not part.others_us or not part.time_us:
        return ""
    share = percent(part.others_us / part.time_us)
    return f", in {share} % of which another rank may be at work by its own instructions"


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
