# SPDX-License-Identifier: Apache-2.0
"""Simulates `nearpeak compare`: how often it errs and finds: the table of docs/compare.md.

Usage: python benchmarks/compare_power.py

One library on 2 places, 3 curves of 8 sizes each, 6 launches a session. Half the variance of a
launch is shared by all its sizes; half of that of a session by all curves, half is of each curve's
own. The library loses nothing, 10 % everywhere, or 10 % on a single curve of one place. Nothing is
measured; the seed is fixed.
"""

from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.statistics.sides import Columns, Group, judge
from nearpeak.statistics.verdicts import SLOWER, Verdict

STUDIES = 100
PLACES, CURVES, SIZES, LAUNCHES = 2, 3, 8, 6
TOLERANCE = 0.05
LOSS = -np.log(1.1)
SESSIONS = ((1, 1), (2, 2), (3, 3), (5, 5), (10, 1))
LAUNCH_SCATTER = (0.03, 0.1, 0.2)
SESSION_SCATTER = (0.0, 0.02, 0.05)


class Counted(NamedTuple):
    """Of one comparison."""

    judged: bool  # anything is called slower
    cells: float  # the share of sizes that are
    regressed: bool  # anything is called slower, and loses more than the tolerance


def columns(old: int, new: int) -> Columns:
    """So many sessions of each side."""
    sessions = np.repeat(np.arange(old + new), LAUNCHES)
    return Columns(sessions, np.arange(old + new) >= old)


def draw(generator: np.random.Generator, heavy: bool, size: tuple[int, ...]) -> Floats:
    """Noise of deviation 1: normal, or of Student's t with 3 degrees of freedom."""
    if heavy:
        return np.asarray(generator.standard_t(3, size) / np.sqrt(3))
    return np.asarray(generator.normal(0, 1, size))


def groups(
    generator: np.random.Generator,
    where: Columns,
    scatter: tuple[float, float],
    loss: Floats,
    heavy: bool,
) -> list[Group]:
    """One comparison. `scatter`: of launches and sessions; `loss`: of each curve of each place."""
    launch, session = scatter
    count, launches = len(where.new), len(where.sessions)
    common = session * np.sqrt(0.5) * generator.normal(0, 1, count)
    found = []
    for place in range(PLACES):
        curves = []
        for curve in range(CURVES):
            own = session * np.sqrt(0.5) * generator.normal(0, 1, count)
            of_sessions = (common + own + loss[place, curve] * where.new)[where.sessions]
            shared = draw(generator, heavy, (1, launches))
            each = draw(generator, heavy, (SIZES, launches))
            curves.append(of_sessions + launch * np.sqrt(0.5) * (shared + each))
        found.append(Group(curves, where))
    return found


def count(found: list[Group]) -> Counted:
    """Judges it."""
    verdicts: list[Verdict] = []
    sizes: list[bool] = []
    for group in judge(found, TOLERANCE):
        verdicts.append(group.group)
        for curve in group.curves:
            verdicts += [curve.curve, *curve.sizes]
            sizes += [size.verdict == SLOWER for size in curve.sizes]
    slower = [one for one in verdicts if one.verdict == SLOWER]
    beyond = [one for one in slower if one.comparison.ratio < 1 / (1 + TOLERANCE)]
    return Counted(bool(slower), float(np.mean(sizes)), bool(beyond))


def row(sessions: tuple[int, int], scatter: tuple[float, float], heavy: bool) -> str:
    """One row of the table."""
    generator = np.random.default_rng(1)
    where = columns(*sessions)
    nothing = np.zeros((PLACES, CURVES))
    single = nothing.copy()
    single[0, 0] = LOSS
    shares = []
    for loss in (nothing, nothing + LOSS, single):
        counted = [count(groups(generator, where, scatter, loss, heavy)) for _ in range(STUDIES)]
        shares.append(100 * np.array(counted, dtype=float).mean(axis=0))
    alike, everywhere, one = shares
    launch, session = scatter
    kind = ", heavy tails" if heavy else ""
    return (
        f"| {sessions[0]} + {sessions[1]} | {100 * launch:.0f} %{kind} | {100 * session:.0f} %"
        f" | {alike[0]:.1f} % | {alike[1]:.2f} % | {alike[2]:.1f} %"
        f" | {everywhere[2]:.0f} % | {one[2]:.0f} % |"
    )


def main() -> None:
    """Prints the table."""
    print(
        "| Sessions | Launches scatter | Sessions scatter | Alike: slower | cells | status 1"
        " | 10 % lost everywhere: status 1 | on one curve of six: status 1 |"
    )
    print("|---|---|---|---|---|---|---|---|")
    rows = [
        (sessions, launch, heavy)
        for heavy in (False, True)
        for sessions in (((3, 3),) if heavy else SESSIONS)
        for launch in ((0.1,) if heavy else LAUNCH_SCATTER)
    ]
    for sessions, launch, heavy in rows:
        for session in SESSION_SCATTER:
            print(row(sessions, (launch, session), heavy), flush=True)


if __name__ == "__main__":
    main()
