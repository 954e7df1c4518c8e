# SPDX-License-Identifier: Apache-2.0
"""What the paths carried from block to block, in words."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from nearpeak.numbers import count, listed, number, percent, size, span
from nearpeak.observations.observed import Block
from nearpeak.results.names import case
from nearpeak.results.results import Drift, Results
from nearpeak.statistics.levels import FEWEST_FOR_SCATTER

WHAT_TO_DO = (
    "Compare percentages of the ceiling, which are taken within blocks, rather than figures. More"
    " blocks tell which state of the machine is the usual one."
)
LEAST_TOLD = 0.0005  # of a change; less is rounding


_MOVED = (
    "Where CPUs were at several distances (the time of a cache line there and back), a hypervisor"
    " moved them. Percentages of the ceiling are of launches and ceilings at the same distance:"
    " compare these."
)


def told(drift: Drift) -> bool:
    """Whether there are enough blocks to tell a change."""
    return len(drift.blocks) >= FEWEST_FOR_SCATTER


def sentences(results: Results) -> list[str]:
    """A line for each path that changed, what is to be said of the others, a line for each distance
    of CPUs that were at several, and what these mean."""
    changed = [drift for drift in results.drift if drift.changed]
    lines = [_sentence(drift) for drift in changed]
    steady = [drift for drift in results.drift if told(drift) and not drift.changed]
    unknown = sum(not told(drift) for drift in results.drift)
    if not changed and steady:
        lines += _steady(steady)
    if unknown:
        has = "has" if unknown == 1 else "have"
        paths = count(unknown, "path")
        lines.append(f"{paths} {has} fewer than {FEWEST_FOR_SCATTER} blocks: too few to tell.")
    moving = [line for drift in results.drift for line in _moving(drift)]
    return lines + moving + ([_MOVED] if moving else [])


def _steady(found: Sequence[Drift]) -> Iterator[str]:
    """That no change was seen, and which ones could not have been: on the path where blocks scatter
    most, and in single ceilings."""
    text = f"{count(len(found), 'path')}: no change over time was seen."
    if known := [drift for drift in found if drift.tells_from is not None]:
        least = max(known, key=lambda drift: drift.tells_from or 0.0)
        where = f" on {least.place.path}" if len(found) > 1 else ""
        text += (
            f" A change of less than {unseen(least)}{where} would mostly be missed, as blocks"
            " differ so much."
        )
    yield text
    if loud := [drift for drift in found if drift.widest is not None]:
        most = max(loud, key=lambda drift: drift.widest or 0.0)
        if most.widest_case is not None:
            where = f"{most.place.path}, " if len(found) > 1 else ""
            yield (
                "Only what most ceilings of a path have in common is judged. The best and the worst"
                f" block of a single one differ by a factor of up to {number(most.widest)}"
                f" ({where}{case(most.widest_case)} at {size(most.widest_case.x)})."
            )


def unseen(drift: Drift) -> str:
    """`12.3 %`, `a factor of 6.10`: the least step that can be told."""
    least = drift.tells_from or 0.0
    return f"{percent(least)} %" if least < 1 else f"a factor of {number(1 + least)}"


def strip(drift: Drift) -> list[tuple[str, bool]]:
    """The deviation of each block in %, and whether it is one of those that changed."""
    return [
        (f"{round(100 * deviation, 1) + 0.0:+.1f}".replace("-", "−"), block in drift.changed)
        for block, deviation in zip(drift.blocks, drift.deviations, strict=True)
    ]


def block_words(blocks: Iterable[Block], of: Iterable[Block]) -> str:
    """`block 4`, `blocks 4 to 6`, `blocks 4 to 6 of session 2`, counted from 1 as people do."""
    everything = sorted(of)
    sessions = dict.fromkeys(block.session for block in everything)
    numbers: dict[int, list[int]] = defaultdict(list)
    for block in sorted(blocks):
        numbers[block.session].append(everything.index(block))
    parts = []
    for session, places in numbers.items():
        names = [str(everything[place].number + 1) for place in places]
        if len(names) > 2 and places[-1] - places[0] == len(places) - 1:
            words = f"{names[0]} to {names[-1]}"
        else:
            words = listed(names)
        whose = f" of session {session + 1}" if len(sessions) > 1 else ""
        parts.append(f"block{'s' if len(names) > 1 else ''} {words}{whose}")
    return " and ".join(parts)


def changed_words(drift: Drift) -> str:
    """`blocks 4 to 6 carried 20 % less than the others`; of a path that changed."""
    step = drift.step or 0.0
    which = block_words(drift.changed, drift.blocks)
    session = drift.changed[0].session
    if drift.changed == [block for block in drift.blocks if block.session == session]:
        which = f"session {session + 1} ({block_words(drift.changed, drift.changed)})"
    moved = ", between CPUs that were mostly at another distance" if drift.moved else ""
    return f"{which} carried {_less_or_more(step)} than the others{moved}"


def _less_or_more(off: float) -> str:
    told = f"{100 * abs(off):.1f}" if abs(off) >= LEAST_TOLD else "0"
    return f"{told} % {'less' if off < 0 else 'more'}"


def _span(low: float, high: float) -> str:
    """`single ceilings: from 3.0 % less to 40.0 % more`."""
    return f"single ceilings: from {_less_or_more(low)} to {_less_or_more(high)}"


def _sentence(drift: Drift) -> str:
    singles = f" ({_span(*drift.step_range)})" if drift.step_range else ""
    return f"{drift.place.path}: {changed_words(drift)}{singles}."


def _moving(drift: Drift) -> Iterator[str]:
    """At which distances the CPUs were, and what the path carried there: a line for each."""
    known = sum(len(each.blocks) for each in drift.distances)
    for each in drift.distances:
        yield (
            f"{drift.place.path}: in {len(each.blocks)} of {count(known, 'block')} its CPUs were"
            f" {span(*each.ns, 'ns')} apart. It then carried {_less_or_more(each.deviation)} than"
            f" in the median block ({_span(*each.range)})."
        )
