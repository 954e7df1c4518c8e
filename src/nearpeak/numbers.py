# SPDX-License-Identifier: Apache-2.0
"""Formats figures: three significant digits, binary sizes, and intervals named as such."""

import math
import re
from collections.abc import Sequence

NOTHING = "–"


def number(value: float | None) -> str:
    """`value` with three significant digits and no exponent between 1e-4 and 1e9."""
    if value is None or not math.isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    rounded = f"{value:.2e}"
    if not 1e-4 <= abs(value) < 1e9:
        return rounded
    power = int(rounded.partition("e")[2])  # a logarithm may lie beside a power of ten
    return f"{float(rounded):.{max(0, 2 - power)}f}"


def percent(fraction: float | None) -> str:
    """A fraction as a percentage, without the sign `%` (that stands in the heading)."""
    return number(None if fraction is None else 100 * fraction)


def size(size_bytes: int) -> str:
    """A message size, exact: `0 B`, `3000 B`, `8 KiB`, `64 MiB`."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size_bytes >= scale and size_bytes % scale == 0:
            return f"{size_bytes // scale} {unit}"
    return f"{size_bytes} B"


def extent(x: int, unit: str) -> str:
    """The x of a case: `64 KiB` of a message, `4096 cells` of a problem."""
    return size(x) if unit == "B" else f"{x} {unit}"


def unit(name: str) -> str:
    """A unit of the records as people write it."""
    return "µs" if name == "us" else name


def interval(bounds: tuple[float, float] | None, scale: float = 1.0) -> str:
    """A 95 % interval as `[low, high]`; "" without one."""
    if bounds is None:
        return ""
    return f"[{number(scale * bounds[0])}, {number(scale * bounds[1])}]"


def spread(
    ci95: tuple[float, float] | None,
    full: tuple[float, float] | None,
    scale: float = 1.0,
    blocks: int | None = None,
) -> str:
    """The 95 % interval, else the range of the launch medians, which is named as a range.

    `blocks`: how many blocks a fraction is of. Within one block fractions differ too, as the best
    method of the ceiling is not known.
    """
    if ci95 is not None:
        return interval(ci95, scale)
    if full is None:
        return ""
    if full[0] == full[1]:
        return "one value"
    between = f"{number(scale * full[0])} to {number(scale * full[1])}"
    return f"{between} (one block)" if blocks == 1 else f"range {between}"


def within(ci95: tuple[float, float] | None, full: tuple[float, float] | None) -> str:
    """The same as `spread`, in running text: `0.400 to 0.440`, `range 0.400 to 0.440`."""
    if ci95 is not None:
        return f"{number(ci95[0])} to {number(ci95[1])}"
    return spread(None, full)


def resting(
    ci95: tuple[float, float] | None, full: tuple[float, float], blocks: str, scale: float = 1.0
) -> str:
    """`95 % interval 1.90 to 2.40, 12 blocks`; without an interval `1.90 to 2.40 in 6 blocks`."""
    low, high = ci95 or full
    limits = f"{number(scale * low)} to {number(scale * high)}"
    return f"95 % interval {limits}, {blocks}" if ci95 else f"{limits} in {blocks}"


def span(low: float, high: float, unit: str) -> str:
    """`60.0 to 67.0 ns`, of whole numbers; `60.0 ns` where both ends read alike."""
    return " to ".join(dict.fromkeys(number(round(end)) for end in (low, high))) + f" {unit}"


def probability(p: float) -> str:
    """A p-value; one that is beyond doubt as `< 0.001`."""
    return "< 0.001" if p < 0.001 else number(p)


def count(number_of: int, thing: str) -> str:
    """`1 launch`, `2 launches`."""
    return f"{number_of} {noun(number_of, thing)}"


def noun(number_of: int, thing: str) -> str:
    """`launch` for one, else `launches`."""
    if number_of == 1:
        return thing
    if thing.endswith("y"):
        return f"{thing[:-1]}ies"
    return f"{thing}{'es' if thing.endswith('ch') else 's'}"


MOST_NAMED = 16  # hosts


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def in_brackets(text: str) -> str:
    """` (a)` of `a`; nothing of an empty text."""
    return f" ({text})" if text else ""


def agreeing(number_of: int, singular: str, plural: str) -> str:
    """The form of a verb for this number of things: `has` or `have`."""
    return singular if number_of == 1 else plural


def alike(one: float, other: float) -> bool:
    """True if two ratios read alike: they differ by at most 1 %. `other` is not 0."""
    return abs(one / other - 1) <= 0.01


def in_short(hosts: Sequence[str]) -> str:
    """`a, b, c`; for many hosts their number, the first and the last."""
    if len(hosts) > MOST_NAMED:
        return f"{len(hosts)} hosts, {hosts[0]} to {hosts[-1]}"
    return ", ".join(hosts)


def natural(name: str) -> list[str | int]:
    """The key that sorts names by the numbers in them: mlx5_9 before mlx5_10."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def printable(text: str) -> str:
    """`text` with control characters replaced, so that a name cannot steer a terminal."""
    plain = text.replace("\n", " ")
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in plain)
