# SPDX-License-Identifier: Apache-2.0
"""Percentiles of the times of single iterations of one launch."""

import msgspec


class Percentiles(msgspec.Struct, kw_only=True, frozen=True):
    """Times of single iterations, in `unit`, within 1 %: of all of them, also where a sample holds
    several and where not every sample was kept."""

    iterations: int  # how many were timed
    p50: float  # half of them took at most this
    p90: float  # 90 % of them
    p99: float  # 99 % of them
    p999: float  # 99.9 % of them
    longest: float  # the longest of all
