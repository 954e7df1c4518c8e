# SPDX-License-Identifier: Apache-2.0
"""Simulates `nearpeak compare`: how often it errs and finds. benchmarks/RESULTS.md has its tables.

Usage: python benchmarks/compare_power.py [smallest | same | two | change | hand]

One library on 2 places, 3 curves of 8 sizes each, 6 launches a session. Half the variance of a
launch is shared by all its sizes; half of that of a session by all curves, half is of each curve's
own. The library loses nothing, 10 % everywhere, or 10 % on a single curve of one place. In the
second table the CPUs of some launches are far from each other, which takes each curve 1.6 to 2.5
times as long; in the third table a change does something else there than where CPUs are near. The
smallest comparison, in which no other question takes anything from the error
rate, is of one size of one library, with or without its ceiling beside it; half the variance of a
session is then shared by both. The last table has a limit by hand: any of the 48 sizes is 10 %
slower in the mean of the new sessions than in that of the old ones. Nothing is measured; the seed
is fixed.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Booleans, Floats, Indices
from nearpeak.statistics.session_t_test import Columns, Group, judge
from nearpeak.statistics.strata import level, strata
from nearpeak.statistics.verdicts import FASTER, SLOWER, Verdict

STUDIES = 100
PLACES, CURVES, SIZES, LAUNCHES = 2, 3, 8, 6
TOLERANCE = 0.05
CALLED = (FASTER, SLOWER)
LOSS = -np.log(1.1)
SESSIONS = ((1, 1), (2, 2), (3, 3), (5, 5))
LAUNCH_SCATTER = (0.03, 0.1)
SESSION_SCATTER = (0.0, 0.02, 0.05, 0.1, 0.2)
HEAVY_SESSION_SCATTER = SESSION_SCATTER[:4]  # where launches have heavy tails
NEAR_NS, FAR_NS, SCATTER_NS = 60.0, 300.0, 0.1  # between CPUs; the last one relative
FARTHER = np.log(1.6), np.log(2.5)  # what a curve loses where CPUs are far: between these
# Of the second table: the share of launches with far CPUs, on the old side and on the new one.
FAR = ((0.3, 0.3), (0.1, 0.5))
FAR_ROWS = (((3, 3), 0.03), ((3, 3), 0.1), ((2, 2), 0.1), ((5, 5), 0.1))  # sessions, scatter

# Of the third table: how many times as fast launches with near CPUs become, and with far ones.
CHANGES = ((1.0, 1.0), (3.7, 1.5), (1.0, 0.67), (0.9, 0.9))
CHANGED_ROWS = (((3, 3), 0.03), ((3, 3), 0.1))  # sessions, scatter
CHANGED_STUDIES = 300

# Of the table of a limit by hand.
HAND_SESSIONS, HAND_LOSSES, HAND_STUDIES = ((3, 3), (5, 5)), (1.0, 1.1, 1.3), 200

# Of the smallest comparison.
SMALLEST = ((1, 1), (2, 2), (3, 3), (5, 5), (1, 3), (10, 1))  # sessions
SMALLEST_SCATTER = ((0.03, 0.02), (0.03, 0.05), (0.03, 0.1), (0.03, 0.2))  # launch, session
# Losses, and how many are simulated.
SMALLEST_LOSS = ((0.0, 1500), (-np.log(1.1), 200), (-np.log(1.5), 200))


class Counted(NamedTuple):
    """Of one comparison."""

    called: bool  # anything is called faster or slower
    judged: bool  # anything is called slower
    cells: float  # the share of sizes that are
    regressed: bool  # anything is called slower, and loses more than the tolerance


def columns(old: int, new: int) -> Columns:
    """So many sessions of each side."""
    sessions = np.repeat(np.arange(old + new), LAUNCHES)
    return Columns(sessions, np.arange(old + new) >= old)


class Scatter(NamedTuple):
    """Of launches and sessions, and the share of launches with far CPUs on either side."""

    launch: float
    session: float
    heavy: bool = False
    far: tuple[float, float] = (0.0, 0.0)
    told_apart: bool = True  # far CPUs, as `compare` does


def draw(generator: np.random.Generator, heavy: bool, size: tuple[int, ...]) -> Floats:
    """Noise of deviation 1: normal, or of Student's t with 3 degrees of freedom."""
    if heavy:
        return np.asarray(generator.standard_t(3, size) / np.sqrt(3))
    return np.asarray(generator.normal(0, 1, size))


