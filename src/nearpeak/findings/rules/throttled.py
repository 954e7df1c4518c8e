# SPDX-License-Identifier: Apache-2.0
"""Launches with a throttled CPU or GPU: too hot, out of power, or CPU time stolen."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Set

from nearpeak.findings.evidence import Noticed, Rule, View, figure_of, median_in
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import Reference
from nearpeak.observations.observed import Block, Launch
from nearpeak.results.results import Cell, Fact, Source
from nearpeak.statistics.comparisons import better_by
from nearpeak.terms.identity import Case, Place, Who

FEWEST = 2  # blocks of either kind that a figure needs
LEAST = 1.05  # times slower from which a figure is shown

AGAIN = "Then measure again."
# By a part of the name of a reason.
REMEDIES = {
    "too hot": "let what is too hot cool",
    "power": "raise the power limit of the GPU (nvidia-smi -q -d PERFORMANCE,POWER)",
    "stolen": "use a machine with CPUs of its own",
}
OTHERWISE = "have the GPU looked at (nvidia-smi -q -d PERFORMANCE,ECC)"

Slowed = Set[tuple[Who, Place, Case, Block]]


def find(view: View) -> Iterator[Noticed]:
    """Yields one fact for each library and path, with the figures of the most affected case."""
    launches: dict[tuple[Who, Place], list[Launch]] = defaultdict(list)
    for launch in view.launches:
        launches[launch.who, launch.place].append(launch)
    # A block may have several launches, each with other cases.
    slowed = {
        (launch.who, launch.place, observed.case, launch.block)
        for observed in view.observations.observed
        if (launch := observed.launch).held_down
    }
    for (who, place), group in launches.items():
        reasons = Counter(reason for launch in group for reason in launch.held_down)
        if not reasons:
            continue
        facts = [
            Fact(of="slowed", name=reason, value=f"of {len(group)} launches", launches=number)
            for reason, number in sorted(reasons.items())
        ]
        hit = [
            (cell, parted)
            for cell in view.unstaged
            if (cell.who, cell.place) == (who, place)
            and min(map(len, parted := _parted(cell, slowed))) >= FEWEST
        ]
        hit = [entry for entry in hit if _slower(*entry) > LEAST]
        if not hit:
            yield Noticed(facts, who, place, remedy=_remedy(reasons))
            continue
        cell, parted = max(hit, key=lambda entry: _slower(*entry))
        evidence = [figure_of("own", cell, parted[0]), figure_of("alternative", cell, parted[1])]
        yield Noticed(facts, who, place, cell.case, evidence, cell.command, remedy=_remedy(reasons))


def _remedy(reasons: Iterable[str]) -> str:
    return _sentences(dict.fromkeys(map(_clause, sorted(reasons))))


def _clause(reason: str) -> str:
    """The remedy for one reason."""
    return next((clause for part, clause in REMEDIES.items() if part in reason), OTHERWISE)


def _sentences(clauses: Iterable[str]) -> str:
    text = "; ".join(clauses)
    return f"{text[0].upper()}{text[1:]}. {AGAIN}"


def _parted(cell: Cell, slowed: Slowed) -> tuple[list[Block], list[Block]]:
    """The throttled blocks of a cell, and the others."""
    down = [block for block in cell.blocks if (cell.who, cell.place, cell.case, block) in slowed]
    return down, [block for block in cell.blocks if block not in down]


def _slower(cell: Cell, parted: tuple[list[Block], list[Block]]) -> float:
    """The factor by which a cell was better without throttling."""
    down, free = (median_in(cell, blocks) for blocks in parted)
    return better_by(free, down, cell.better)


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    subject = f"{it.who.label}, {it.place.path}"
    slowed = "; ".join(f"{fact.name} in {fact.launches} {fact.value}" for fact in it.finding.facts)
    text = f"{subject}: launches were slowed: {slowed}."
    if not it.finding.evidence:
        return text
    figures = f"{it.measured} in these launches against {it.better} in the others"
    return f"{text} {it.case}: {figures}."


RULE = Rule(
    name="throttled",
    tells="While launches ran, a core, a package or a GPU was too hot, a GPU out of power, or a"
    " hypervisor took CPU time, as states around them show. Where some launches of a case were"
    " slowed and others were not, both figures are shown, if these are worse by 5 % or more.",
    find=find,
    origin="hardware",
    headline="launches were slowed by the hardware",
    sentence=sentence,
    action="Let it cool, raise the power limit, or use CPUs of its own; then measure again.",
    remedy=_sentences([*REMEDIES.values(), OTHERWISE]),
    sources=[
        Reference(
            Source(
                text="NVIDIA, NVML: reasons why clocks are held down",
                address="https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html",
            ),
            memory="device",
        ),
    ],
)
