# SPDX-License-Identifier: Apache-2.0
"""The phrases that rules make the sentences of a finding of."""

from collections.abc import Iterable
from typing import TypeVar

from nearpeak.numbers import count, listed, number, resting, size, unit
from nearpeak.results.names import axes_words, short
from nearpeak.results.results import Alternative, Cost, Evidence, Finding, SettingChange
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.identity import Case, Place, Who

T = TypeVar("T")


class Phrases:
    """Phrases about one finding. ValueError for a part that it lacks, and its rule always gives."""

    def __init__(self, finding: Finding, benchmarks: Iterable[Benchmark] = ()) -> None:
        """`benchmarks`: of the study, whose cases `short` names by their direction."""
        self.finding = finding
        self.benchmarks = benchmarks

    @property
    def who(self) -> Who:
        """The library that loses."""
        return _required(self.finding.who)

    @property
    def place(self) -> Place:
        """The path."""
        return _required(self.finding.place)

    @property
    def finding_case(self) -> Case:
        """The case that loses."""
        return _required(self.finding.case)

    @property
    def other(self) -> Alternative:
        """The alternative."""
        return _required(self.finding.alternative)

    @property
    def cost(self) -> Cost:
        """The loss."""
        return _required(self.finding.cost)

    @property
    def subject(self) -> str:
        """`openmpi, gpu-gpu nvlink, latency D,D at 8 B`."""
        return f"{self.who.label}, {self.place.path}, {self.case}"

    @property
    def case(self) -> str:
        """`latency D,D at 8 B (calls=blocking)`."""
        case = self.finding_case
        label = f"{case.figure} {case.buffers} at {size(case.x)}"
        axes = ", ".join(axes_words(self.finding.apart))
        return f"{label} ({axes})" if axes else label

    @property
    def short(self) -> str:
        """`latency D,D 8 B`."""
        return short(self.finding_case, self.benchmarks)

    @property
    def size(self) -> str:
        """The size of the case."""
        return size(self.finding_case.x)

    @property
    def other_size(self) -> str:
        """The size of the alternative."""
        return size(self.other.case.x)

    @property
    def window(self) -> int | None:
        """The messages that the alternative has in flight."""
        return self.evidence("alternative").window

    @property
    def measured(self) -> str:
        """The figure that loses, with its unit."""
        return value(self.evidence("own"))

    @property
    def better(self) -> str:
        """The figure of the alternative."""
        return value(self.evidence("alternative"))

    @property
    def better_bare(self) -> str:
        """The figure of the alternative, in the unit of the one that loses."""
        return number(self.evidence("alternative").value)

    @property
    def attainable(self) -> str:
        """The best that a library can reach, in the unit of the figure that loses."""
        return number(self.evidence("own ceiling").value)

    @property
    def better_each(self) -> str:
        """The time of one message at the rate of the alternative."""
        return f"{number(self.finding_case.x / self.evidence('alternative').value / 1e3)} µs"

    @property
    def gap(self) -> str:
        """The factor by which what is attainable is better than the figure."""
        return gap(self.evidence("own"), self.evidence("own ceiling"))

    @property
    def other_gap(self) -> str:
        """The same of the alternative."""
        return gap(self.evidence("alternative"), self.evidence("alternative ceiling"))

    @property
    def mps(self) -> str:
        """`under MPS` or `without MPS`."""
        return _under(self.place)

    @property
    def other_mps(self) -> str:
        """The same of the alternative."""
        return _under(self.other.place)

    @property
    def times(self) -> str:
        """`14.4x`: the factor by which the alternative is better, as a reader works it out of the
        two figures; where they differ in kind, the median of the blocks."""
        return f"{number(self.cost.ratio if self._of_figures is None else self._of_figures)}x"

    @property
    def times_in_blocks(self) -> str:
        """`14.4x`: the median of the blocks, of more than the two figures."""
        return f"{number(self.cost.ratio)}x"

    @property
    def _of_figures(self) -> float | None:
        """The factor between the two figures; None where they have no unit in common."""
        measured, better = self.evidence("own", self._unit), self.evidence("alternative")
        if measured.unit != better.unit:
            return None
        ratio = measured.value / better.value
        return max(ratio, 1 / ratio)

    @property
    def _unit(self) -> str:
        """The unit of the alternative, if the figure that loses has it, too."""
        unit = self.evidence("alternative").unit
        units = [evidence.unit for evidence in self.finding.evidence if evidence.of == "own"]
        return unit if unit in units else ""

    @property
    def ratio(self) -> str:
        """`2.1 times (95 % interval 1.9 to 2.4, 12 blocks)`: as a reader works it out of the two
        figures; where the blocks have another one, `2.2 times (within blocks 2.1, ...)`."""
        figures, blocks = self._of_figures, number(self.cost.ratio)
        if figures is None or number(figures) == blocks:
            return self.ratio_in_blocks
        return f"{number(figures)} times (within blocks {blocks}, {self._basis})"

    @property
    def ratio_in_blocks(self) -> str:
        """`2.1 times (95 % interval 1.9 to 2.4, 12 blocks)`, or with a range `(1.9 to 2.4 in 6
        blocks)`: the median of the blocks, of more than the two figures."""
        return f"{number(self.cost.ratio)} times ({self._basis})"

    @property
    def _basis(self) -> str:
        """Interval or range, and blocks: `6 of 9 blocks` if the tables show more of them."""
        cost = self.cost
        blocks = count(cost.blocks, "block")
        if cost.launches > cost.blocks:
            blocks = f"{cost.blocks} of {count(cost.launches, 'block')}"
        return resting(cost.ci95, cost.range, blocks)

    @property
    def all_facts(self) -> str:
        """`UCX_TLS tcp in 12 launches; ...`."""
        return self.facts()

    def measured_in(self, unit: str) -> str:
        """The figure that loses, in this unit."""
        return value(self.evidence("own", unit))

    def evidence(self, role: str, unit: str = "") -> Evidence:
        """The evidence with this role; `unit` selects one of two if it is given in both."""
        return next(
            evidence
            for evidence in self.finding.evidence
            if evidence.of == role and (not unit or evidence.unit == unit)
        )

    def facts(self, between: str = " ", end: str = "") -> str:
        """`UCX_TLS=tcp in 12 launches; ...`."""
        return "; ".join(
            f"{fact.name}{between}{fact.value}{end}"
            + (f" in {count(fact.launches, 'launch')}" if fact.launches else "")
            for fact in self.finding.facts
        )

    def joined(self, role: str, between: str) -> str:
        """The facts with this role: `A=1; B=2`."""
        return "; ".join(
            f"{fact.name}{between}{fact.value}" for fact in self.finding.facts if fact.of == role
        )

    @property
    def parts(self) -> str:
        """`81 % of the time is 2,037 x cuStreamSynchronize and others`, of a message."""
        names = self._part_names
        first = names[0].partition(" of ")[0] if names else "calls"
        others = " and others" if len(set(names)) > 1 else ""
        return f"{self.share} % of the time is {first}{others}"

    @property
    def share(self) -> str:
        """The share of what was noticed in the time of a message, in %."""
        message = self.finding.message
        return f"{100 * message.share:.0f}" if message else "0"

    @property
    def pieces(self) -> str:
        """`2,037 pieces of 8,236 B`: the copies of a message."""
        sized = [name for name in self._part_names if " of " in name]
        number, times, copies = sized[0].partition(" x ") if sized else ("", "", "")
        return f"{number} pieces of {copies.partition(' of ')[2]}" if times else "pieces"

    @property
    def apply(self) -> str:
        """`Set UCX_RNDV_THRESH and 8 more variables.`: the settings that are better."""
        changed = self.finding.remedy.changes
        variables = [one.name for one in changed if one.kind == "env" and one.value is not None]
        if not variables or len(variables) < len(changed):
            return "Run the library with these settings."
        others = len(variables) - 1
        more = f" and {count(others, 'more variable')}" if others else ""
        return f"Set {variables[0]}{more}."

    @property
    def _part_names(self) -> list[str]:
        return [
            fact.name.partition(" by rank")[0] for fact in self.finding.facts if fact.of == "part"
        ]

    @property
    def diagnosis(self) -> str:
        """The first problem that doctor reported."""
        return self.finding.facts[0].value


