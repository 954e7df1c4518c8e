# SPDX-License-Identifier: Apache-2.0
"""Plans of older schemas, brought to the present one: recorded studies stay readable."""

from typing import Any

from nearpeak.study.model import SCHEMA

FIRST = 1  # the oldest schema
SECOND = 2
# What its benchmarks said of themselves, which its plans do not hold.
_BENCHMARKS = {
    "latency": ("us", "lower", True),
    "bw": ("GB/s", "higher", False),
    "bibw": ("GB/s", "higher", True),
}


def upgraded(plan: Any) -> Any:
    """plan.json of schema 1 or 2 as it would be written today; anything else as it is.

    ValueError when a benchmark is not known, as schema 1 says nothing of them itself.
    """
    if not isinstance(plan, dict) or plan.get("schema") not in (FIRST, SECOND):
        return plan
    if plan["schema"] == FIRST:
        plan = {**plan, "benchmarks": _benchmarks(plan)}
    return {**plan, "schema": SCHEMA, "launches": _templates(plan.get("launches", []))}


def _templates(launches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What every block launches: older plans spell out all blocks, which are alike."""
    own = ("launch", "block", "seed")  # of one launch
    return [
        {name: value for name, value in launch.items() if name not in own}
        for launch in launches
        if launch["block"] == 0
    ]


def _benchmarks(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Of those that the variants are of, what schema 1 leaves unsaid."""
    names = dict.fromkeys(variant["benchmark"] for variant in plan.get("variants", []))
    if unknown := [name for name in names if name not in _BENCHMARKS]:
        raise ValueError(f"schema {FIRST} has no benchmark {', '.join(unknown)}")
    return [
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
