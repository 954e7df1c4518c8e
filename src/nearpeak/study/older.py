# SPDX-License-Identifier: Apache-2.0
"""Plans of older schemas, brought to the present one: recorded studies stay readable."""

from typing import Any

from nearpeak.study.model import SCHEMA

# What the benchmarks of schema 1 said of themselves, which its plans do not hold.
_FIRST = {
    "latency": ("us", "lower", True),
    "bw": ("GB/s", "higher", False),
    "bibw": ("GB/s", "higher", True),
}


def upgraded(plan: Any) -> Any:
    """plan.json of schema 1 as it would be written today; anything else as it is."""
    if not isinstance(plan, dict) or plan.get("schema") != 1:
        return plan
    names = dict.fromkeys(variant["benchmark"] for variant in plan.get("variants", []))
    benchmarks = [
        {
            "name": name,
            "metrics": [{"name": name, "unit": unit, "better": better}],
            "ranks": {"rule": "exactly", "count": 2},
            "smallest": int(better == "higher"),
            "symmetric": symmetric,
            "ceiling": True,
        }
        for name, (unit, better, symmetric) in _FIRST.items()
        if name in names
    ]
    return {**plan, "schema": SCHEMA, "benchmarks": benchmarks}
