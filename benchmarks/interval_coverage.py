# SPDX-License-Identifier: Apache-2.0
"""Simulates launches to see how often an interval holds the median: tables of
benchmarks/RESULTS.md.

Usage: python benchmarks/interval_coverage.py

Nothing is measured; the seed is fixed.
"""

from collections.abc import Callable

import numpy as np
from scipy import special

from nearpeak.arrays import Booleans, Floats
from nearpeak.statistics.intervals import interval, precise, weights
from nearpeak.statistics.sessions import apart

Draw = Callable[[tuple[int, ...]], Floats]

TRIALS = 6000
LOOKS = (6, 9, 12)
SESSIONS = (  # the launches of each
    (3, 3),
    (5, 1),
    (6, 6),
    (11, 1),
    (2, 2, 2),
    (6, 6, 6),
    (10, 1, 1),
    (12, 1, 5),
    (6,) * 4,
    (6,) * 6,
)
generator = np.random.default_rng(1)


def modes(share: float, width: float) -> Draw:
    """Two normal modes 5 apart; `share` of launches in the upper one."""
    return lambda size: np.asarray(
        5.0 * (generator.random(size) < share) + generator.normal(0, width, size)
    )


SHAPES: dict[str, Draw] = {
    "normal": lambda size: generator.normal(0, 1, size),
    "heavy tails (t, 3 degrees of freedom)": lambda size: generator.standard_t(3, size),
    "uniform": lambda size: generator.uniform(-1, 1, size),
    "skewed (lognormal)": lambda size: generator.lognormal(0, 1, size),
    "two modes, 30 % above": modes(0.3, 0.2),
    "two narrow modes, 45 % above": modes(0.45, 0.02),
    "two narrow modes, half above": modes(0.5, 0.02),
}


def covers(bounds: tuple[float, float] | None, truth: float) -> bool:
    """Whether there is an interval, and the truth in it."""
    return bounds is not None and bounds[0] <= truth <= bounds[1]


def percent(values: list[bool] | Booleans) -> str:
    """A share, as a table shows it."""
    return f"{100 * float(np.mean(values)):.1f} %" if len(values) else ""


def by_shape() -> None:
    """Coverage of each number of launches, and what the interpolation saves."""
    counts = (6, 7, 8, 9, 10, 12, 20, 30)
    print("| Launches | " + " | ".join(str(n) for n in counts) + " |")
    print("|---" * (len(counts) + 1) + "|")
    for name, draw in SHAPES.items():
        truth = float(np.median(draw((2_000_001,))))
        row = [percent([covers(interval(x), truth) for x in draw((TRIALS, n))]) for n in counts]
        print(f"| {name} | " + " | ".join(row) + " |")
    saved = []
    for n in counts:
        found = weights(n)
        assert found is not None
        ordered = np.sort(generator.normal(0, 1, (TRIALS, n)), axis=1)
        whole = float(np.mean(ordered[:, -found[0]] - ordered[:, found[0] - 1]))
        bounds = [interval(x) for x in ordered]
        own = float(np.mean([b[1] - b[0] for b in bounds if b is not None]))
        saved.append(f"{100 * (1 - own / whole):.0f} %")
    print("| narrower than between order statistics | " + " | ".join(saved) + " |")


def by_looks() -> None:
    """Coverage where launches stop once the interval is narrow enough for a time (3 %)."""
    print("| Launches | Deviation | All | " + " | ".join(f"Stopped at {n}" for n in LOOKS) + " |")
    print("|---" * (len(LOOKS) + 3) + "|")
    for name in list(SHAPES)[:4]:
        for deviation in (0.01, 0.02, 0.03, 0.06):
            draw = SHAPES[name]
            units = draw((2_000_001,))
            scale = deviation / float(np.std(units))
            truth = float(np.exp(scale * np.median(units)))
            held: dict[int, list[bool]] = {n: [] for n in LOOKS}
            for values in np.exp(scale * draw((TRIALS, LOOKS[-1]))):
                n = next((n for n in LOOKS if precise(values[:n], "lower")), LOOKS[-1])
                held[n].append(covers(interval(values[:n]), truth))
            every = [share for some in held.values() for share in some]
            row = [
                f"{percent(held[n])} (of {100 * len(held[n]) / TRIALS:.0f} %)" if held[n] else ""
                for n in LOOKS
            ]
            print(
                f"| {name} | {100 * deviation:.0f} % | {percent(every)} | " + " | ".join(row) + " |"
            )


def below(bounds: tuple[float, float], shift: Floats) -> tuple[float, float]:
    """Which share of all launches that these sessions may have is below each end."""
    low, high = (float(np.mean(special.ndtr(end - shift))) for end in bounds)
    return low, high


def by_sessions() -> None:
    """Coverage of the median of all launches that these sessions may have, and of that of all
    sessions; intervals that take sessions in; width against what launches alone give."""
    ratios = (0.0, 0.3, 0.5, 1.0, 2.0, 5.0)
    print("| Sessions | " + " | ".join(f"{ratio:g}" for ratio in ratios) + " |")
    print("|---" * (len(ratios) + 1) + "|")
    for sizes in SESSIONS:
        of = np.repeat(np.arange(len(sizes)), sizes)
        row = []
        for ratio in ratios:
            these, every, taken, wider = [], [], [], []
            for _ in range(TRIALS // 3):
                shift = ratio * generator.normal(0, 1, len(sizes))[of]
                values = shift + generator.normal(0, 1, len(of))
                own, plain = interval(values, sessions=of.tolist()), interval(values)
                assert own is not None
                assert plain is not None
                these.append(covers(below(own, shift), 0.5))
                every.append(covers(own, 0))
                taken.append(apart(values, of.tolist()))
                wider.append((own[1] - own[0]) / (plain[1] - plain[0]))
            shares = ", ".join(f"{100 * np.mean(some):.0f}" for some in (these, every, taken))
            row.append(f"{shares}, {np.median(wider):.1f}")
        print(f"| {' + '.join(map(str, sizes))} | " + " | ".join(row) + " |")


def by_shape_of_sessions() -> None:
    """How often sessions that are alike are taken to lie apart, and coverage then."""
    print("| Launches | " + " | ".join(" + ".join(map(str, sizes)) for sizes in SESSIONS) + " |")
    print("|---" * (len(SESSIONS) + 1) + "|")
    for name, draw in SHAPES.items():
        truth = float(np.median(draw((2_000_001,))))
        row = []
        for sizes in SESSIONS:
            of = np.repeat(np.arange(len(sizes)), sizes).tolist()
            every = draw((TRIALS // 3, len(of)))
            taken = np.mean([apart(values, of) for values in every])
            held = np.mean([covers(interval(values, sessions=of), truth) for values in every])
            row.append(f"{100 * taken:.0f}, {100 * held:.0f}")
        print(f"| {name} | " + " | ".join(row) + " |")


def main() -> None:
    """Prints the tables."""
    by_shape()
    print("\nWith looks:\n")
    by_looks()
    print(
        "\nSessions that deviate by so many deviations of a launch: the median of their launches"
        "\ncovered, and that of all sessions; sessions taken in (%); width against launches alone"
        " (median):\n"
    )
    by_sessions()
    print("\nSessions that are alike: taken to lie apart; covered (%):\n")
    by_shape_of_sessions()


if __name__ == "__main__":
    main()