def groups(
    generator: np.random.Generator,
    placing: np.random.Generator,
    where: Columns,
    scatter: Scatter,
    loss: Floats,
) -> list[Group]:
    """One comparison. `loss`: of each curve of each place; `placing` draws where CPUs are."""
    count, launches = len(where.new), len(where.sessions)
    common = scatter.session * np.sqrt(0.5) * generator.normal(0, 1, count)
    found = []
    for place in range(PLACES):
        far = placing.random(launches) < np.take(scatter.far, where.new[where.sessions])
        distances = np.where(far, FAR_NS, NEAR_NS)
        distances *= np.exp(placing.normal(0, SCATTER_NS, launches))
        curves = []
        for curve in range(CURVES):
            own = scatter.session * np.sqrt(0.5) * generator.normal(0, 1, count)
            of_sessions = (common + own + loss[place, curve] * where.new)[where.sessions]
            shared = draw(generator, scatter.heavy, (1, launches))
            each = draw(generator, scatter.heavy, (SIZES, launches))
            farther = -placing.uniform(*FARTHER) * far
            noise = scatter.launch * np.sqrt(0.5) * (shared + each)
            curves.append(of_sessions + farther + noise)
        if scatter.told_apart:
            found.append(levelled(curves, where, strata(distances.tolist())))
        else:
            found.append(Group(curves, where))
    return found


def levelled(curves: list[Floats], where: Columns, of: Indices) -> Group:
    """At one distance, as compare.distances does it."""
    new = where.new[where.sessions]
    sides = [np.bincount(of[new == side], minlength=of.max() + 1) for side in (False, True)]
    at = int(np.argmax(np.min(sides, axis=0)))
    found = [[level(row, where.sessions, of, new, at) for row in curve] for curve in curves]
    effects = max(one.effects for curve in found for one in curve)
    blur = max(one.blur for curve in found for one in curve)
    rows = [np.array([one.logarithms for one in curve]) for curve in found]
    return Group(rows, where._replace(effects=effects, blur=blur))


def count(found: list[Group]) -> Counted:
    """Judges it."""
    verdicts: list[Verdict] = []
    sizes: list[bool] = []
    for group in judge(found, TOLERANCE):
        verdicts.append(group.group)
        for curve in group.curves:
            verdicts += [curve.curve, *curve.sizes]
            sizes += [size.verdict == SLOWER for size in curve.sizes]
    slower = [verdict for verdict in verdicts if verdict.verdict == SLOWER]
    beyond = [verdict for verdict in slower if verdict.comparison.ratio < 1 / (1 + TOLERANCE)]
    called = any(verdict.verdict in (FASTER, SLOWER) for verdict in verdicts)
    return Counted(called, bool(slower), float(np.mean(sizes)), bool(beyond))


def row(sessions: tuple[int, int], scatter: Scatter) -> str:
    """One row of a table."""
    generator, placing = np.random.default_rng(1), np.random.default_rng(2)
    where = columns(*sessions)
    nothing = np.zeros((PLACES, CURVES))
    single = nothing.copy()
    single[0, 0] = LOSS
    shares = []
    for loss in (nothing, nothing + LOSS, single):
        counted = [count(groups(generator, placing, where, scatter, loss)) for _ in range(STUDIES)]
        shares.append(100 * np.array(counted, dtype=float).mean(axis=0))
    alike, everywhere, known = (np.array(of[1:]) for of in shares)
    kind = ", heavy tails" if scatter.heavy else ""
    told = "" if scatter.told_apart else ", not told apart"
    far = " and ".join(f"{100 * share:.0f} %" for share in scatter.far) + told
    return (
        f"| {sessions[0]} + {sessions[1]} | {100 * scatter.launch:.0f} %{kind}"
        f" | {100 * scatter.session:.0f} % |"
        + (f" {far} |" if any(scatter.far) else "")
        + f" {alike[0]:.1f} % | {alike[1]:.2f} % | {alike[2]:.1f} %"
        f" | {everywhere[2]:.0f} % | {known[2]:.0f} % |"
    )


