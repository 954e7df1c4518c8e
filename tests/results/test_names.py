# SPDX-License-Identifier: Apache-2.0
"""The names of cases in running text."""

from nearpeak.results.names import short
from nearpeak.terms.benchmarks import Benchmark, Metric, RankRule
from nearpeak.terms.identity import Case


def test_a_case_in_a_line_has_its_direction() -> None:
    pair = RankRule("exactly", 2)
    benchmarks = [
        Benchmark("latency", [Metric("latency", "us", "lower")], pair, ceiling="measured"),
        Benchmark("bw", [Metric("bw", "GB/s", "higher")], pair, symmetric=False),
        Benchmark("bibw", [Metric("bibw", "GB/s", "higher")], pair),
    ]

    def text(benchmark: str, buffers: str) -> str:
        case = Case(benchmark=benchmark, metric=benchmark, buffers=buffers, axes={}, x=8)
        return short(case, benchmarks)

    assert text("bw", "H,D") == "bw to GPU 8 B"
    assert text("bw", "D,H") == "bw from GPU 8 B"
    assert text("bw", "D,D") == "bw D,D 8 B"
    assert text("bw", "H,H") == "bw 8 B"
    assert text("latency", "H,D") == "latency 8 B"
    assert text("bibw", "H,D") == "bibw H,D 8 B"
    case = Case(benchmark="bw", metric="bw", buffers="H,D", axes={"staging": "pinned"}, x=8)
    assert short(case) == "bw H,D 8 B staged by the benchmark (pinned)"
