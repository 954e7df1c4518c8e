# SPDX-License-Identifier: Apache-2.0
"""Every two alternatives side by side, in the blocks that both ran in, judged all together."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.grouping import grouped, present
from nearpeak.observations.observed import Block, Session
from nearpeak.results.blocks import sessions_of
from nearpeak.results.results import Cell, Comparison, CurveComparison, Judging, Unjudged
from nearpeak.statistics import verdicts
from nearpeak.statistics.blocks import blocks_needed
from nearpeak.statistics.comparisons import better_in
from nearpeak.terms.fingerprints import alike
from nearpeak.terms.identity import Who


class Pair(NamedTuple):
    """Two alternatives in all cases of a curve that both have blocks in common for."""

    cells: list[tuple[Cell, Cell]]
    blocks: list[Block]
    log_ratios: Floats  # cells x blocks, above 0: the second is better; nan: not both ran there

    @property
    def owners(self) -> tuple[Who, Who]:
        """The two alternatives."""
        first, second = self.cells[0]
        return first.who, second.who

    @property
    def two_modes(self) -> list[bool]:
        """True for each case where one cell has two modes that no recorded condition tells
        apart."""
        return [any(map(_unexplained, both)) for both in self.cells]

    @property
    def question(self) -> verdicts.Curve:
        """The curve to be judged."""
        return verdicts.Curve(self.log_ratios, self.cells[0][0].better, self.two_modes)


class Compared(NamedTuple):
    """The verdicts on all pairs."""

    sessions: frozenset[int]  # that all of it rests on
    cases: list[Comparison]
    curves: list[CurveComparison]
    judging: Judging


def compare(cells: Iterable[Cell], sessions: Sequence[Session]) -> Compared:
    """Every pair of alternatives in every curve. A rate of empty messages is not compared.

    All of it rests on sessions of one machine and software, and is about these sessions. Of several
    such groups (by --force) the one with the most blocks counts.
    """
    chosen = [c for c in cells if c.median is not None and (c.case.x > 0 or c.better == "lower")]
    counting = _alike(chosen, sessions)
    curves = grouped(
        (cell for cell in chosen if not counting.isdisjoint(sessions_of(cell.blocks))),
        lambda cell: (cell.place, cell.case.curve),
    )
    pairs: list[Pair | None] = []
    for curve in curves.values():
        rivals = grouped(curve, lambda cell: cell.who).values()
        pairs += [pair_of(*both, counting) for both in combinations(rivals, 2)]
    families = grouped(present(pairs), lambda pair: pair.owners)
    questions = [*map(_questions, families.values())]
    answers = chain.from_iterable(verdicts.judge(questions))
    judged = list(zip(chain.from_iterable(families.values()), answers, strict=True))
    return Compared(
        counting,
        [case for pair, answer in judged for case in _cases(pair, answer)],
        [_curve(pair, answer) for pair, answer in judged],
        _judging(list(families), questions),
    )


def _questions(pairs: Iterable[Pair]) -> list[verdicts.Curve]:
    return [pair.question for pair in pairs]


def _judging(pairs: list[tuple[Who, Who]], questions: list[list[verdicts.Curve]]) -> Judging:
    judged = verdicts.pairs_judged(questions)
    return Judging(
        blocks=verdicts.blocks_of(questions),
        blocks_needed=blocks_needed(len(pairs)) if pairs else 0,
        pairs=len(pairs),
        left_out=[Unjudged(first=first, second=second) for first, second in pairs[judged:]],
    )


def _alike(cells: Iterable[Cell], sessions: Sequence[Session]) -> frozenset[int]:
    """The sessions with fingerprints alike in which most was measured, the first of several."""
    measured = Counter(block.session for cell in cells for block in cell.blocks)
    groups = [frozenset(_with(first, sessions)) for first in sessions]
    return max(
        groups, key=lambda group: sum(measured[number] for number in group), default=frozenset()
    )


def _with(first: Session, sessions: Iterable[Session]) -> list[int]:
    """The numbers of a session and of all that are like it, and like one another: later ones may
    have more libraries, each of which is unchanged."""
    group = [first]
    for session in sessions:
        like_all = all(alike(session.fingerprint, member.fingerprint) for member in group)
        if session is not first and like_all:
            group.append(session)
    return [session.number for session in group]


def pair_of(
    first: Sequence[Cell], second: Sequence[Cell], sessions: Collection[int]
) -> Pair | None:
    """Two alternatives of one curve in the blocks of these sessions; None where they share none."""
    others = {cell.case: cell for cell in second}
    both = [(cell, others[cell.case]) for cell in first if cell.case in others]
    ratios = [(pair, by_block) for pair in both if (by_block := log_ratios(*pair, sessions))]
    if not ratios:
        return None
    pairs, rows = zip(*ratios, strict=True)
    blocks = sorted(set[Block]().union(*rows))
    table = np.full((len(rows), len(blocks)), np.nan)
    for number, row in enumerate(rows):
        table[number, [blocks.index(block) for block in row]] = [*row.values()]
    return Pair(list(pairs), blocks, table)


def log_ratios(first: Cell, second: Cell, sessions: Collection[int]) -> dict[Block, float]:
    """Logarithm of second / first in each block of these sessions that both ran in, turned so that
    above 0 is better."""
    ratios = better_in(second.by_block, first.by_block, first.better)
    return {b: float(np.log(ratio)) for b, ratio in ratios.items() if b.session in sessions}


def _unexplained(cell: Cell) -> bool:
    return bool(cell.modes) and not all(mode.conditions for mode in cell.modes)


def _cases(pair: Pair, judged: verdicts.Judged) -> list[Comparison]:
    return [
        Comparison(
            first=first.who,
            second=second.who,
            place=first.place,
            case=first.case,
            ratio=answer.comparison.ratio,
            ci95=answer.comparison.ci95,
            blocks=int(np.count_nonzero(~np.isnan(row))),
            p_value=answer.comparison.p_value,
            p_adjusted=answer.p_adjusted,
            verdict=answer.verdict,
        )
        for (first, second), row, answer in zip(
            pair.cells, pair.log_ratios, judged.sizes, strict=True
        )
    ]


def _curve(pair: Pair, judged: verdicts.Judged) -> CurveComparison:
    first, second = pair.cells[0]
    answer = judged.curve
    return CurveComparison(
        first=first.who,
        second=second.who,
        place=first.place,
        curve=first.case.curve,
        ratio=answer.comparison.ratio,
        ci95=answer.comparison.ci95,
        p_value=answer.comparison.p_value,
        p_adjusted=answer.p_adjusted,
        verdict=answer.verdict,
        counts=dict(Counter(size.verdict for size in judged.sizes)),
    )
