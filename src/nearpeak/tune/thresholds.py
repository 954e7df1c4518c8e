# SPDX-License-Identifier: Apache-2.0
"""Thresholds between two protocols, by measuring both.

Each protocol is forced for messages of all sizes. The threshold is set to the size at which their
times cross, and tried before any value around the default.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Protocol

from nearpeak.errors import UserError
from nearpeak.launching.single_launch import LaunchFailed
from nearpeak.libraries.tunables import Threshold, Tunable
from nearpeak.numbers import count, size
from nearpeak.terms.sizes import parse_bytes
from nearpeak.tune.candidates import Env
from nearpeak.tune.estimate import HARM

SIZES = [1 << power for power in range(8, 23)]  # bytes
ROUNDS = 2  # of a launch of each protocol; the faster launch counts, as some are slow
POWERS = [1 << power for power in range(3, 25)]  # bytes, of messages that are guarded
LEAST_SIZE = 64  # bytes: a smaller number counts something else
MOST_MOVED = 7  # sizes for a setting
Curve = Mapping[int, float]  # the cost of each size in bytes (targets.cost)


class Curves(Protocol):
    """The interface that measures curves (launches.Launches)."""

    def curve(self, env: Env, sizes: Sequence[int], limit_seconds: float, /) -> dict[int, float]:
        """Measures the cost of each of these sizes in one launch within this time; LaunchFailed."""


def measure(
    launches: Curves,
    tunables: Sequence[Tunable],
    tell: Callable[[str], None],
    limit_seconds: float,
    left: Callable[[], float],
) -> list[tuple[str, str]]:
    """Returns the thresholds that make a difference, each with its best value, as far as there is
    time. `limit_seconds`: of a launch; `left`: returns the seconds left for all of them."""
    chosen: list[tuple[str, str]] = []
    longest = 0.0
    for tunable, threshold in _with_thresholds(tunables):
        before = left()
        if before < (longest or limit_seconds):
            tell(f"{tunable.name}: no time to measure both of its protocols")
            continue
        try:
            short = _fastest(launches, tunable.env(threshold.short), limit_seconds)
            long = _fastest(launches, tunable.env(threshold.long), limit_seconds)
        except LaunchFailed as error:
            tell(f"{tunable.name}: its protocols cannot be measured: {error}")
            continue
        longest = max(longest, before - left())
        launched = count(2 * ROUNDS, "launch")
        if median(abs(short[size_bytes] - long[size_bytes]) for size_bytes in SIZES) < HARM:
            alike = "its two protocols are as fast at most sizes"
            tell(f"{tunable.name}: {alike}, by {launched} of single messages")
            continue
        border = crossing(short, long)
        value = value_of(threshold, border)
        chosen.append((tunable.name, value))
        tell(f"{tunable.name}={value}: {_crossing_text(border)}, by {launched}")
    return chosen


def _with_thresholds(tunables: Sequence[Tunable]) -> list[tuple[Tunable, Threshold]]:
    return [(tunable, tunable.threshold) for tunable in tunables if tunable.threshold]


def moved(tunables: Sequence[Tunable], env: Env) -> list[int]:
    """Returns message sizes in bytes at which these variables may change the protocol. For each
    value that is a size, they span from below the lesser of it and its default to above the
    greater."""
    sizes: set[int] = set()
    for tunable in tunables:
        if tunable.name not in env:
            continue
        texts = (env[tunable.name], tunable.default)
        values = [_bytes(tunable, text) for text in texts]
        ends = [value for value in values if value >= LEAST_SIZE]
        if ends:
            between = [size for size in POWERS if min(ends) / 4 <= size <= 2 * max(ends)]
            sizes.update(between[:: math.ceil(len(between) / MOST_MOVED)])
    return sorted(sizes)


def _bytes(tunable: Tunable, text: str) -> int:
    """Returns a value in bytes; 0 if it is no size."""
    before, _, behind = (tunable.threshold.written if tunable.threshold else "{}").partition("{}")
    try:
        return parse_bytes(text.removeprefix(before).removesuffix(behind))
    except UserError:
        return 0


def _fastest(launches: Curves, env: Env, limit_seconds: float) -> dict[int, float]:
    fastest = dict.fromkeys(SIZES, math.inf)
    for _ in range(ROUNDS):
        curve = launches.curve(env, SIZES, limit_seconds)
        for size_bytes in SIZES:
            fastest[size_bytes] = min(fastest[size_bytes], curve[size_bytes])
    return fastest


def crossing(short: Curve, long: Curve) -> float:
    """Returns the size in bytes from which the protocol of long messages is to be used: between the
    two sizes at which a switch costs least over all sizes. 0: always; inf: never."""
    sizes = sorted(short)
    costs = [
        sum(map(short.__getitem__, sizes[:place])) + sum(map(long.__getitem__, sizes[place:]))
        for place in range(len(sizes) + 1)
    ]
    place = costs.index(min(costs))
    if place == 0:
        return 0.0
    return math.inf if place == len(sizes) else math.sqrt(sizes[place - 1] * sizes[place])


def value_of(threshold: Threshold, border: float) -> str:
    """Returns the value of the setting for this border in bytes."""
    if border == 0:
        return threshold.long
    most = math.inf if threshold.most is None else threshold.most
    return threshold.short if border >= most else threshold.written.format(round(border))


def _crossing_text(border: float) -> str:
    if border == 0:
        return f"the protocol of long messages is faster from {size(SIZES[0])} on"
    if math.isinf(border):
        return f"the protocol of short messages is faster up to {size(SIZES[-1])}"
    return f"its two protocols are as fast near {round(border)} B"
