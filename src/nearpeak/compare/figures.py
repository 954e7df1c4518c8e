# SPDX-License-Identifier: Apache-2.0
"""Figures of one side of a comparison, by case and launch."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nearpeak.compare.load import Study
from nearpeak.grouping import collected
from nearpeak.results import reference
from nearpeak.results.ceilings import Ceilings
from nearpeak.results.results import CeilingPoint, Cell
from nearpeak.statistics.comparisons import better_in
from nearpeak.statistics.sessions import sessions_with_enough_launches
from nearpeak.terms.benchmarks import Better, x_unit
from nearpeak.terms.identity import CEILING, Case, Place, Who

Key = tuple[Who, Place, Case]
Owner = tuple[Who, Place]


class Launch(NamedTuple):
    """The session and block of a measurement."""

    session: int  # index into Compared.sessions
    block: int


class Kind(NamedTuple):
    """The properties that two figures must have in common to be compared."""

    unit: str
    x_unit: str
    better: Better
    window: int | None  # messages in flight; of a ceiling: None


class Figures(NamedTuple):
    """One case on one side."""

    kinds: set[Kind]
    values: dict[Launch, float]  # launch medians, all above 0
    of_ceiling: dict[Launch, float]  # the same as fractions of the ceiling
    ceilings: set[Case]  # of these fractions
    distances: dict[Launch, float]  # how far apart the ranks' CPUs were, in ns, where known

    @classmethod
    def none(cls) -> "Figures":
        """Returns empty figures."""
        return cls(set(), {}, {}, set(), {})


class Both(NamedTuple):
    """One case that both sides measured alike."""

    case: Case
    kind: Kind
    old: Figures
    new: Figures
    # How it was brought to one distance of the CPUs (statistics.strata.Levelled).
    alone: bool = True
    effects: int = 0
    blur: float = 0.0

    @property
    def values(self) -> dict[Launch, float]:
        """The launch medians of both sides."""
        return {**self.old.values, **self.new.values}


def gather(studies: Sequence[Study], numbers: Mapping[tuple[int, int], int]) -> dict[Key, Figures]:
    """Gathers all figures of the studies of a side, with ceilings. A rate of empty messages is left
    out.

    `numbers`: of each study (its index) and session of it, the number in `Launch`.
    """
    gathered: dict[Key, Figures] = defaultdict(Figures.none)
    by_study = collected((index, (session, n)) for (index, session), n in numbers.items())
    for index, study in enumerate(studies):
        session_numbers = dict(by_study.get(index, []))
        ceilings = Ceilings(study.results.ceilings)
        for cell in study.results.timed:
            if cell.median is None or (cell.case.x == 0 and cell.better == "higher"):
                continue
            figures = gathered[cell.who, cell.place, cell.case]
            axis_unit = x_unit(study.results.benchmarks, cell.case.benchmark)
            figures.kinds.add(Kind(cell.unit, axis_unit, cell.better, cell.window))
            _add(figures, cell, session_numbers)
            ceiling = ceilings.point(cell.place, cell.case)
            if ceiling is not None and cell.ceiling is not None:
                _add_fractions(figures, cell, ceiling, session_numbers)
        for point in study.results.ceilings:
            if not point.fact and point.kind == "measured":
                figures = gathered[CEILING, point.place, point.case]
                figures.kinds.add(Kind(point.unit, "B", point.better, None))
                _add(figures, point, session_numbers)
    for figures in gathered.values():
        leave_out_short_sessions(figures)
    return {key: figures for key, figures in gathered.items() if figures.values}


def leave_out_short_sessions(figures: Figures) -> None:
    """Leaves out sessions that ended too early for a median, if there is another one: each session
    counts once."""
    sessions = [launch.session for launch in figures.values]
    tells = set(sessions_with_enough_launches(sessions).tolist())
    if not tells:
        return
    for kept in (figures.values, figures.of_ceiling, figures.distances):
        for launch in [launch for launch in kept if launch.session not in tells]:
            del kept[launch]


def _add(figures: Figures, cell: Cell | CeilingPoint, sessions: Mapping[int, int]) -> None:
    """Adds the figures of a case."""
    launches = {block: Launch(sessions[block.session], block.number) for block in cell.blocks}
    figures.values.update((launches[block], v) for block, v in cell.by_block.items() if v > 0)
    for block, distance in zip(cell.blocks, cell.cache_line_ns, strict=True):
        if distance is not None:
            figures.distances[launches[block]] = distance


def _add_fractions(
    figures: Figures, cell: Cell, ceiling: CeilingPoint, sessions: Mapping[int, int]
) -> None:
    """Adds the fractions of the ceiling in the blocks that have them."""
    fractions = better_in(cell.by_block, reference.against(cell, ceiling)[0], cell.better)
    for block, fraction in fractions.items():
        figures.of_ceiling[Launch(sessions[block.session], block.number)] = fraction
    figures.ceilings.add(ceiling.case)
