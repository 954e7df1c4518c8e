# SPDX-License-Identifier: Apache-2.0
"""Simulates `nearpeak history`: how often it errs and finds. benchmarks/RESULTS.md has its tables.

Usage: python benchmarks/history_power.py [nothing | loss | second | short]

A history of 60 sessions of a study with 2 libraries on 4 paths, 4 curves of 7 sizes each: 224
cases; examples/h200x2-shipped has 185. A session has 6 launches, which scatter by 3 %. Half the
variance of a session is shared by all cases, half is of each curve's own; half of that of a launch
is shared by the sizes of a curve. A limit by hand is compared: any case of the newest session that
is 10 % slower than the median of all earlier ones. Nothing is measured; the seeds are fixed.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Literal, NamedTuple

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.grouping import grouped
from nearpeak.history.levels import course
from nearpeak.statistics.change_points import find, seen_after

HISTORIES = 100
SESSIONS = 60
OWNERS, CURVES, SIZES, LAUNCHES = 8, 4, 7, 6
LAUNCH = 0.03
TOLERANCE = 0.05
BY_HAND = float(np.log(1.1))
# What is slower: everything, a library on a path, a curve, or a case.
PARTS = {"everything": (), "a library on a path": (0,), "a curve": (0, 0), "a case": (0, 0, 0)}
BEFORE, AFTER = 52, (3, 5, 8)  # sessions before a loss, and since it, at which is looked
PLANTED = 25  # histories with a loss
WATCHED = 50  # histories without one, looked at after each session


class Scatter(NamedTuple):
    """How sessions differ."""

    session: float
    alike: float = 0.0  # correlation of a session with the one before it
    heavy: bool = False
    # What is so alike: everything; the `common` half of the variance; the own half of a `path`,
    # nine tenths of it. A `week` has two slow nights of 1.9 deviations of the common half,
    # a `burst` of 2, begun one night in 40, lasts for 7 in the mean; the common half is half as
    # large else.
    where: Literal["", "common", "path", "week", "burst"] = ""

    def __str__(self) -> str:
        kind = ", heavy tails" if self.heavy else ""
        kind += f", correlation {self.alike:g}" if self.alike else ""
        return f"{100 * self.session:.0f} %{kind}{_WHERE[self.where]}"


_WHERE = {
    "": "",
    "common": " of a state that all share, half the variance",
    "path": " on one path",
    "week": ", slow weekends",
    "burst": ", slow for a week now and then",
}


SCATTER = [Scatter(0.02), Scatter(0.05), Scatter(0.1), Scatter(0.2)]
OTHER = [
    Scatter(0.05, heavy=True),
    Scatter(0.05, 0.2),
    Scatter(0.05, 0.5),
    Scatter(0.05, 0.5, where="common"),
    Scatter(0.05, 0.9, where="common"),
    Scatter(0.05, 0.9, where="path"),
    Scatter(0.05, where="week"),
    Scatter(0.05, where="burst"),
]
LOSSES = [(Scatter(0.05), part, 0.1) for part in PARTS]
LOSSES += [(Scatter(0.02), "a case", 0.1), (Scatter(0.1), "everything", 0.1)]
LOSSES += [(Scatter(0.2), "everything", lost) for lost in (0.1, 0.2, 0.3, 0.5)]
SECOND = [
    (Scatter(scatter), factor, gap)
    for scatter in (0.02, 0.05)
    for factor, gap in ((1.5, 3), (1.5, 10), (1.5, 30), (0.7, 10))
]
SECOND_LOSS = 0.2
SHORT = [12, 13, 15, 17, 20]  # sessions of short histories
SHORT_LOSS = 0.5


class Looked(NamedTuple):
    """The outcome of one look at a history."""

    found: bool  # anything is found
    slower: bool  # something is slower by more than the tolerance, and still so
    by_hand: bool


def noise(generator: np.random.Generator, scatter: Scatter, shape: tuple[int, ...]) -> Floats:
    """Draws values of deviation 1; the last axis is the sessions."""
    drawn = generator.normal(0, 1, shape)
    if scatter.heavy:
        drawn = generator.standard_t(3, shape) / np.sqrt(3)
    for index in range(1, shape[-1] if scatter.alike else 0):
        drawn[..., index] *= np.sqrt(1 - scatter.alike**2)
        drawn[..., index] += scatter.alike * drawn[..., index - 1]
    return np.asarray(drawn)


def history(generator: np.random.Generator, scatter: Scatter, sessions: int) -> Floats:
    """Logarithms: owners x curves x sizes x sessions; more is better."""
    white = scatter._replace(alike=0.0)
    common = noise(generator, white if scatter.where == "path" else scatter, (1, 1, 1, sessions))
    own = noise(generator, white if scatter.where else scatter, (OWNERS, CURVES, 1, sessions))
    if scatter.where == "path":
        own[0] *= np.sqrt(0.1)
        own[0] += np.sqrt(0.9) * noise(generator, scatter, (1, 1, sessions))
    elif scatter.where in ("week", "burst"):
        common *= 0.5
        slow = _slow_nights(generator, scatter, sessions)
        common -= (1.9 if scatter.where == "week" else 2.0) * (slow - slow.mean())
    shared = generator.normal(0, 1, (OWNERS, CURVES, 1, sessions))
    each = generator.normal(0, 1, (OWNERS, CURVES, SIZES, sessions))
    launches = LAUNCH / np.sqrt(LAUNCHES) * (shared + each)
    return np.asarray(np.sqrt(0.5) * (scatter.session * (common + own) + launches))


def _slow_nights(generator: np.random.Generator, scatter: Scatter, sessions: int) -> Floats:
    """1 for a slow night, else 0."""
    if scatter.where == "week":
        return np.asarray((np.arange(sessions) + generator.integers(7)) % 7 >= 5, dtype=float)
    slow = np.zeros(sessions)
    for index in range(1, sessions):
        changes = generator.random() < (1 / 7 if slow[index - 1] else 1 / 40)
        slow[index] = abs(slow[index - 1] - changes)
    return slow


def _rows(cases: Floats) -> tuple[Floats, list[int]]:
    """Rows as `nearpeak history` has them, and their families."""
    sessions = cases.shape[-1]
    places = cases.mean(axis=(1, 2))
    parts = [cases.mean(axis=2).reshape(-1, sessions), cases.reshape(-1, sessions)]
    rows = np.concatenate([places, *parts])
    return rows, [0] * OWNERS + [1] * (len(rows) - OWNERS)


def look(cases: Floats) -> Looked:
    """Judges all sessions that there are, as `nearpeak history` does."""
    rows, families = _rows(cases)
    steps = find(rows, families)
    courses = [
        course(rows[index], of_row, TOLERANCE, 0)
        for index, of_row in grouped(steps, lambda step: step.row).items()
    ]
    single = cases.reshape(-1, cases.shape[-1])
    newest = single[:, -1] - np.median(single[:, :-1], axis=1)
    by_hand = bool((newest < -BY_HAND).any())
    found = any(one.steps for one in courses)
    return Looked(found, any(one.regressed for one in courses), by_hand)


def nothing(scatter: Scatter) -> str:
    """The row of histories without a change, at one look."""
    generator = np.random.default_rng(1)
    looks = [look(history(generator, scatter, SESSIONS)) for _ in range(HISTORIES)]
    return f"| {scatter} | {' | '.join(shares(looks))} |"


def shares(looks: list[Looked]) -> Iterator[str]:
    """Yields the share of looks with each outcome."""
    for share in np.array(looks, dtype=float).mean(axis=0):
        yield f"{100 * share:.0f} %"


def loss(scatter: Scatter, part: str, lost: float) -> str:
    """Simulates a loss: returns the row of the shares of histories that find it, by the sessions
    since then, and of those that pass the limit by hand."""
    generator = np.random.default_rng(3)
    found = np.zeros(len(AFTER))
    by_hand = 0
    for _ in range(PLANTED):
        cases = history(generator, scatter, BEFORE + max(AFTER))
        cases[PARTS[part]][..., BEFORE:] -= np.log1p(lost)
        looks = [look(cases[..., : BEFORE + after]) for after in AFTER]
        found += np.logical_or.accumulate([one.slower for one in looks])
        by_hand += looks[0].by_hand
    cells = [f"{100 * share / PLANTED:.0f} %" for share in (*found, by_hand)]
    return f"| {scatter} | {part} | {100 * lost:.0f} % | {' | '.join(cells)} |"


def second(scatter: Scatter, factor: float, gap: int) -> str:
    """Simulates a loss soon after another change: returns the row of the shares of histories that
    find it, by the sessions since then."""
    generator = np.random.default_rng(4)
    found = np.zeros(len(AFTER))
    for _ in range(PLANTED):
        cases = history(generator, scatter, BEFORE + gap + max(AFTER))
        cases[..., BEFORE:] += np.log(factor)
        cases[..., BEFORE + gap :] += np.log(1 - SECOND_LOSS)
        looks = [_newest_is_slower(cases[..., : BEFORE + gap + after], gap) for after in AFTER]
        found += np.logical_or.accumulate(looks)
    cells = [f"{100 * share / PLANTED:.0f} %" for share in found]
    return f"| {scatter} | {factor:g} | {gap} | {' | '.join(cells)} |"


def _newest_is_slower(cases: Floats, gap: int) -> bool:
    """True if a loss is found that began after the middle of the sessions between both changes."""
    rows, families = _rows(cases)
    steps = find(rows, families)
    return any(step.shift < -np.log1p(TOLERANCE) and step.at > BEFORE + gap / 2 for step in steps)


def short(sessions: int) -> str:
    """The row of the shares of short histories in which a large loss everywhere is found."""
    generator = np.random.default_rng(5)
    cells = []
    for lasted in (3, 4, 5):
        histories = [history(generator, Scatter(0.05), sessions) for _ in range(PLANTED)]
        for cases in histories:
            cases[..., -lasted:] += np.log(1 - SHORT_LOSS)
        cells.append(f"{100 * np.mean([look(cases).slower for cases in histories]):.0f} %")
    return f"| {sessions} | {seen_after(sessions)} | {' | '.join(cells)} |"


def table(names: list[str], row: Callable[..., str], *asked: Sequence[object]) -> None:
    """Prints a table, each row of which is simulated in a process of its own."""
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}")
    with ProcessPoolExecutor() as pool:
        for line in pool.map(row, *asked):
            print(line, flush=True)
    print()


def main() -> None:
    """Prints the tables that were asked for, or all."""
    wanted = sys.argv[1:] or ["nothing", "loss", "second", "short"]
    found = [f"Found by session {after}" for after in AFTER]
    outcomes = ["Sessions scatter", "Anything found", "Slower", "Slower by 10 %, by hand"]
    if "nothing" in wanted:
        table(outcomes, nothing, [*SCATTER, *OTHER])
    if "loss" in wanted:
        names = ["Sessions scatter", "Slower", "Takes longer by", *found, "By hand, at session 3"]
        table(names, loss, *zip(*LOSSES, strict=True))
    if "second" in wanted:
        names = ["Sessions scatter", "First, times", "Sessions between", *found]
        table(names, second, *zip(*SECOND, strict=True))
    if "short" in wanted:
        names = ["Sessions", "Has to last", *(f"Lasted {lasted}" for lasted in (3, 4, 5))]
        table(names, short, SHORT)


if __name__ == "__main__":
    main()