def head(far: bool) -> str:
    """Of a table."""
    names = ["Sessions", "Launches scatter", "Sessions scatter"]
    names += ["Far launches, old and new"] if far else []
    names += ["Alike: slower", "cells", "status 1", "10 % lost everywhere: status 1"]
    names += ["on one curve of six: status 1"]
    return f"| {' | '.join(names)} |\n|{'---|' * len(names)}"


def same_distance() -> None:
    """All launches with CPUs at one distance."""
    print(head(far=False))
    for heavy in (False, True):
        for sessions in ((3, 3),) if heavy else SESSIONS:
            for launch in (0.1,) if heavy else LAUNCH_SCATTER:
                for session in HEAVY_SESSION_SCATTER if heavy else SESSION_SCATTER:
                    print(row(sessions, Scatter(launch, session, heavy)), flush=True)


def two_distances() -> None:
    """Some launches with CPUs far from each other, at each place its own."""
    print(head(far=True))
    for told_apart in (True, False):
        for far in FAR:
            for sessions, launch in FAR_ROWS if told_apart else FAR_ROWS[:1]:
                scatter = Scatter(launch, 0.02, far=far, told_apart=told_apart)
                print(row(sessions, scatter), flush=True)


def changed_row(
    sessions: tuple[int, int], launch: float, far: tuple[float, float], change: tuple[float, float]
) -> str:
    """One row of the table of changes that depend on the distance: one size of one library."""
    generator = np.random.default_rng(1)
    where = columns(*sessions)
    new = where.new[where.sessions]
    ratios, covers, verdicts = [], [], []
    for _ in range(CHANGED_STUDIES):
        is_far = generator.random(len(new)) < np.take(far, new)
        of_sessions = 0.02 * generator.normal(0, 1, len(where.new))
        row = of_sessions[where.sessions] + launch * generator.normal(0, 1, len(new))
        row -= generator.uniform(*FARTHER) * is_far
        row += np.where(new, np.where(is_far, *np.log(change[::-1])), 0.0)
        [found] = judge([levelled([row[None, :]], where, strata_of(is_far))], TOLERANCE)
        comparison = found.group.comparison
        ratios.append(comparison.ratio)
        ci95 = comparison.ci95
        covers.append(ci95 is not None and ci95[0] <= change[0] <= ci95[1])
        verdicts.append(found.group.verdict)
    called = [f"{100 * np.mean([one == word for one in verdicts]):.1f} %" for word in CALLED]
    return (
        f"| {sessions[0]} + {sessions[1]} | {100 * launch:.0f} %"
        f" | {' and '.join(f'{100 * share:.0f} %' for share in far)}"
        f" | {change[0]:g} and {change[1]:g} | {np.median(ratios):.3g}"
        f" | {100 * np.mean(covers):.1f} % | {' | '.join(called)} |"
    )


def strata_of(is_far: Booleans) -> Indices:
    """Of launches at two distances."""
    return strata(np.where(is_far, FAR_NS, NEAR_NS).tolist())


def changed_comparison() -> None:
    """A change that does something else where CPUs are far."""
    names = ["Sessions", "Launches scatter", "Far launches, old and new", "Change, near and far"]
    names += ["new/old", "95 % interval has it", *(f"Called {word}" for word in CALLED)]
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}")
    for sessions, launch in CHANGED_ROWS:
        for far in FAR:
            for change in CHANGES:
                print(changed_row(sessions, launch, far, change), flush=True)


