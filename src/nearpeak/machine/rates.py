# SPDX-License-Identifier: Apache-2.0
"""The least of rates and sizes of which some are not known."""

from collections.abc import Iterable


def least(values: Iterable[float | None]) -> float | None:
    """The least of the known values; None without one."""
    return min((value for value in values if value is not None), default=None)


def bottleneck(values: Iterable[float | None]) -> float | None:
    """The least of all; None where one of them is not known."""
    together = list(values)
    return None if None in together else least(together)
