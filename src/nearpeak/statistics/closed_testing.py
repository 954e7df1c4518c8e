# SPDX-License-Identifier: Apache-2.0
"""A closed test of curves and their sizes (Marcus, Peritz and Gabriel, Biometrika 63 (1976) 655).

A false "differs", of a curve or a size, stands in at most 5 % of cases, whatever differs in truth,
provided that the p-values that go in are valid:

- sizes of one curve together are tested by Simes (Biometrika 73 (1986) 751), which holds for
  positively dependent tests (Sarkar, Annals of Statistics 26 (1998) 494), as all sizes of a launch
  do; a whole curve also by the mean of its sizes, twice the smaller p-value of the two. So a curve
  differs if all its sizes shift a little, if one size does, or if sizes shift in opposite
  directions;
- curves together by Bonferroni, which holds for any dependence.

Closed testing of all sets of sizes reduces to Hommel's p-values inside a curve (Biometrika 75
(1988) 383) and a step-down as Holm's over curves (`across`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nearpeak.arrays import Floats
from nearpeak.statistics.comparisons import Comparison


class Tests(NamedTuple):
    """The tests of a curve, not adjusted for one another."""

    shift: Comparison  # of the mean of all sizes
    sizes: list[Comparison]


class Adjusted(NamedTuple):
    """The p-values of a curve, adjusted for everything that is tested with it."""

    shift: float
    curve: float  # that it differs at any size
    sizes: tuple[float, ...]

    def at_least(self, p: float) -> "Adjusted":
        """Raises the p-values to `p` where they are lower."""
        sizes = tuple(max(size, p) for size in self.sizes)
        return Adjusted(max(self.shift, p), max(self.curve, p), sizes)


def adjust(curves: Sequence[Tests]) -> list[Adjusted]:
    """The p-values of all curves, by the closed test."""
    inside = [_inside(tests) for tests in curves]
    last = [max(inner.sizes) for inner in inside]  # p-value of the last size that is judged
    adjusted = []
    for i, inner in enumerate(inside):
        others = np.array(last[:i] + last[i + 1 :])
        shift, curve, *sizes = across([inner.shift, inner.curve, *inner.sizes], others).tolist()
        adjusted.append(Adjusted(shift, curve, tuple(sizes)))
    return adjusted


def within(p: ArrayLike, joint: float) -> Floats:
    """The p-values of one curve's sizes adjusted for one another, in the order given.

    Hommel's method, except that the test of all sizes together has the p-value `joint`. By the
    recursion over the sizes of sets of Wright (Biometrics 48 (1992) 1005).
    """
    values = np.asarray(p, dtype=float)
    count = len(values)
    order = np.argsort(values)
    ordered = values[order]
    largest = np.maximum(ordered, joint)
    for size in range(2, count):
        # The worst set of this size that holds a p-value has the largest of the others.
        rest = count - size + 1
        common = float(np.min(size * ordered[rest:] / np.arange(2, size + 1)))
        worst = np.minimum(size * ordered, common)
        worst[rest:] = worst[rest - 1]
        largest = np.maximum(largest, worst)
    adjusted = np.empty_like(values)
    adjusted[order] = largest
    return adjusted


def across(p: ArrayLike, others: ArrayLike) -> Floats:
    """p-values of one curve adjusted for all curves; `others`: the largest of each other curve.

    The worst set of k other curves are those with the largest p-values: Bonferroni's factor is
    k + 1 on the least of all, and the worst k counts. A curve thus frees the others from its
    factor once all its sizes are judged, as Holm's method does.
    """
    values = np.asarray(p, dtype=float)[:, None]
    ordered = -np.sort(-np.asarray(others, dtype=float))
    factors = np.arange(1, len(ordered) + 2)
    least = np.minimum(values, np.concatenate([[np.inf], ordered]))
    return np.asarray(np.minimum((factors * least).max(axis=1), 1.0))


def _inside(tests: Tests) -> Adjusted:
    """The p-values, adjusted only within the curve."""
    p = np.array([size.p_value for size in tests.sizes])
    count = 1 if len(p) == 1 else 2  # the mean of one size is that size
    shift = count * tests.shift.p_value
    curve = min(shift, count * _simes(p))
    return Adjusted(shift, curve, tuple(within(p, curve).tolist()))


def _simes(p: Floats) -> float:
    return float(np.min(np.sort(p) * len(p) / np.arange(1, len(p) + 1)))
