# SPDX-License-Identifier: Apache-2.0
"""In which order results are told (results/order.py)."""

import msgspec

from nearpeak.results import order
from nearpeak.results.names import detail
from nearpeak.results.results import Results
from nearpeak.terms.subjects import one_way


def test_the_default_curve_comes_first_and_is_kept_apart(results: Results) -> None:
    curves = order.curves(results)
    assert [curve.benchmark for curve in curves] == ["bw"] * 2 + ["bibw"] * 2 + ["latency"] * 2
    defaults = order.default_curves(results)
    assert [curve.axes["calls"] for curve in defaults] == ["blocking"] * 3
    assert order.figures(results) == ["bw", "bibw", "latency"]


def test_one_name_of_two_benchmarks_is_ranked_by_its_benchmark(results: Results) -> None:
    rank = order.ranking(results)
    bw = next(curve for curve in order.curves(results) if curve.benchmark == "bw")
    assert rank(bw) == 0
    other = msgspec.structs.replace(bw, benchmark="latency")
    assert rank(other) == len(results.benchmarks)
    assert one_way(results.benchmarks)(bw)
    assert not one_way(results.benchmarks)(other)


def test_staging_is_said_in_words(gpu: Results) -> None:
    details = {detail(curve) for curve in order.curves(gpu) if curve.buffers == "D,D"}
    assert details == {
        "D,D, calls=blocking, reuse=fixed",
        "D,D, staged by the benchmark (pinned), calls=blocking, reuse=fixed",
    }
