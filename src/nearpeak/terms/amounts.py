# SPDX-License-Identifier: Apache-2.0
"""Figures with their units, as people write them."""

import math
import re

AMOUNT = re.compile(r"(\d*\.?\d+)\s*(\D.*)")
# Units as written; the unit of results, and the factor to it. Gb/s would be another unit.
UNITS = {
    "GB/s": ("GB/s", 1.0),
    "MB/s": ("GB/s", 1e-3),
    "kB/s": ("GB/s", 1e-6),
    "M/s": ("M/s", 1.0),
    "ratio": ("ratio", 1.0),
    "ms": ("us", 1e3),
    "us": ("us", 1.0),
    "\N{MICRO SIGN}s": ("us", 1.0),
    "\N{GREEK SMALL LETTER MU}s": ("us", 1.0),
    "ns": ("us", 1e-3),
}


def parse_amount(text: str) -> tuple[float, str] | None:
    """`500 MB/s` as 0.5 and "GB/s", in the units of results; None unless above 0."""
    match = AMOUNT.fullmatch(text.strip())
    if match is None or match[2] not in UNITS:
        return None
    unit, scale = UNITS[match[2]]
    amount = float(match[1]) * scale
    return (amount, unit) if 0 < amount < math.inf else None