def smallest(
    generator: np.random.Generator, where: Columns, scatter: Scatter, loss: float, *, ceiling: bool
) -> list[Group]:
    """One size of a library, with its ceiling or without."""
    common = np.sqrt(0.5) * generator.normal(0, 1, len(where.new))

    def row() -> Floats:
        own = np.sqrt(0.5) * generator.normal(0, 1, len(where.new))
        of_sessions = scatter.session * (common + own)[where.sessions]
        noise = scatter.launch * generator.normal(0, 1, len(of_sessions))
        return np.asarray(of_sessions + noise)[None, :]

    library = row() + loss * where.new[where.sessions]
    if not ceiling:
        return [Group([library], where)]
    beside = row()
    return [Group([library], where, [library - beside]), Group([beside], where)]


def smallest_row(sessions: tuple[int, int], scatter: Scatter) -> str:
    """One row of the table of the smallest comparison."""
    generator = np.random.default_rng(1)
    where = columns(*sessions)
    shares = []
    for ceiling in (True, False):
        for loss, studies in SMALLEST_LOSS:
            draws = [
                count(smallest(generator, where, scatter, loss, ceiling=ceiling))
                for _ in range(studies)
            ]
            found = 100 * np.mean([draw.regressed for draw in draws])
            called = 100 * np.mean([draw.called for draw in draws])
            shares.append(f"{found:.0f} %" if loss else f"{found:.1f} / {called:.1f} %")
    scattering = f"{100 * scatter.launch:.0f} % | {100 * scatter.session:.0f} %"
    return f"| {sessions[0]} + {sessions[1]} | {scattering} | {' | '.join(shares)} |"


def smallest_comparison() -> None:
    """One size of one library: the share of comparisons with status 1, and where nothing differs
    also of those that call anything faster or slower."""
    losses = ["Alike", "10 % slower", "50 % slower"]
    names = ["Sessions", "Launches scatter", "Sessions scatter"]
    names += [f"{loss}{kind}" for kind in ("", ", no ceiling") for loss in losses]
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}")
    asked = [(smallest, Scatter(*scatter)) for smallest in SMALLEST for scatter in SMALLEST_SCATTER]
    with ProcessPoolExecutor() as pool:
        for line in pool.map(smallest_row, *zip(*asked, strict=True)):
            print(line, flush=True)


def hand_row(sessions: tuple[int, int], scatter: float) -> str:
    """One row of the table of a limit by hand: exit status 1, and the limit passed, without a loss
    and with losses everywhere."""
    generator, placing = np.random.default_rng(1), np.random.default_rng(2)
    where = columns(*sessions)
    new = where.new[where.sessions]
    shares = []
    for loss in HAND_LOSSES:
        passed, regressed = 0, 0
        for _ in range(HAND_STUDIES):
            lost = np.full((PLACES, CURVES), -np.log(loss))
            drawn = groups(generator, placing, where, Scatter(LAUNCH_SCATTER[0], scatter), lost)
            sizes = np.concatenate([curve for group in drawn for curve in group.curves])
            change = sizes[:, new].mean(axis=1) - sizes[:, ~new].mean(axis=1)
            passed += bool((change < -np.log(1.1)).any())
            regressed += count(drawn).regressed
        shares += [f"{100 * found / HAND_STUDIES:.0f} %" for found in (regressed, passed)]
    return f"| {sessions[0]} + {sessions[1]} | {100 * scatter:.0f} % | {' | '.join(shares)} |"


def by_hand() -> None:
    """Prints how `compare` and a limit by hand judge the same comparisons."""
    names = ["Sessions", "Sessions scatter"]
    names += [
        f"{'Alike' if loss == 1 else f'{100 * (loss - 1):.0f} % lost'}: {judge}"
        for loss in HAND_LOSSES
        for judge in ("compare", "by hand")
    ]
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}")
    asked = [(sessions, scatter) for sessions in HAND_SESSIONS for scatter in SESSION_SCATTER[1:]]
    with ProcessPoolExecutor() as pool:
        for line in pool.map(hand_row, *zip(*asked, strict=True)):
            print(line, flush=True)


TABLES = {
    "smallest": smallest_comparison,
    "same": same_distance,
    "two": two_distances,
    "change": changed_comparison,
    "hand": by_hand,
}


def main() -> None:
    """Prints the tables that were asked for, or all."""
    for name in sys.argv[1:] or TABLES:
        TABLES[name]()
        print()


if __name__ == "__main__":
    main()
