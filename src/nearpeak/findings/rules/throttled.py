# SPDX-License-Identifier: Apache-2.0
"""Launches while a CPU or a GPU was held down: too hot, out of power, or taken by others."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Set
from statistics import median

from nearpeak.findings.evidence import Noticed, Rule, View, summed
from nearpeak.findings.sources import Reference
from nearpeak.observations.observed import Block, Launch
from nearpeak.results.results import Cell, Fact, Source
from nearpeak.statistics.comparisons import better_by
from nearpeak.terms.identity import Case, Place, Who

FEWEST = 2  # blocks of either kind that a figure of them takes
LEAST = 1.05  # times slower, that a figure is shown for

AGAIN = "Then measure again."
# By what is in the name of a reason.
REMEDIES = {
    "too hot": "let what is too hot cool",
    "power": "raise the power limit of the GPU (nvidia-smi -q -d PERFORMANCE,POWER)",
    "stolen": "use a machine with CPUs of its own",
}
OTHERWISE = "have the GPU looked at (nvidia-smi -q -d PERFORMANCE,ECC)"

Slowed = Set[tuple[Who, Place, Case, Block]]


def find(view: View) -> Iterator[Noticed]:
    """One for each library and path, with the figures of the case that was hit most."""
    launches: dict[tuple[Who, Place], list[Launch]] = defaultdict(list)
    for launch in view.launches:
        launches[launch.who, launch.place].append(launch)
    # Of a block there may be several launches, each with cases of its own.
    slowed = {
        (launch.who, launch.place, observed.case, launch.block)
        for observed in view.observations.observed
        if (launch := observed.launch).held_down
    }
    for (who, place), own in launches.items():
        reasons = Counter(reason for launch in own for reason in launch.held_down)
        if not reasons:
            continue
        facts = [
            Fact(of="slowed", name=reason, value=f"of {len(own)} launches", launches=number)
            for reason, number in sorted(reasons.items())
        ]
        hit = [
            (cell, parted)
            for cell in view.unstaged
            if (cell.who, cell.place) == (who, place)
            and min(map(len, parted := _parted(cell, slowed))) >= FEWEST
        ]
        hit = [each for each in hit if _slower(*each) > LEAST]
        if not hit:
            yield Noticed(facts, who, place, remedy=_remedy(reasons))
            continue
        cell, parted = max(hit, key=lambda each: _slower(*each))
        evidence = [summed("own", cell, parted[0]), summed("alternative", cell, parted[1])]
        yield Noticed(facts, who, place, cell.case, evidence, cell.command, remedy=_remedy(reasons))


def _remedy(reasons: Iterable[str]) -> str:
    """What to do about these, each once."""
    found = dict.fromkeys(
        next((words for part, words in REMEDIES.items() if part in reason), OTHERWISE)
        for reason in sorted(reasons)
    )
    return _sentences(found)


def _sentences(words: Iterable[str]) -> str:
    text = "; ".join(words)
    return f"{text[0].upper()}{text[1:]}. {AGAIN}"


def _parted(cell: Cell, slowed: Slowed) -> tuple[list[Block], list[Block]]:
    """Its blocks in which it was measured with something held down, and the others."""
    down = [block for block in cell.blocks if (cell.who, cell.place, cell.case, block) in slowed]
    return down, [block for block in cell.blocks if block not in down]


def _slower(cell: Cell, parted: tuple[list[Block], list[Block]]) -> float:
    """How many times better it was without."""
    down, free = (median(cell.by_block[block] for block in blocks) for blocks in parted)
    return better_by(free, down, cell.better)


RULE = Rule(
    name="throttled",
    tells="While launches ran, a core, a package or a GPU was too hot, a GPU out of power, or a"
    " hypervisor took CPU time, as states around them show. Where some launches of a case were"
    " slowed and others were not, both figures are shown, if these are worse by 5 % or more.",
    find=find,
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
