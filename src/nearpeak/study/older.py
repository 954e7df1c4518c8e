# SPDX-License-Identifier: Apache-2.0
"""Plans of older schemas, brought to the present one: recorded studies stay readable."""

import re
from pathlib import Path
from typing import Any

import msgspec

from nearpeak.study import records
from nearpeak.study.model import SCHEMA

FIRST = 1  # the oldest schema
SECOND = 2
PROBE = "probe"  # a copy of memory that drift was judged by, in the place of a benchmark
_BENCHMARKS = Path(__file__).with_name("schema1.toml")


def upgraded(plan: Any) -> Any:
    """plan.json of schema 1 or 2 as it would be written today; anything else as it is.

    ValueError when a benchmark is not known, as schema 1 says nothing of them itself.
    """
    if not isinstance(plan, dict) or plan.get("schema") not in (FIRST, SECOND):
        return plan
    if plan["schema"] == FIRST:
        benchmarks = _first_benchmarks(plan)
    else:
        benchmarks = [_benchmark(one) for one in plan["benchmarks"]]
    launches = _templates(plan.get("launches", []))
    paths = [_path(one) for one in plan["paths"]]
    new = {"schema": SCHEMA, "benchmarks": benchmarks, "launches": launches, "paths": paths}
    return {**plan, **new}


def upgrade_samples(record: records.SamplesRecord) -> None:
    """Gives a record of schema 1 or 2 what it only said in words."""
    record.trial = (record.limited or "").startswith("a short trial")


def _templates(launches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What every block launches: older plans spell out all blocks, which are alike."""
    own = ("launch", "block", "seed")  # of one launch
    return [
        {name: value for name, value in launch.items() if name not in own}
        for launch in launches
        if launch["block"] == 0
    ]


def _path(path: dict[str, Any]) -> dict[str, Any]:
    """A path with what older plans say in its id alone."""
    pair = re.fullmatch(r".* pair (\w+)-(\w+)", path["id"])
    variant_of = path["id"].removesuffix(" mps") if path.get("mps") else ""
    return {**path, "variant_of": variant_of, "pair": list(pair.groups()) if pair else []}


def _benchmark(benchmark: dict[str, Any]) -> dict[str, Any]:
    """A benchmark as it would describe itself today."""
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
