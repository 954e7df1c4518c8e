# SPDX-License-Identifier: Apache-2.0
"""Plans of older schemas, brought to the present one: recorded studies stay readable."""

from pathlib import Path
from typing import Any

import msgspec

from nearpeak.study.model import SCHEMA

FIRST = 1  # the oldest schema
_BENCHMARKS = Path(__file__).with_name("schema1.toml")


def upgraded(plan: Any) -> Any:
    """plan.json of an older schema as it would be written today; anything else as it is.

    ValueError when a benchmark is not known, as schema 1 says nothing of them itself.
    """
    if not isinstance(plan, dict):
        return plan
    if plan.get("schema") == FIRST:
        return {**plan, "schema": SCHEMA, "benchmarks": _first_benchmarks(plan)}
    if isinstance(benchmarks := plan.get("benchmarks"), list):
        return {**plan, "benchmarks": [upgraded_benchmark(one) for one in benchmarks]}
    return plan


def upgraded_benchmark(benchmark: Any) -> Any:
    """A benchmark of a plan of schema 2 as it would be written today; anything else as it is."""
    if not isinstance(benchmark, dict) or not isinstance(benchmark.get("ceiling"), bool):
        return benchmark
    rate = benchmark["metrics"][0]["better"] == "higher"
    one_way = rate and not benchmark["symmetric"]
    return {
        **benchmark,
        "moves": {"ways": 1 if one_way else 2, "window": rate},
        "ceiling": "measured" if benchmark["ceiling"] else "none",
    }


def _first_benchmarks(plan: dict[str, Any]) -> list[Any]:
    """Those that the variants of a plan of schema 1 are of."""
    known = msgspec.toml.decode(_BENCHMARKS.read_text(encoding="utf-8"))["benchmark"]
    names = dict.fromkeys(variant["benchmark"] for variant in plan.get("variants", []))
    there = [one["name"] for one in known]
    if unknown := [name for name in names if name not in there]:
        raise ValueError(f"schema {FIRST} has no benchmark {', '.join(unknown)}")
    return [one for one in known if one["name"] in names]
