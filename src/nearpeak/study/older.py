# SPDX-License-Identifier: Apache-2.0
"""Plans of older schemas, brought to the present one: recorded studies stay readable."""

from typing import Any

from nearpeak.study.model import SCHEMA

FIRST = 1  # the oldest schema
# What its benchmarks said of themselves, which its plans do not hold.
_BENCHMARKS = {
    "latency": ("us", "lower", True),
    "bw": ("GB/s", "higher", False),
    "bibw": ("GB/s", "higher", True),
}


def upgraded(plan: Any) -> Any:
    """plan.json of schema 1 as it would be written today; anything else as it is.

    ValueError when a benchmark is not known, as schema 1 says nothing of them itself.
    """
    if not isinstance(plan, dict) or plan.get("schema") != FIRST:
        return plan
    names = dict.fromkeys(variant["benchmark"] for variant in plan.get("variants", []))
    if unknown := [name for name in names if name not in _BENCHMARKS]:
        raise ValueError(f"schema {FIRST} has no benchmark {', '.join(unknown)}")
    benchmarks = [
        {
            "name": name,
            "metrics": [{"name": name, "unit": unit, "better": better}],
            "ranks": {"rule": "exactly", "count": 2},
            "smallest": int(better == "higher"),
            "symmetric": symmetric,
            "ceiling": True,
        }
        for name, (unit, better, symmetric) in _BENCHMARKS.items()
        if name in names
    ]
    return {**plan, "schema": SCHEMA, "benchmarks": benchmarks}