def _required(part: T | None) -> T:
    if part is None:
        raise ValueError("a finding lacks what its rule gives")
    return part


def _under(place: Place) -> str:
    return "under MPS" if place.mps else "without MPS"


def value(evidence: Evidence) -> str:
    """A figure with its unit."""
    return f"{number(evidence.value)} {unit(evidence.unit)}"


def gap(figure: Evidence, ceiling: Evidence) -> str:
    """The factor by which a ceiling is better than a figure."""
    ratio = figure.value / ceiling.value
    return number(ratio if figure.unit == "us" else 1 / ratio)


def change(change: SettingChange) -> str:
    """`UCX_TLS=all in place of tcp`, `no UCX_TLS=tcp`."""
    if change.kind != "env":
        label = "flags" if change.kind == "flags" else "left out"
        return f"{label} {change.value or 'none'} in place of {change.instead or 'none'}"
    if change.value is None:
        return f"no {change.name}={change.instead}"
    text = f"{change.name}={change.value}"
    return text if change.instead is None else f"{text} in place of {change.instead}"


def diagnosed(it: Phrases) -> str:
    """The problems that doctor reported, as a sentence."""
    text = "; ".join(fact.value for fact in it.finding.facts)
    return f"{text[:1].upper()}{text[1:]}."


def of_message(it: Phrases) -> str:
    """The parts of a message that a rule has noticed."""
    parts, variables = it.joined("part", ": "), it.joined("variable", "=")
    text = f"{it.subject}, of a message: {parts}."
    ways = [f"{fact.value} {fact.name}" for fact in it.finding.facts if fact.of == "way"]
    if ways:
        text += f" While traced it takes {listed(ways)}; the figure is the mean of both directions."
    return f"{text} It is run with {variables}." if variables else text
