# SPDX-License-Identifier: Apache-2.0
"""Launches while a CPU or a GPU was held down: too hot, out of power, or taken by others."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from statistics import median

from nearpeak.findings.evidence import Noticed, Rule, View, summed
from nearpeak.observations.observed import Block
from nearpeak.results.results import Cell, Fact, Source
from nearpeak.statistics.comparisons import better_by
from nearpeak.terms.identity import Place, Who

FEWEST = 2  # launches of either kind that a figure of them takes

Held = Mapping[Block, tuple[str, ...]]


def find(view: View) -> Iterator[Noticed]:
    """One for each library and path, with the figures of the case that was hit most."""
    held: dict[tuple[Who, Place], dict[Block, tuple[str, ...]]] = defaultdict(dict)
    for launch in view.launches:
        held[launch.who, launch.place][launch.block] = launch.held_down
    for (who, place), blocks in held.items():
        reasons = Counter(reason for why in blocks.values() for reason in why)
        if not reasons:
            continue
        facts = [
            Fact(of="slowed", name=reason, value=f"of {len(blocks)} launches", launches=number)
            for reason, number in sorted(reasons.items())
        ]
        hit = [
            (cell, parted)
            for cell in view.unstaged
            if (cell.who, cell.place) == (who, place)
            and min(map(len, parted := _parted(cell, blocks))) >= FEWEST
        ]
        if not hit:
            yield Noticed(facts, who, place)
            continue
        cell, parted = max(hit, key=lambda each: _slower(*each))
        evidence = [summed("own", cell, parted[0]), summed("alternative", cell, parted[1])]
        yield Noticed(facts, who, place, cell.case, evidence, command=cell.command)


def _parted(cell: Cell, held: Held) -> tuple[list[Block], list[Block]]:
    """Its blocks with something held down, and the others."""
    down = [block for block in cell.blocks if held.get(block)]
    return down, [block for block in cell.blocks if not held.get(block)]


def _slower(cell: Cell, parted: tuple[list[Block], list[Block]]) -> float:
    """How many times better it was without."""
    down, free = (median(cell.by_block[block] for block in blocks) for blocks in parted)
    return better_by(free, down, cell.better)


RULE = Rule(
    name="throttled",
    tells="While launches ran, a core, a package or a GPU was too hot, a GPU out of power, or a"
    " hypervisor took CPU time, as states around them show. Where some launches of a case were"
    " slowed and others were not, both figures are shown.",
    find=find,
    remedy="Let it cool, raise the power limit (nvidia-smi -q -d PERFORMANCE,POWER), or use a"
    " machine with CPUs of its own; then measure again.",
    sources=[
        Source(
            text="NVIDIA, NVML: reasons why clocks are held down",
            address="https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html",
        ),
    ],
)
