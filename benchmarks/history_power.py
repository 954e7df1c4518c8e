# SPDX-License-Identifier: Apache-2.0
"""Simulates `nearpeak history`: how often it errs and finds. benchmarks/RESULTS.md has its tables.

Usage: python benchmarks/history_power.py [nothing | nights | loss]

A history of 60 sessions of a study with 2 libraries on 4 paths, 4 curves of 7 sizes each: 224
cases; examples/h200x2-shipped has 185. A session has 6 launches, which scatter by 3 %. Half the
variance of a session is shared by all cases, half is of each curve's own; half of that of a launch
is shared by the sizes of a curve. A limit by hand is compared: any case of the newest session that
is 10 % slower than the median of all earlier ones. Nothing is measured; the seeds are fixed.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.statistics.change_points import FEWEST, find

HISTORIES = 100
SESSIONS = 60
OWNERS, CURVES, SIZES, LAUNCHES = 8, 4, 7, 6
LAUNCH = 0.03
LOSS = float(np.log(1.1))
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

    def __str__(self) -> str:
        kind = ", heavy tails" if self.heavy else ""
        kind += f", correlation {self.alike:g}" if self.alike else ""
        return f"{100 * self.session:.0f} %{kind}"


SCATTER = [Scatter(0.02), Scatter(0.05), Scatter(0.1), Scatter(0.2)]
OTHER = [Scatter(0.05, heavy=True), Scatter(0.05, 0.2), Scatter(0.05, 0.5)]
NIGHTLY = [Scatter(0.05), Scatter(0.1), Scatter(0.05, 0.5)]
LOSSES = [(Scatter(0.05), part) for part in PARTS]
LOSSES += [(Scatter(0.02), "a case"), (Scatter(0.1), "everything"), (Scatter(0.2), "everything")]


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
    common = noise(generator, scatter, (1, 1, 1, sessions))
    own = noise(generator, scatter, (OWNERS, CURVES, 1, sessions))
    shared = generator.normal(0, 1, (OWNERS, CURVES, 1, sessions))
    each = generator.normal(0, 1, (OWNERS, CURVES, SIZES, sessions))
    launches = LAUNCH / np.sqrt(LAUNCHES) * (shared + each)
    return np.asarray(np.sqrt(0.5) * (scatter.session * (common + own) + launches))


def look(cases: Floats) -> Looked:
    """Judges all sessions that there are, as `nearpeak history` does."""
    sessions = cases.shape[-1]
    places = cases.mean(axis=(1, 2))
    parts = [cases.mean(axis=2).reshape(-1, sessions), cases.reshape(-1, sessions)]
    rows = np.concatenate([places, *parts])
    steps = find(rows, [0] * OWNERS + [1] * (len(rows) - OWNERS))
    large = [step for step in steps if abs(step.shift) > np.log1p(TOLERANCE)]
    last = {step.row: step for step in large}.values()
    newest = parts[1][:, -1] - np.median(parts[1][:, :-1], axis=1)
    by_hand = bool((newest < -BY_HAND).any())
    return Looked(bool(large), any(step.shift < 0 for step in last), by_hand)


def nothing(scatter: Scatter) -> str:
    """The row of histories without a change, at one look."""
    generator = np.random.default_rng(1)
    looks = [look(history(generator, scatter, SESSIONS)) for _ in range(HISTORIES)]
    return f"| {scatter} | {' | '.join(shares(looks))} |"


def shares(looks: list[Looked]) -> Iterator[str]:
    """Yields the share of looks with each outcome."""
    for share in np.array(looks, dtype=float).mean(axis=0):
        yield f"{100 * share:.0f} %"


def nights(scatter: Scatter) -> str:
    """The row of histories without a change, looked at after each session."""
    generator = np.random.default_rng(2)
    ever = []
    for _ in range(WATCHED):
        cases = history(generator, scatter, SESSIONS)
        looks = [look(cases[..., :night]) for night in range(FEWEST, SESSIONS + 1)]
        ever.append(Looked(*map(any, zip(*looks, strict=True))))
    return f"| {scatter} | {' | '.join(shares(ever))} |"


def loss(scatter: Scatter, part: str) -> str:
    """Simulates a loss of 10 %: returns the row of the shares of histories in which a look so many
    sessions after it finds it, and in which the limit by hand is passed."""
    generator = np.random.default_rng(3)
    found = np.zeros(len(AFTER))
    by_hand = 0
    for _ in range(PLANTED):
        cases = history(generator, scatter, BEFORE + max(AFTER))
        cases[PARTS[part]][..., BEFORE:] -= LOSS
        looks = [look(cases[..., : BEFORE + after]) for after in AFTER]
        found += np.logical_or.accumulate([one.slower for one in looks])
        by_hand += looks[0].by_hand
    cells = [f"{100 * share / PLANTED:.0f} %" for share in (*found, by_hand)]
    return f"| {scatter} | {part} | {' | '.join(cells)} |"


def table(names: list[str], row: Callable[..., str], *asked: Sequence[object]) -> None:
    """Prints a table, each row of which is simulated in a process of its own."""
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}")
    with ProcessPoolExecutor() as pool:
        for line in pool.map(row, *asked):
            print(line, flush=True)
    print()


def main() -> None:
    """Prints the tables that were asked for, or all."""
    wanted = sys.argv[1:] or ["nothing", "nights", "loss"]
    outcomes = ["Sessions scatter", "Anything found", "Slower", "Slower by 10 %, by hand"]
    if "nothing" in wanted:
        table(outcomes, nothing, [*SCATTER, *OTHER])
    if "nights" in wanted:
        table(outcomes, nights, NIGHTLY)
    if "loss" in wanted:
        names = ["Sessions scatter", "Slower by 10 %"]
        names += [f"Found by session {after}" for after in AFTER] + ["By hand, at session 3"]
        table(names, loss, *zip(*LOSSES, strict=True))


if __name__ == "__main__":
    main()
