# SPDX-License-Identifier: Apache-2.0
"""The recorded studies: what is shown of them is what their records say."""

import functools
import json
from math import exp, isclose, log
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import pytest

from nearpeak.findings.build import build_results
from nearpeak.results.build import from_json
from nearpeak.results.results import Results
from nearpeak.terms.outcomes import TOO_SLOW
from nearpeak.trace import ceilings
from nearpeak.trace.trace import Trace

EXAMPLES = Path(__file__).parents[2] / "examples"


@functools.cache
def results_of(name: str) -> Results:
    """Made once for the tests below, which only read it."""
    return build_results(EXAMPLES / name)


def same(one: Any, other: Any) -> None:
    """Equal but for the last digits, which another CPU may round in another way."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        one, other = list(one.values()), list(other.values())
    if isinstance(one, list | tuple):
        for each, its in zip(one, other, strict=True):
            same(each, its)
    else:
        # pytest.approx would take longer than all else here: there are 130 thousand numbers.
        near = isinstance(one, float) and isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
        assert near or one == other


@pytest.mark.parametrize("name", sorted(file.parent.name for file in EXAMPLES.glob("*/plan.json")))
def test_results_are_those_of_the_records(name: str) -> None:
    folder = EXAMPLES / name
    shown = from_json((folder / "results.json").read_bytes())
    same(msgspec.to_builtins(results_of(name)), msgspec.to_builtins(shown))
    others = [cell for cell in shown.cells if cell.status != "ok"]
    said = {(skip.who, skip.place, skip.benchmark, x) for skip in shown.skipped for x in skip.sizes}
    left_out = [cell for cell in others if cell.status == "skipped"]
    assert {(c.who, c.place, c.case.benchmark, c.case.x) for c in left_out} <= said
    failed = {(failure.who, failure.place) for failure in shown.failures}
    # A case that is too slow to be measured is no failure of its launch.
    stopped = [cell for cell in others if cell.status not in ("skipped", TOO_SLOW)]
    assert {(cell.who, cell.place) for cell in stopped} <= failed
    assert [cell for cell in shown.cells if (cell.fraction or 0.0) > 1.03] == []  # a defect


def test_a_trace_has_the_ceilings_of_the_study_beside_it() -> None:
    for file in EXAMPLES.glob("*/trace.json"):
        trace = msgspec.json.decode(file.read_bytes(), type=Trace)
        known = ceilings.study_ceilings(results_of(file.parent.name))
        found = ceilings.ceilings(trace, known.times)
        assert found
        same(msgspec.to_builtins(found), msgspec.to_builtins(trace.ceilings))


@pytest.mark.parametrize(("metric", "size"), [("latency", 8), ("bw", 16 << 20)])
def test_a_fraction_is_what_a_reader_works_out_from_the_records(metric: str, size: int) -> None:
    """Lines that share nothing with the results: of each block the ratio, of these the median."""
    folder = EXAMPLES / "h200x2-shipped"
    lines = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    begun = {line["launch"]: line for line in lines if line["record"] == "launch"}
    reached: dict[str, dict[int, float]] = {}  # of the library, and of each method
    for known in lines:
        what = [known.get(name) for name in ("metric", "size_bytes", "buffers")]
        launch = begun.get(known.get("launch", -1), {})
        who = known.get("method") or launch.get("library")
        if what == [metric, size, "D,D"] and launch["path"] == "gpu-gpu nvlink":
            reached.setdefault(who, {})[launch["block"]] = median(known["samples"])
    library = reached.pop("intel")
    del reached["openmpi-cuda"], reached["mpich+layer"]
    pick = min if metric == "latency" else max
    best = pick(reached.values(), key=lambda blocks: median(blocks.values()))
    rates = [library[block] / best[block] for block in library]
    # Of the logarithms: the same whichever of the two stands above.
    fraction = exp(median(log(1 / rate if metric == "latency" else rate) for rate in rates))
    (cell,) = [
        cell
        for cell in results_of("h200x2-shipped").cells
        if (cell.who.library, cell.place.path, cell.case.buffers)
        == ("intel", "gpu-gpu nvlink", "D,D")
        and (cell.case.metric, cell.case.x) == (metric, size)
    ]
    assert cell.fraction == pytest.approx(fraction, rel=1e-9)
