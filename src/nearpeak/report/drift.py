# SPDX-License-Identifier: Apache-2.0
"""Sentences about how the rates of paths changed from block to block."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from nearpeak.numbers import agreeing, count, listed, number, percent, size, span
from nearpeak.observations.observed import Block
from nearpeak.results.names import case
from nearpeak.results.results import Drift, Results
from nearpeak.statistics.levels import FEWEST_FOR_SCATTER

WHAT_TO_DO = (
    "Compare percentages of the ceiling, which are taken within blocks, rather than figures. More"
    " blocks tell which state of the machine is the usual one."
)
LEAST_SHOWN = 0.0005  # a smaller relative change is rounding


_MOVED = (
    "Where CPUs were at several distances (the time of a cache line there and back), a hypervisor"
    " moved them. Percentages of the ceiling are of launches and ceilings at the same distance:"
    " compare these."
)


def has_enough_blocks(drift: Drift) -> bool:
    """True if there are enough blocks to detect a change."""
    return len(drift.blocks) >= FEWEST_FOR_SCATTER


def sentences(results: Results) -> list[str]:
    """A line for each path that changed, then lines on the steady and on the unknown paths, then a
    line for each distance of CPUs that were moved, with an explanation."""
    changed = [drift for drift in results.drift if drift.changed]
    lines = [_sentence(drift) for drift in changed]
    steady = [drift for drift in results.drift if has_enough_blocks(drift) and not drift.changed]
    unknown = sum(not has_enough_blocks(drift) for drift in results.drift)
    if not changed and steady:
        lines += _steady(steady)
    if unknown:
        has = agreeing(unknown, "has", "have")
        paths = count(unknown, "path")
        lines.append(f"{paths} {has} fewer than {FEWEST_FOR_SCATTER} blocks: too few to tell.")
    moving = [line for drift in results.drift for line in _moving(drift)]
    return lines + moving + ([_MOVED] if moving else [])


def _steady(drifts: Sequence[Drift]) -> Iterator[str]:
    """Says that no change was seen, and which changes would be missed: on the path whose blocks
    scatter most, and in single ceilings."""
    text = f"{count(len(drifts), 'path')}: no change over time was seen."
    if limited := [drift for drift in drifts if drift.tells_from is not None]:
        least = max(limited, key=lambda drift: drift.tells_from or 0.0)
        place = f" on {least.place.path}" if len(drifts) > 1 else ""
        text += (
            f" A change of less than {unseen(least)}{place} would mostly be missed, as blocks"
            " differ so much."
        )
    yield text
    if noisy := [drift for drift in drifts if drift.widest is not None]:
        most = max(noisy, key=lambda drift: drift.widest or 0.0)
        if most.widest_case is not None:
            place = f"{most.place.path}, " if len(drifts) > 1 else ""
            yield (
                "Only what most ceilings of a path have in common is judged. The best and the worst"
                f" block of a single one differ by a factor of up to {number(most.widest)}"
                f" ({place}{case(most.widest_case)} at {size(most.widest_case.x)})."
            )


def unseen(drift: Drift) -> str:
    """`12.3 %`, `a factor of 6.10`: the smallest change that can be detected."""
    least = drift.tells_from or 0.0
    return f"{percent(least)} %" if least < 1 else f"a factor of {number(1 + least)}"


def strip(drift: Drift) -> list[tuple[str, bool]]:
    """The deviation of each block in %, and True for a block that changed."""
    return [
        (f"{round(100 * deviation, 1) + 0.0:+.1f}".replace("-", "−"), block in drift.changed)
        for block, deviation in zip(drift.blocks, drift.deviations, strict=True)
    ]


def block_words(blocks: Iterable[Block], all_blocks: Iterable[Block]) -> str:
    """`block 4`, `blocks 4 to 6`, `blocks 4 to 6 of session 2`, counted from 1."""
    ordered = sorted(all_blocks)
    sessions = dict.fromkeys(block.session for block in ordered)
    numbers: dict[int, list[int]] = defaultdict(list)
    for block in sorted(blocks):
        numbers[block.session].append(ordered.index(block))
    parts = []
    for session, places in numbers.items():
        names = [str(ordered[place].number + 1) for place in places]
        if len(names) > 2 and places[-1] - places[0] == len(places) - 1:
            text = f"{names[0]} to {names[-1]}"
        else:
            text = listed(names)
        whose = f" of session {session + 1}" if len(sessions) > 1 else ""
        parts.append(f"block{'s' if len(names) > 1 else ''} {text}{whose}")
    return " and ".join(parts)


def changed_words(drift: Drift) -> str:
    """`blocks 4 to 6 carried 20 % less than the others`; only for a path that changed."""
    step = drift.step or 0.0
    which = block_words(drift.changed, drift.blocks)
    session = drift.changed[0].session
    if drift.changed == [block for block in drift.blocks if block.session == session]:
        which = f"session {session + 1} ({block_words(drift.changed, drift.changed)})"
    moved = ", between CPUs that were mostly at another distance" if drift.moved else ""
    return f"{which} carried {_less_or_more(step)} than the others{moved}"


def _less_or_more(off: float) -> str:
    amount = f"{100 * abs(off):.1f}" if abs(off) >= LEAST_SHOWN else "0"
    return f"{amount} % {'less' if off < 0 else 'more'}"


def _span(low: float, high: float) -> str:
    """`single ceilings: from 3.0 % less to 40.0 % more`."""
    return f"single ceilings: from {_less_or_more(low)} to {_less_or_more(high)}"


def _sentence(drift: Drift) -> str:
    singles = f" ({_span(*drift.step_range)})" if drift.step_range else ""
    return f"{drift.place.path}: {changed_words(drift)}{singles}."


def _moving(drift: Drift) -> Iterator[str]:
    """A line for each distance of the CPUs: its blocks, and the rate of the path."""
    total = sum(len(distance.blocks) for distance in drift.distances)
    for distance in drift.distances:
        yield (
            f"{drift.place.path}: in {len(distance.blocks)} of {count(total, 'block')} its CPUs"
            f" were {span(*distance.ns, 'ns')} apart. It then carried"
            f" {_less_or_more(distance.deviation)} than in the median block"
            f" ({_span(*distance.range)})."
        )
